package datasets

import (
	"time"
)

// Progress is how far a load that takes long is.
type Progress struct {
	Dataset string
	Step    string // fetch or load
	Bytes   int64  // fetched so far
	Total   int64  // of all bytes; -1 when unknown
	Elapsed time.Duration
	Done    bool
}

// progress reports one step of a load, once it takes longer than a moment.
type progress struct {
	m     *Manager
	now   Progress
	start time.Time
	last  time.Duration // of the last report; 0: none yet
}

func (m *Manager) progress(dataset, step string, total int64) *progress {
	return &progress{m: m, now: Progress{Dataset: dataset, Step: step, Total: total}, start: m.clock.Now()}
}

// bytes notes how much is there.
func (p *progress) bytes(n int64) {
	p.now.Bytes = n
	p.tick()
}

func (p *progress) tick() {
	if p.m.opts.Progress == nil {
		return
	}
	p.now.Elapsed = p.m.clock.Now().Sub(p.start)
	if p.now.Elapsed >= p.m.limits.progressAfter && (p.last == 0 || p.now.Elapsed-p.last >= p.m.limits.every) {
		p.last = p.now.Elapsed
		p.m.opts.Progress(p.now)
	}
}

// end reports the end of a step that was reported before.
func (p *progress) end() {
	if p.last == 0 {
		return
	}
	p.now.Elapsed, p.now.Done = p.m.clock.Now().Sub(p.start), true
	p.m.opts.Progress(p.now)
}

// watch ticks while f runs.
func (p *progress) watch(f func() error) error {
	if p.m.opts.Progress == nil {
		return f()
	}
	done := make(chan error, 1)
	go func() { done <- f() }()
	defer p.end()
	for {
		tick, stop := p.m.clock.After(p.m.limits.every)
		select {
		case err := <-done:
			stop()
			return err
		case <-tick:
			p.tick()
		}
	}
}
