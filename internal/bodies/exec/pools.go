package exec

import (
	"errors"
	"sync"

	"github.com/spiced-sql/spiced/internal/bodies/sandbox"
)

// Pools has the workers of sandboxes: bodies of the same sandbox with the same code share
// a pool, also across generations. It is safe for concurrent use.
type Pools struct {
	mu    sync.Mutex
	pools map[string]*lease
}

// lease is a pool with the number of its users.
type lease struct {
	owner *Pools
	key   string
	users int
	pool  *sandbox.Pool
	err   error
	once  sync.Once
}

// NewPools returns an empty set.
func NewPools() *Pools { return &Pools{pools: map[string]*lease{}} }

// Workers says what the workers of each sandbox do, by its name.
func (p *Pools) Workers() map[string]sandbox.Workers {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[string]sandbox.Workers{}
	for _, l := range p.pools {
		if l.pool == nil {
			continue
		}
		sum, w := all[l.pool.Name()], l.pool.Workers()
		all[l.pool.Name()] = sandbox.Workers{
			Idle: sum.Idle + w.Idle, Busy: sum.Busy + w.Busy,
			Waiting: sum.Waiting + w.Waiting,
		}
	}
	return all
}

// acquire returns the pool of a key, which it makes if there is none.
func (p *Pools) acquire(key string, make func() (*sandbox.Pool, error)) (*lease, error) {
	p.mu.Lock()
	l := p.pools[key]
	if l == nil {
		l = &lease{owner: p, key: key}
		p.pools[key] = l
	}
	l.users++
	p.mu.Unlock()
	l.once.Do(func() {
		pool, err := make()
		p.mu.Lock()
		defer p.mu.Unlock()
		l.pool, l.err = pool, err
	})
	if l.err != nil {
		err := l.err
		l.release()
		return nil, err
	}
	return l, nil
}

var errNoPools = errors.New("exec: Maker.Pools is nil")

// release ends a use. The last one closes the pool.
func (l *lease) release() {
	l.owner.mu.Lock()
	l.users--
	last := l.users == 0
	if last {
		delete(l.owner.pools, l.key)
	}
	l.owner.mu.Unlock()
	if last && l.pool != nil {
		l.pool.Close()
	}
}
