package usage

import (
	"errors"
	"log/slog"
	"sync"
	"time"
)

// Recorder counts calls and searches. It is safe for concurrent use.
type Recorder struct {
	now   func() time.Time
	log   *slog.Logger
	every time.Duration

	mu    sync.Mutex // guards state; nothing is written to a file under it
	state *state

	store *store        // nil: nothing outlives the run
	pause time.Duration // between tries that fail
	retry time.Time     // when the next one may be

	stop  chan struct{}
	ended chan struct{}
	close func() error
}

// Open loads what an earlier run left in the folder and starts the goroutine
// that writes to it; Close ends that. A second process on the same folder is
// refused. A damaged file is copied to its name with ".damaged" and read as
// far as it can be.
func Open(o Options) (*Recorder, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	r := &Recorder{
		now: o.Now, log: o.Log, every: o.FlushEvery, state: newState(o, o.Now().Round(0).UTC()),
		stop: make(chan struct{}), ended: make(chan struct{}),
	}
	r.close = sync.OnceValue(r.end)
	if o.Dir != "" {
		if err := r.load(o); err != nil {
			return nil, err
		}
	}
	go r.run()
	return r, nil
}

// load opens the folder, reads it and writes it anew.
func (r *Recorder) load(o Options) error {
	var err error
	if r.store, err = openStore(o.Dir, o.Log); err != nil {
		return err
	}
	since, err := r.store.load(func(b batch) error { return r.state.restore(b, o.Now()) })
	if !since.IsZero() {
		r.state.since = since
	}
	if err == nil {
		err = r.flush(o.Now())
	}
	if err != nil {
		return errors.Join(err, r.store.close())
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
		r.pause = 0
		return
	}
	if r.pause == 0 {
		r.log.Warn("usage counts are kept in memory only until they can be written", "error", err)
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
	r.mu.Unlock()
	s := r.store
	if s == nil {
		return nil
	}
	// A snapshot for each retention, so that the files too lose what is older.
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

// everything returns all there is, as of its end: what changes while rows are
// copied comes once more, in the last batches.
func (r *Recorder) everything() []batch {
	r.mu.Lock()
	r.state.clean()
	r.mu.Unlock()
	rows := batch{
		Usage: copyRows(&r.mu, &r.state.usage), Tools: copyRows(&r.mu, &r.state.tools),
		Hits: copyRows(&r.mu, &r.state.hits), Searched: copyRows(&r.mu, &r.state.searched),
		Models: copyRows(&r.mu, &r.state.models),
	}
	r.mu.Lock()
	last := r.state.changes()
	r.mu.Unlock()
	return append(rows.split(snapshotItems), last.split(snapshotItems)...)
}

// Close writes what is new and frees the folder. Records that come later are
// counted in memory only. Closing again returns the same.
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

// Call records a call. It touches memory only and never fails. Calls of names
// that no tool has belong under one name, since callers can make up any number
// of them.
func (r *Recorder) Call(c Call) {
	c.tidy()
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	c.At = r.state.when(c.At, now)
	r.state.addCall(&c)
}

// Search records a search for tools. It touches memory only and never fails.
func (r *Recorder) Search(s Search) {
	s.tidy()
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	s.At = r.state.when(s.At, now)
	r.state.addSearch(&s)
}
