package auth_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spiced-sql/spiced/internal/access/auth"
)

// begin fails the test when a request is refused.
func begin(t *testing.T, p *auth.Principal) (end func()) {
	t.Helper()
	end, err := p.Begin()
	if err != nil {
		t.Fatal(err)
	}
	return end
}

// refused fails the test when a request is not refused.
func refused(t *testing.T, p *auth.Principal) *auth.LimitError {
	t.Helper()
	_, err := p.Begin()
	var limit *auth.LimitError
	if !errors.As(err, &limit) {
		t.Fatalf("%T: %v", err, err)
	}
	return limit
}

// limited is a keyring of one key, whose holder has the limits.
func limited(t testing.TB, limits string) *auth.Keyring {
	t.Helper()
	return keyring(t, "\n  keys: ["+keyOne+"]\n  limits: {"+limits+"}\n")
}

func TestRate(t *testing.T) {
	for _, c := range []struct {
		limits string
		burst  int
		wait   time.Duration // for one more
	}{
		{"requests_per_second: 4, burst: 2", 2, 250 * time.Millisecond},
		{"requests_per_second: 4", 4, 250 * time.Millisecond},
		{"requests_per_second: 2.5", 2, 400 * time.Millisecond},
		{"requests_per_second: 0.5", 1, 2 * time.Second},
		{"requests_per_second: 0.5, burst: 3", 3, 2 * time.Second},
	} {
		t.Run(c.limits, func(t *testing.T) {
			keys := limited(t, c.limits)
			synctest.Test(t, func(t *testing.T) {
				p := holder(t, keys, keyOne)
				for range c.burst {
					begin(t, p)()
				}
				limit := refused(t, p)
				if got := time.Duration(limit.RetryAfter * float64(time.Second)); (got - c.wait).Abs() > time.Microsecond {
					t.Errorf("try again after %s, not %s", got, c.wait)
				}
				for _, text := range []string{`"key-1"`, "requests_per_second", fmt.Sprintf("try again in %g s", c.wait.Seconds())} {
					if !strings.Contains(limit.Error(), text) {
						t.Errorf("%q does not have %q", limit, text)
					}
				}
				time.Sleep(c.wait - time.Millisecond)
				refused(t, p)
				time.Sleep(time.Millisecond)
				begin(t, p)()
				refused(t, p)
				time.Sleep(time.Hour)
				for range c.burst {
					begin(t, p)()
				}
				refused(t, p)
			})
		})
	}
}

func TestRetryAfterIsBounded(t *testing.T) {
	keys := limited(t, "requests_per_second: 1e-300")
	p := holder(t, keys, keyOne)
	begin(t, p)()
	if limit := refused(t, p); limit.RetryAfter != time.Hour.Seconds() {
		t.Error(limit.RetryAfter)
	}
}

func TestAnyRateIsTaken(t *testing.T) {
	p := holder(t, limited(t, "requests_per_second: 1e300"), keyOne)
	for range 1000 {
		begin(t, p)()
	}
}

func TestConcurrency(t *testing.T) {
	p := holder(t, limited(t, "max_concurrent: 2"), keyOne)
	first, second := begin(t, p), begin(t, p)
	limit := refused(t, p)
	if limit.RetryAfter <= 0 || !strings.Contains(limit.Message, "2 requests running") || !strings.Contains(limit.Message, "max_concurrent") {
		t.Errorf("%+v", limit)
	}
	first()
	first() // gives back its own place only
	third := begin(t, p)
	refused(t, p)
	second()
	third()
	begin(t, p)
	begin(t, p)
	refused(t, p)
}

func TestRefusedForConcurrencyCostsNoToken(t *testing.T) {
	keys := limited(t, "requests_per_second: 1, burst: 2, max_concurrent: 1")
	synctest.Test(t, func(t *testing.T) {
		p := holder(t, keys, keyOne)
		end := begin(t, p)
		for range 10 {
			refused(t, p)
		}
		end()
		begin(t, p)() // the second token
		for range 10 {
			if limit := refused(t, p); !strings.Contains(limit.Message, "a second") {
				t.Fatal(limit) // the place of a request without a token came back
			}
		}
		time.Sleep(time.Second)
		begin(t, p)()
	})
}

func TestEnterCostsNoToken(t *testing.T) {
	keys := limited(t, "requests_per_second: 1, burst: 1, max_concurrent: 1")
	synctest.Test(t, func(t *testing.T) {
		p := holder(t, keys, keyOne)
		for range 10 {
			leave, err := p.Enter()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Enter(); err == nil {
				t.Error("there is a second place")
			}
			if limit := refused(t, p); !strings.Contains(limit.Message, "max_concurrent") {
				t.Error(limit)
			}
			leave()
		}
		begin(t, p)()
		if _, err := holder(t, limited(t, "requests_per_second: 1"), keyOne).Enter(); err != nil {
			t.Error(err)
		}
	})
}

func TestConcurrencyIsExact(t *testing.T) {
	const places, callers = 5, 50
	p := holder(t, limited(t, fmt.Sprintf("max_concurrent: %d", places)), keyOne)
	var running atomic.Int64
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range 200 {
				end, err := p.Begin()
				if err != nil {
					continue
				}
				if n := running.Add(1); n > places {
					t.Errorf("%d at once", n)
				}
				running.Add(-1)
				end()
			}
		})
	}
	wg.Wait()
	for range places {
		begin(t, p)
	}
	refused(t, p)
}

func TestLimitsOfAPrincipalReplaceThoseOfAll(t *testing.T) {
	keys := keyring(t, `
  keys: [`+keyOne+`, `+keyTwo+`]
  limits: {max_concurrent: 1}
  principals:
    - {name: bi, key: `+keyBI+`, limits: {max_concurrent: 2}}
    - {name: web, key: `+keyWeb+`, limits: {}}
`)
	for key, places := range map[string]int{keyOne: 1, keyTwo: 1, keyBI: 2} {
		p := holder(t, keys, key)
		for range places {
			begin(t, p)
		}
		refused(t, p)
	}
	for _, free := range []*auth.Principal{holder(t, keys, keyWeb), keys.Anonymous(), {Name: "made by a test"}} {
		for range 1000 {
			begin(t, free)
		}
	}
}

func TestLimitersOutliveReloads(t *testing.T) {
	const principals = "\n  principals:\n"
	const before = principals + "  - {name: bi, key: " + keyBI + ", limits: {max_concurrent: 1, requests_per_second: 1, burst: 9}}\n"
	for _, c := range []struct {
		name, after string
		kept        bool
	}{
		{"the same", before, true},
		{"what is no limit may change", principals + "  - {name: bi, key: '" + keyBI +
			":rw', user_id: u, limits: {max_concurrent: 1, requests_per_second: 1, burst: 9}}\n", true},
		{"limits by another way", "\n  limits: {max_concurrent: 1, requests_per_second: 1, burst: 9}" + principals + "  - {name: bi, key: " + keyBI + "}\n", true},
		{"another name", strings.Replace(before, "bi", "bo", 1), false},
		{"another key", strings.Replace(before, keyBI, keyOne, 1), false},
		{"other limits", strings.Replace(before, "burst: 9", "burst: 8", 1), false},
		{"no limits", principals + "  - {name: bi, key: " + keyBI + "}\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			old := keyringAfter(t, new(auth.Keyring), before)
			end := begin(t, holder(t, old, keyBI))
			next := keyringAfter(t, old, c.after)
			p, ok := next.Lookup(keyBI)
			if !ok {
				p = holder(t, next, keyOne)
			}
			if !c.kept {
				begin(t, p)
				return
			}
			refused(t, p)
			end()
			begin(t, p)
			refused(t, holder(t, old, keyBI))
		})
	}
}
