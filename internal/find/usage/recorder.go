package usage

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/scratch"
)

// Recorder counts calls and searches. It is safe for concurrent use.
type Recorder struct {
	now     func() time.Time
	called  func(Call)
	stepped func(Event)
	log     *slog.Logger
	every   time.Duration

	mu    sync.Mutex // guards state; not held during I/O
	state *state

	store *store        // nil: nothing is persisted
	pause time.Duration // between failed attempts
	retry time.Time     // earliest time of the next attempt
	fault atomic.Pointer[error]

	stop  chan struct{}
	ended chan struct{}
	close func() error
}

// Open loads the files in the folder and starts the goroutine that writes to them,
// which Close ends. It fails if another process uses the folder. A damaged file is
// copied to its name with ".damaged" and read up to the damage. If the folder cannot be
// used, counts are in memory only; see [Recorder.Fault].
func Open(o Options) (*Recorder, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	r := &Recorder{
		now: o.Now, called: o.Called, stepped: o.Stepped, log: o.Log, every: o.FlushEvery,
		state: newState(o, o.Now().Round(0).UTC()),
		stop:  make(chan struct{}), ended: make(chan struct{}),
	}
	r.close = sync.OnceValue(r.end)
	if o.Dir != "" {
		switch err := r.load(o); {
		case errors.Is(err, scratch.ErrLocked):
			return nil, err
		case err != nil:
			r.fault.Store(&err)
			r.log.Warn("usage counts are in memory only until a restart", "error", err)
		}
	}
	go r.run()
	return r, nil
}

// load opens the folder, reads the files and rewrites them, now or at a later tick.
func (r *Recorder) load(o Options) error {
	var err error
	if r.store, err = openStore(o.Dir, o.Log); err != nil {
		return err
	}
	since := r.store.load(func(b batch) error { return r.state.restore(b, o.Now()) })
	if !since.IsZero() {
		r.state.since = since
	}
	r.state.pairs.forget(func(k PairKey, _ Uses) bool { return !unnamedKey.MatchString(k.Principal) })
	r.state.pairs.fit()
	r.tick(o.Now())
	return nil
}

// Fault returns why counts are in memory only, or nil.
func (r *Recorder) Fault() error {
	if err := r.fault.Load(); err != nil {
		return *err
	}
	return nil
}

// run flushes until Close.
func (r *Recorder) run() {
	defer close(r.ended)
	ticks := time.NewTicker(r.every)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			r.tick(r.now())
		case <-r.stop:
			return
		}
	}
}

// tick flushes. After a failure it waits, twice as long each time.
func (r *Recorder) tick(now time.Time) {
	if now.Before(r.retry) {
		return
	}
	err := r.flush(now)
	if err == nil {
		if r.pause > 0 {
			r.log.Info("usage counts are written again")
			r.fault.Store(nil)
		}
		r.pause = 0
		return
	}
	r.fault.Store(&err)
	if r.pause == 0 {
		r.log.Warn("cannot write usage counts; they are in memory only until a later write succeeds", "error", err)
	}
	r.pause = min(max(2*r.pause, r.every), maxRetryPause)
	r.retry = now.Add(r.pause)
}

// flush tidies the state and writes what changed.
func (r *Recorder) flush(now time.Time) error {
	r.mu.Lock()
	moved := r.state.tidy(now)
	many := r.state.changedRows() > maxChanges
	retention := r.state.retention
	s := r.store
	if s == nil {
		r.state.clean() // else it would remember each row that is gone
	}
	r.mu.Unlock()
	if s == nil {
		return nil
	}
	// Take a snapshot once per retention, so that the files drop expired records too.
	if s.stale || moved || many || now.Sub(s.taken) > retention {
		return r.snapshot(now)
	}
	r.mu.Lock()
	changes := r.state.changes()
	r.mu.Unlock()
	if changes.empty() {
		return nil
	}
	if done, err := s.append(changes); done || err != nil {
		return err
	}
	return r.snapshot(now)
}

// snapshot writes everything.
func (r *Recorder) snapshot(now time.Time) error {
	return r.store.snapshot(r.everything(), r.Since(), now)
}

// everything returns the whole state as of when it returns: what changes while rows are
// copied is repeated in the last batches.
func (r *Recorder) everything() []batch {
	r.mu.Lock()
	r.state.clean()
	r.mu.Unlock()
	rows := batch{
		Usage: copyRows(&r.mu, &r.state.usage), Tools: copyRows(&r.mu, &r.state.tools),
		Hits: copyRows(&r.mu, &r.state.hits), Models: copyRows(&r.mu, &r.state.models),
		Pairs: copyRows(&r.mu, &r.state.pairs.table),
	}
	r.mu.Lock()
	last := r.state.changes()
	r.mu.Unlock()
	return append(rows.split(snapshotItems), last.split(snapshotItems)...)
}

// Close writes the changes and unlocks the folder. Later records are counted in memory
// only. Further calls return the same error.
func (r *Recorder) Close() error { return r.close() }

func (r *Recorder) end() error {
	close(r.stop)
	<-r.ended
	err := r.flush(r.now())
	if r.store != nil {
		err = errors.Join(err, r.store.close())
	}
	return err
}

// Call records a call. It only changes memory and never fails. Calls of unknown tools
// should be recorded under one name, as callers can invent any number of names.
func (r *Recorder) Call(c Call) {
	c.tidy()
	now := r.now()
	r.mu.Lock()
	c.At = r.state.when(c.At, now)
	r.state.addCall(&c)
	r.mu.Unlock()
	r.called(c)
}

// Search records a search for tools. It only changes memory and never fails.
func (r *Recorder) Search(s Search) {
	s.tidy()
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	s.At = r.state.when(s.At, now)
	r.state.addSearch(&s)
}
