package dbproxy

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/puddle/v2"

	"github.com/spiced-sql/spiced/internal/data/fault"
)

// Limits of the connections to a server.
const (
	// DefaultConnections is how many there are at most, unless a param sets it.
	DefaultConnections = 16
	// ConnectLimit is how long it may take to get one.
	ConnectLimit = 10 * time.Second
	// ResetLimit is for what ends the use of one.
	ResetLimit = 5 * time.Second

	idleLimit  = time.Minute            // one without a user is closed then
	trustLimit = 100 * time.Millisecond // one without a user is not checked until then
)

// Pool has the connections to a server.
type Pool[C any] struct {
	*puddle.Pool[C]
	o       PoolOptions[C]
	writers chan struct{} // has a token for each transaction that writes
	sweeper *time.Timer   // nil when it is closed
	mu      sync.Mutex    // guards sweeper
}

// PoolOptions configures a [Pool].
type PoolOptions[C any] struct {
	Connections int    // at most
	Param       string // that sets Connections
	Address     string // of the server
	Connect     func(context.Context) (C, error)
	Disconnect  func(C)
	Ping        func(context.Context, C) error
	Fault       func(error) *fault.Fault // explains an error of Connect, without a secret
}

// NewPool returns a pool without connections.
func NewPool[C any](o PoolOptions[C]) (*Pool[C], error) {
	pool, err := puddle.NewPool(&puddle.Config[C]{
		MaxSize: int32(o.Connections), Constructor: o.Connect,
		Destructor: o.Disconnect,
	})
	if err != nil {
		return nil, err
	}
	// A transaction that writes waits for statements that read, which have most connections.
	p := &Pool[C]{Pool: pool, o: o, writers: make(chan struct{}, max(1, o.Connections/4))}
	p.sweeper = time.AfterFunc(idleLimit, p.sweep)
	return p, nil
}

// sweep closes connections that have had no user for some time.
func (p *Pool[C]) sweep() {
	for _, r := range p.AcquireAllIdle() {
		if r.IdleDuration() > idleLimit {
			r.Destroy()
		} else {
			r.ReleaseUnused()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sweeper != nil {
		p.sweeper.Reset(idleLimit)
	}
}

// Close closes the connections. It waits for their users.
func (p *Pool[C]) Close() {
	p.mu.Lock()
	p.sweeper.Stop()
	p.sweeper = nil
	p.mu.Unlock()
	p.Pool.Close()
}

// Acquire returns a connection that works. The error is a fault.
func (p *Pool[C]) Acquire(ctx context.Context) (*puddle.Resource[C], error) {
	return p.acquire(ctx, trustLimit)
}

// AcquireChecked is Acquire for a use that must not meet a connection that the server has
// ended.
func (p *Pool[C]) AcquireChecked(ctx context.Context) (*puddle.Resource[C], error) {
	return p.acquire(ctx, 0)
}

// acquire asks the connections that have been idle for as long as trusted, or longer.
func (p *Pool[C]) acquire(ctx context.Context, trusted time.Duration) (*puddle.Resource[C], error) {
	ctx, cancel := context.WithTimeout(ctx, ConnectLimit)
	defer cancel()
	for {
		r, err := p.Pool.Acquire(ctx)
		switch {
		case err != nil && ctx.Err() != nil && p.Stat().AcquiredResources() == p.Stat().MaxResources():
			return nil, fault.New("params", "try again later, or raise params."+p.o.Param, "all %d connections to %s are in use",
				p.Stat().MaxResources(), p.o.Address).Retryable()
		case err != nil:
			return nil, p.o.Fault(err)
		case r.IdleDuration() < trusted || p.o.Ping(ctx, r.Value()) == nil:
			return r, nil
		}
		r.Destroy()
	}
}

// BeginWrite waits until a transaction may write; EndWrite ends it.
func (p *Pool[C]) BeginWrite(ctx context.Context) error {
	select {
	case p.writers <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// EndWrite lets another transaction write.
func (p *Pool[C]) EndWrite() { <-p.writers }
