package datasets

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// The copy of a dataset with refresh_mode: caching has the answers to requests that
// statements ask for. A statement waits for the answers that are not there or too old; then
// it reads the copy as any other. Answers that come together are published together.

const (
	requestsAtOnce  = 8      // of a dataset
	requestsWaiting = 1000   // of a dataset, with those at once
	requestsCached  = 10_000 // of a dataset
	requestsLoaded  = 1000   // by one refresh
	answersAtOnce   = 200    // in one publication
)

// requests are the requests of a dataset whose rows the copy has.
type requests struct {
	caching
	m      *Manager
	d      *Dataset
	source source.Requester
	slots  chan struct{}

	mu      sync.Mutex
	known   map[string]map[source.Request]*request // by path
	waiting int                                    // requests that run, or wait for a slot
	answers []answer                               // that no version has yet
	next    *batch                                 // of the version that was loaded last; nil: it is served
}

// request is one whose rows the copy has, or that runs.
type request struct {
	at      time.Time // of the rows; zero: there are none
	failed  time.Time // since then
	bytes   int64
	rows    int64
	running *fetching // nil: it does not
}

// fetching is a request that runs.
type fetching struct {
	source.Request
	done chan struct{}
	err  error // read after done is closed
}

// answer has the rows of a request.
type answer struct {
	source.Fetched
	opened *source.Opened
	of     *fetching // nil: of a refresh
}

// batch is what a version changes.
type batch struct {
	version *tables.Version
	answers []answer
	removed []source.Request
}

// newRequests returns the requests of a dataset.
func newRequests(m *Manager, d *Dataset, s source.Requester, c caching) *requests {
	return &requests{
		caching: c, m: m, d: d, source: s, slots: make(chan struct{}, requestsAtOnce),
		known: map[string]map[source.Request]*request{},
	}
}

// asked returns the requests that a statement waits for. again says that it has waited.
func (r *requests) asked(of engine.Asked, again bool) (wait []*fetching, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.m.opts.Clock.Now()
	for _, values := range of.Requests {
		matches := r.matching(values)
		if len(matches) == 0 {
			plain := requestOf(values)
			if err := r.source.Check(plain); err != nil {
				return nil, err
			}
			matches = []source.Request{plain}
		}
		for _, q := range matches {
			have := r.known[q.Path][q]
			if have != nil && !have.at.IsZero() && (again || r.serves(have, now)) {
				if !again && now.Sub(have.at) >= r.ttl && now.Sub(have.failed) >= r.ttl {
					_, _ = r.start(q) // revalidates in the background
				}
				continue
			}
			f, err := r.start(q)
			if err != nil {
				return nil, err
			}
			wait = append(wait, f)
		}
	}
	return wait, nil
}

// serves reports whether rows are new enough to be read without a wait.
func (r *requests) serves(have *request, now time.Time) bool {
	age := now.Sub(have.at)
	return age < r.ttl+r.stale || now.Sub(have.failed) < r.ttl && r.servesAfterError(have, now)
}

// servesAfterError reports whether rows may be read since they cannot be fetched again.
func (r *requests) servesAfterError(have *request, now time.Time) bool {
	return !have.at.IsZero() && (r.staleIfError || now.Sub(have.at) < r.ttl+r.stale+r.errorTime)
}

// requestOf returns the request with values, and "" for those that are not given.
func requestOf(values map[string]string) source.Request {
	return source.Request{
		Path: values["request_path"], Query: strings.TrimPrefix(values["request_query"], "?"),
		Body: values["request_body"],
	}
}

// matching returns the known requests with values.
func (r *requests) matching(values map[string]string) (list []source.Request) {
	fits := func(q source.Request) bool {
		for name, value := range map[string]string{"request_path": q.Path, "request_query": q.Query, "request_body": q.Body} {
			if want, ok := values[name]; ok && want != value {
				return false
			}
		}
		return true
	}
	add := func(some map[source.Request]*request) {
		for q := range some {
			if fits(q) {
				list = append(list, q)
			}
		}
	}
	if path, ok := values["request_path"]; ok {
		add(r.known[path])
		return list
	}
	for _, some := range r.known {
		add(some)
	}
	return list
}

// start starts a request unless it runs. The caller holds r.mu.
func (r *requests) start(q source.Request) (*fetching, error) {
	have := r.known[q.Path][q]
	if have != nil && have.running != nil {
		return have.running, nil
	}
	if r.waiting >= requestsWaiting {
		return nil, fault.New("", "try again in a moment", "more than %d requests wait for answers", requestsWaiting)
	}
	f := &fetching{Request: q, done: make(chan struct{})}
	if !r.m.loads.requests.start(func(ctx context.Context) { r.run(ctx, f) }) {
		return nil, errors.New("the runtime is shutting down")
	}
	if have == nil {
		have = &request{}
		r.put(q, have)
	}
	have.running = f
	r.waiting++
	return f, nil
}

func (r *requests) put(q source.Request, have *request) {
	if r.known[q.Path] == nil {
		r.known[q.Path] = map[source.Request]*request{}
	}
	r.known[q.Path][q] = have
}

func (r *requests) remove(q source.Request) {
	if delete(r.known[q.Path], q); len(r.known[q.Path]) == 0 {
		delete(r.known, q.Path)
	}
}

// run fetches the rows of a request, and asks for their publication.
func (r *requests) run(ctx context.Context, f *fetching) {
	got, err := r.fetch(ctx, f.Request)
	got.of = f
	r.mu.Lock()
	r.waiting--
	if err == nil {
		r.answers = append(r.answers, got)
	}
	r.mu.Unlock()
	if err == nil {
		if err = r.m.refreshes.Gather(&r.d.Table); err == nil {
			return
		}
		r.mu.Lock()
		r.answers = slices.DeleteFunc(r.answers, func(a answer) bool { return a.of == f })
		r.mu.Unlock()
		resource.Release(got.opened.Resources...)
	}
	r.ended([]answer{got}, err)
}

// fetch fetches the rows of a request.
func (r *requests) fetch(ctx context.Context, q source.Request) (answer, error) {
	select {
	case r.slots <- struct{}{}:
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
	defer func() { <-r.slots }()
	opened, fetched, err := r.source.Fetch(ctx, q)
	if err == nil && fetched.Bytes > r.maxBytes {
		resource.Release(opened.Resources...)
		err = fault.New("acceleration.params.caching_max_size", "raise it",
			"the answer has %d bytes, more than caching_max_size", fetched.Bytes)
	}
	if err != nil {
		return answer{}, r.d.redacted(err)
	}
	return answer{Fetched: fetched, opened: opened}, nil
}

// ended records that answers are served, or why not, and wakes the statements that wait.
func (r *requests) ended(answers []answer, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range answers {
		if a.of == nil {
			continue
		}
		if have := r.known[a.of.Path][a.of.Request]; have != nil && have.running == a.of {
			have.running = nil
			if err != nil {
				have.failed = r.m.opts.Clock.Now()
			}
			if have.at.IsZero() {
				r.remove(a.of.Request)
			}
		}
		a.of.err = err
		close(a.of.done)
	}
}

// Caches reports whether statements fetch rows of the dataset.
func (d *Dataset) Caches() bool {
	return d.requests != nil && d.Acceleration.RefreshMode == spicepod.RefreshCaching
}

func (s *served) caches() bool { return s.dataset != nil && s.dataset.Caches() }

// ask returns what waits for the answers that a statement asks for; nil if they are there.
func ask(m *Manager, asked []engine.Asked, again bool) func(context.Context) error {
	type waiting struct {
		of *requests
		f  *fetching
	}
	var all []waiting
	for _, a := range asked {
		m.mu.Lock()
		d := m.liveDataset(tables.Key(a.Relation))
		m.mu.Unlock()
		if d == nil || !d.Caches() || d.Current().Copy == nil {
			continue
		}
		wait, err := d.requests.asked(a, again)
		if err != nil {
			f := d.redacted(err)
			refused := engine.NewError(errcode.Refused, f.Hint, "dataset %q: %s", d.Name, f.Message)
			return func(context.Context) error { return refused }
		}
		for _, f := range wait {
			all = append(all, waiting{d.requests, f})
		}
	}
	if all == nil {
		return nil
	}
	return func(ctx context.Context) error {
		for _, w := range all {
			select {
			case <-w.f.done:
			case <-ctx.Done():
				return ctx.Err()
			}
			if w.f.err != nil && !errors.Is(w.f.err, refresh.ErrReplaced) && !w.of.servesOld(w.f.Request) {
				f := w.of.d.redacted(w.f.err)
				return engine.NewError(errcode.Execution, f.Hint, "dataset %q cannot be read: %s", w.of.d.Name,
					fault.WithoutRoots(f.Message, m.opts.Roots))
			}
		}
		return nil
	}
}

// servesOld reports whether old rows of a request are served after an error.
func (r *requests) servesOld(q source.Request) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	have := r.known[q.Path][q]
	return have != nil && r.servesAfterError(have, r.m.opts.Clock.Now())
}
