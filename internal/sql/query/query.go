// Package query runs the statements of clients: those of HTTP, the PostgreSQL
// protocol, Flight SQL and submitted queries.
//
// It lists each statement in the [activity.Table], where its owner can see and
// cancel it, decides whether it runs in a worker, and counts and audits it when
// its rows are closed.
//
//	service := query.New(query.Options{DB: db, Usage: registry, Metrics: metrics})
//	request := query.Request{Request: engine.Request{SQL: sql}, Caller: who, Protocol: query.Postgres}
//	rows, err := service.Query(ctx, request)
//	defer rows.Close()
//	for chunk, err := range rows.Chunks() { … }
package query

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"time"

	"github.com/spiced-sql/spiced/internal/access/audit"
	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/memory"
	"github.com/spiced-sql/spiced/internal/kit/telemetry"
	"github.com/spiced-sql/spiced/internal/sql/activity"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/fingerprint"
)

// Protocol is the protocol that a statement came over.
type Protocol string

// The protocols.
const (
	HTTP     Protocol = "http"
	Postgres Protocol = "postgres"
	Flight   Protocol = "flight"
	Queries  Protocol = "queries" // submitted, and read later
	Renewal  Protocol = "renewal" // for the cache of results: no client waits for it
)

// Engine runs and describes statements. [*engine.DB] is one.
type Engine interface {
	Query(ctx context.Context, req engine.Request) (*engine.Rows, error)
	Describe(ctx context.Context, req engine.Request) (*engine.Description, error)
	Version(relations []engine.Relation) uint64
	Timeout() time.Duration
}

var _ Engine = (*engine.DB)(nil)

// Request is a statement of a client's.
type Request struct {
	engine.Request
	Caller   caller.Caller // Caller.Write permits writing
	Protocol Protocol
	Remote   string // the client's address, where it is known
	ByModel  bool   // a model wrote the statement
	Probe    bool   // the protocol describes it for its own use: it is not recorded
	// Call is the declared function that the statement is a call of, which counts as its call
	// also if the statement fails before it has rows; "": any other statement.
	Call string
	// Entry lists the statement, where its protocol has begun it already; the
	// context is the entry's then. Nil: the statement gets one.
	Entry *activity.Entry
}

// Usage counts the declared functions that statements use.
// [*registry.Registry] is one.
//
// [*registry.Registry]: https://pkg.go.dev/github.com/spiced-sql/spiced/registry#Registry
type Usage interface {
	// Statement counts a statement under its functions. The code is that of its
	// error, if any.
	Statement(functions []string, who caller.Caller, began time.Time, code string, rows int64)
}

// Options configures [New]. DB is required.
type Options struct {
	DB       Engine
	Usage    Usage              // nil: the use of functions is not counted
	Metrics  *telemetry.Metrics // nil: not counted
	Audit    *audit.Log         // nil: not audited
	Activity *activity.Table    // nil: of its own
	// Isolate says whether a statement runs in a worker; nil: none does.
	Isolate func(Request) bool
	Memory  *memory.Budget // of what statements pass to functions; nil: no limit
	// Catalog writes a statement on information_schema or pg_catalog as one on the catalog that
	// clients of PostgreSQL read, and reports whether it is such a statement. It is for HTTP and
	// Flight SQL: package pgwire rewrites its statements itself. Nil: no catalog.
	Catalog func(sql string, who caller.Caller) (string, bool)
	// Refuse, if set, returns why no statement is taken any more, or nil.
	Refuse func() error
}

// Service runs statements. It is safe for concurrent use.
type Service struct{ opts Options }

// New makes a service.
func New(opts Options) *Service {
	if opts.Activity == nil {
		opts.Activity = &activity.Table{}
	}
	return &Service{opts}
}

// Activity lists the statements that run, and what else runs for clients.
func (s *Service) Activity() *activity.Table { return s.opts.Activity }

// Rows is the result of a statement. Close it: that counts it.
type Rows struct {
	*engine.Rows
	service *Service
	req     Request
	entry   *activity.Entry
	ctx     context.Context // of the statement, until Close
	free    func()          // gives back its memory
	began   time.Time
	bytes   int64
	err     error
	closed  atomic.Bool
}

// Query begins a statement. The error is an [*engine.Error].
func (s *Service) Query(ctx context.Context, req Request) (*Rows, error) {
	r, err := s.begin(ctx, req)
	if err == nil {
		given := s.engineRequest(req)
		if r.Rows, err = s.opts.DB.Query(r.ctx, given); err != nil {
			err = s.again(r.ctx, req, given, err, func(other engine.Request) (err error) {
				r.Rows, err = s.opts.DB.Query(r.ctx, other)
				return err
			})
		}
	}
	if err != nil {
		return nil, r.fail(err)
	}
	return r, nil
}

// Describe judges a statement and describes it. One that fails is counted and
// audited as if it had run; others are when they run. The error is an
// [*engine.Error].
func (s *Service) Describe(ctx context.Context, req Request) (*engine.Description, error) {
	r, err := s.begin(ctx, req)
	defer r.end()
	var d *engine.Description
	if err == nil {
		given := s.engineRequest(req)
		if d, err = s.opts.DB.Describe(r.ctx, given); err != nil { // it computes what is constant, which may take long
			err = s.again(r.ctx, req, given, err, func(other engine.Request) (err error) {
				d, err = s.opts.DB.Describe(r.ctx, other)
				return err
			})
		}
	}
	switch {
	case err == nil:
		return d, nil
	case req.Probe:
		return nil, r.blame(err)
	}
	return nil, r.fail(err)
}

// again runs a statement that was refused in the other form that it has, if any: a PIVOT without
// values, or a statement on PostgreSQL's catalog. Otherwise it returns the refusal, and so it
// does if the other form reads a table that is not there either.
func (s *Service) again(ctx context.Context, req Request, given engine.Request, refusal error,
	run func(engine.Request) error,
) error {
	if s.opts.Catalog != nil && req.Protocol != Postgres && isCode(refusal, errcode.NotFound) {
		text, changed := s.opts.Catalog(given.SQL, req.Caller)
		if !changed {
			return refusal
		}
		given.SQL = text
		err := run(given)
		var e *engine.Error
		switch {
		case !errors.As(err, &e):
			return err
		case e.Missing == engine.ObjectTable || e.Missing == engine.ObjectFunction:
			return refusal
		}
		unplaced := *e // its position is in the other text
		unplaced.Offset, unplaced.Line, unplaced.Column = -1, 0, 0
		return &unplaced
	}
	given, err := s.pivoted(ctx, given, refusal)
	if err != nil {
		return err
	}
	return run(given)
}

// isCode reports whether err is an error of the engine with the code.
func isCode(err error, code errcode.Code) bool {
	var e *engine.Error
	return errors.As(err, &e) && e.Code == code
}

// begin takes a statement, which its owner can see and cancel until its end.
func (s *Service) begin(ctx context.Context, req Request) (*Rows, error) {
	r := &Rows{service: s, req: req, entry: req.Entry, began: time.Now()}
	r.ctx, r.free = s.opts.Memory.Begin(caller.With(ctx, req.Caller), req.Caller.Principal)
	if err := s.Refused(); err != nil {
		return r, err
	}
	if r.entry == nil {
		r.ctx, r.entry = s.opts.Activity.Begin(r.ctx, req.work(""))
	}
	return r, nil
}

// fail ends a statement that gives no rows.
func (r *Rows) fail(err error) error {
	r.err = r.blame(err)
	r.Close()
	return r.err
}

// work describes the statement for the activity table.
func (req Request) work(id string) activity.Work {
	return activity.Work{
		ID: id, Kind: activity.Statement, Owner: req.Caller.Owner(), Protocol: string(req.Protocol),
		SQL: req.SQL,
	}
}

// end gives back the memory of a statement, and removes it from the activity table, unless its
// protocol does.
func (r *Rows) end() {
	r.free()
	if r.req.Entry == nil {
		r.entry.End()
	}
}

// Refused is why no statement is taken any more, or nil.
func (s *Service) Refused() error {
	if s.opts.Refuse == nil {
		return nil
	}
	return s.opts.Refuse()
}

func (s *Service) engineRequest(req Request) engine.Request {
	r := req.Request
	r.Write = req.Caller.Write && !req.ByModel
	r.Isolate = s.opts.Isolate != nil && s.opts.Isolate(req)
	return r
}

// blame is err, unless the statement's owner has cancelled it.
func (r *Rows) blame(err error) error {
	if errors.Is(context.Cause(r.ctx), activity.ErrCancelled) {
		return activity.ErrCancelled
	}
	return err
}

// ID is the id under which the statement's owner can cancel it.
func (r *Rows) ID() string { return r.entry.ID }

// Began is when the statement was taken.
func (r *Rows) Began() time.Time { return r.began }

// Chunks iterates over the rows as [engine.Rows.Chunks] does.
func (r *Rows) Chunks() iter.Seq2[*engine.Chunk, error] {
	return func(yield func(*engine.Chunk, error) bool) {
		for chunk, err := range r.Rows.Chunks() {
			if err != nil {
				err = r.blame(err)
				r.err = err
			}
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// Sent adds to the bytes that went to the client.
func (r *Rows) Sent(bytes int64) { r.bytes += bytes }

// Failed says that the rows could not be delivered, or not to their end.
func (r *Rows) Failed(err error) {
	if r.err == nil {
		r.err = err
	}
}

// Close ends the statement if it still runs, and counts it. Closing again does
// nothing.
func (r *Rows) Close() {
	if r.closed.Swap(true) {
		return
	}
	var functions []string
	var rows int64
	if r.Rows != nil {
		r.Rows.Close()
		functions, rows = r.Functions(), r.Read()
	} else if r.req.Call != "" {
		functions = []string{r.req.Call}
	}
	outcome := r.outcome()
	r.end()
	r.record(functions, rows, outcome)
}

// outcome is ok or the code of the error that ended the statement.
func (r *Rows) outcome() string {
	if r.err == nil {
		return audit.OK
	}
	e := engine.AsError(r.err)
	if e.Code == errcode.Internal && r.ctx.Err() != nil {
		return string(errcode.Cancelled) // the client left
	}
	return string(e.Code)
}

// record counts and audits the statement.
func (r *Rows) record(functions []string, rows int64, outcome string) {
	o, took := r.service.opts, time.Since(r.began)
	if o.Metrics != nil {
		o.Metrics.ObserveQuery(outcome, took, rows, r.bytes)
	}
	if o.Usage != nil {
		code := outcome
		if outcome == audit.OK {
			code = ""
		}
		o.Usage.Statement(functions, r.req.Caller, r.began, code, rows)
	}
	if o.Audit.Enabled() {
		o.Audit.Record(r.ctx, audit.Entry{
			Kind: audit.Statement, Protocol: string(r.req.Protocol), Principal: r.req.Caller.Principal,
			User:      r.req.Caller.UserID,
			RequestID: r.req.Caller.RequestID, Remote: r.req.Remote, Fingerprint: fingerprint.Of(r.req.SQL),
			Rows: rows, Bytes: r.bytes, Took: took, Outcome: outcome,
		})
	}
}

// Version numbers the rows of relations, see [engine.DB.Version].
func (s *Service) Version(relations []engine.Relation) uint64 { return s.opts.DB.Version(relations) }

// Timeout is how long a statement may take at most.
func (s *Service) Timeout() time.Duration { return s.opts.DB.Timeout() }

// End commits or rolls back the request's transaction, and counts and audits that as the
// statement SQL if it has changed rows. The error is an [*engine.Error].
func (s *Service) End(ctx context.Context, req Request, commit bool) error {
	r := &Rows{service: s, req: req, ctx: ctx, began: time.Now()}
	var changed bool
	if commit {
		changed, r.err = req.Transaction.Commit()
	} else {
		changed = req.Transaction.Rollback()
	}
	if changed || r.err != nil {
		r.record(nil, 0, r.outcome())
	}
	return r.err
}

// Denied counts and audits a statement that a protocol refused to run.
func (s *Service) Denied(ctx context.Context, req Request, outcome string) {
	(&Rows{service: s, req: req, ctx: ctx, began: time.Now()}).record(nil, 0, outcome)
}

// Answered is a statement that was answered without being run.
type Answered struct {
	Functions   []string // that it uses
	Rows, Bytes int64
	Began       time.Time
	Err         error // of the answer's way to the client
}

// Answered counts and audits a statement that was answered from a cache.
func (s *Service) Answered(ctx context.Context, req Request, a Answered) {
	r := &Rows{service: s, req: req, ctx: ctx, began: a.Began, bytes: a.Bytes, err: a.Err}
	r.record(a.Functions, a.Rows, r.outcome())
}

// ToolDB is the engine for tools: the statements of a call are listed below it.
type ToolDB struct{ *engine.DB }

// Query begins a statement.
func (db ToolDB) Query(ctx context.Context, req engine.Request) (*engine.Rows, error) {
	ctx, entry := activity.BeginChild(ctx, activity.Work{Kind: activity.ToolStatement, SQL: req.SQL})
	rows, err := db.DB.Query(ctx, req)
	if err != nil {
		entry.End()
		return nil, err
	}
	rows.OnClose(entry.End)
	return rows, nil
}
