package auth

import (
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/listen"
	"github.com/spiced-sql/spiced/internal/kit/lru"
)

// Failed counts a login with a wrong key and returns how long its answer must
// wait, by the failures of its address, host:port, before. Correct keys are
// answered at once, from any address.
func (k *Keyring) Failed(remote string) (delay time.Duration) {
	if k.failures == nil {
		return 0
	}
	return k.failures.add(listen.Address(remote), time.Now())
}

// failures counts the failed logins of each address, of the last ones that failed.
type failures struct {
	mu        sync.Mutex
	byAddress *lru.Cache[string, failed]
}

// failed is what an address has failed so far.
type failed struct {
	times int
	last  time.Time
}

func newFailures() *failures {
	return &failures{byAddress: lru.New[string, failed](maxAddresses, maxAddresses, nil)}
}

// add counts a failure. The delay doubles with each after the first few.
func (f *failures) add(address string, now time.Time) (delay time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known, _ := f.byAddress.Get(address)
	if now.Sub(known.last) >= forgetAfter {
		known.times = 0
	}
	known.times++
	known.last = now
	f.byAddress.Put(address, known, 1)
	delay = firstDelay
	for range known.times - freeFailures - 1 {
		if delay *= 2; delay >= longestDelay {
			return longestDelay
		}
	}
	if known.times <= freeFailures {
		return 0
	}
	return delay
}
