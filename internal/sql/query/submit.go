package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/fair"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/activity"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/results"
)

// State says where a submitted query stands, in Spice's words.
type State string

// The states.
const (
	Pending   State = "PENDING" // it waits for its turn
	Running   State = "RUNNING"
	Succeeded State = "SUCCEEDED"
	Failed    State = "FAILED"
	Cancelled State = "CANCELLED"
)

// Over reports whether a query in that state has come to its end.
func (s State) Over() bool { return s == Succeeded || s == Failed || s == Cancelled }

// ChunkRows is how many rows a chunk of a submitted query's result has; the
// last one may have fewer.
const ChunkRows = 10_000

// The defaults of [JobsOptions].
const (
	DefaultMaxRunning        = 4
	DefaultMaxQueued         = 100
	DefaultMaxPerOwner       = 20
	DefaultMaxStored         = 1000
	DefaultMaxStoredPerOwner = 100
	DefaultKeepFor           = 15 * time.Minute
)

// previewBytes is how much of a submitted query's text is stored.
const previewBytes = 200

// Results keeps the rows of submitted queries. [*results.Store] is one.
type Results interface {
	Create(ctx context.Context, owner string, columns []engine.Column) (*results.Writer, error)
	Get(owner, name string) (*results.Result, error)
	Delete(owner, name string) error
}

var _ Results = (*results.Store)(nil)

// JobsOptions configures [NewJobs]. Service and Results are required; a zero
// number is its default.
type JobsOptions struct {
	Service           *Service
	Results           Results
	MaxRunning        int              // queries that run at once; package fair lends extra slots
	MaxQueued         int              // queries that wait for their turn
	MaxPerOwner       int              // queries of one owner that run or wait
	MaxStored         int              // queries that are over and stored
	MaxStoredPerOwner int              // those of one owner
	KeepFor           time.Duration    // how long one without a result is stored
	Now               func() time.Time // nil: time.Now
}

// Job is a submitted query as it stood when it was asked about.
type Job struct {
	ID      string
	State   State
	Preview string // the beginning of its text
	Created time.Time
	Began   time.Time     // zero until it runs
	Ended   time.Time     // zero until it is over
	Err     *engine.Error // why it has failed or was cancelled
	// Result is what it gave, when it has succeeded. Its rows are read by
	// [JobChunk.SQL], or all at once by its name. A write whose number of rows
	// could not be stored has succeeded without.
	Result *results.Result
}

// JobChunk is a part of a submitted query's result.
type JobChunk struct {
	Index  int
	Offset int64 // of its first row
	Rows   int64
	ref    string
}

// SQL is the statement that reads the chunk's rows. They stand in the order in
// which the query gave them.
func (c JobChunk) SQL() string {
	return fmt.Sprintf("FROM %s(%s) LIMIT %d OFFSET %d", engine.Ref, engine.Literal(c.ref), c.Rows, c.Offset)
}

// Chunks are the parts of the result, in their order; none when it is empty or
// not there.
func (j *Job) Chunks() []JobChunk {
	if j.Result == nil {
		return nil
	}
	var list []JobChunk
	for at := int64(0); at < j.Result.Rows; at += ChunkRows {
		list = append(list, JobChunk{len(list), at, min(ChunkRows, j.Result.Rows-at), j.Result.Name})
	}
	return list
}

// Jobs are submitted queries: each runs on its own, without a connection, and
// its rows are stored for its owner. It is safe for concurrent use. Close it.
//
// Callers share the slots fairly, as package fair says. If as many wait as may, the
// caller with the most waiting gives up its newest one, which fails.
//
// A query that has succeeded is listed as long as its result is stored. Queries
// of other owners are reported as unknown.
type Jobs struct {
	opts  JobsOptions
	slots *fair.Queue
	work  sync.WaitGroup // one for each query that waits or runs

	mu     sync.Mutex
	closed bool
	byID   map[string]*submitted
	order  []*submitted // the same, the oldest first
	ended  []*submitted // that are over, the first to end first
}

// submitted is a query with what runs it. Its Job is guarded by Jobs.mu.
type submitted struct {
	Job
	owner string
	req   Request            // until it is over
	leave context.CancelFunc // ends its wait
	entry *activity.Entry    // while it runs
}

// NewJobs makes an empty list of submitted queries.
func NewJobs(opts JobsOptions) *Jobs {
	opts.MaxRunning = cmp.Or(opts.MaxRunning, DefaultMaxRunning)
	opts.MaxQueued = cmp.Or(opts.MaxQueued, DefaultMaxQueued)
	opts.MaxPerOwner = cmp.Or(opts.MaxPerOwner, DefaultMaxPerOwner)
	opts.MaxStored = cmp.Or(opts.MaxStored, DefaultMaxStored)
	opts.MaxStoredPerOwner = cmp.Or(opts.MaxStoredPerOwner, DefaultMaxStoredPerOwner)
	opts.KeepFor = cmp.Or(opts.KeepFor, DefaultKeepFor)
	if opts.Now == nil {
		opts.Now = time.Now
	}
	slots := fair.New(fair.Options{Slots: opts.MaxRunning, Waiting: opts.MaxQueued})
	return &Jobs{opts: opts, slots: slots, byID: map[string]*submitted{}}
}

// Submit takes a query, which runs when it is its turn, for the owner that its
// caller is. The error is an [*engine.Error]: [errcode.Busy] when there are too
// many. What is wrong with the query itself is reported by its job.
func (j *Jobs) Submit(req Request) (*Job, error) {
	if err := j.opts.Service.Refused(); err != nil {
		return nil, err
	}
	req.Protocol = Queries
	s := &submitted{
		Job:   Job{ID: activity.NewID(), State: Pending, Preview: preview(req.SQL), Created: j.opts.Now()},
		owner: req.Caller.Owner(), req: req,
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.room(s.owner); err != nil {
		return nil, err
	}
	turn, err := j.slots.Request(req.Caller.Share(), req.Caller.Weight)
	if err != nil {
		return nil, busy(j.opts.MaxQueued, "submitted queries wait")
	}
	j.byID[s.ID] = s
	j.order = append(j.order, s)
	ctx, leave := context.WithCancel(context.Background())
	s.leave = leave
	select {
	case <-turn.Ready():
		slot, _ := turn.Wait(ctx)
		j.begin(s, slot)
	default:
		j.work.Go(func() { j.wait(ctx, s, turn) })
	}
	return s.view(), nil
}

func busy(n int, what string) error {
	return engine.NewError(errcode.Busy, "wait until one is over, or cancel one", "%d %s already", n, what)
}

// wait begins a query when it is its turn.
func (j *Jobs) wait(ctx context.Context, s *submitted, turn *fair.Request) {
	slot, err := turn.Wait(ctx)
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case s.State != Pending: // it was cancelled
		if err == nil {
			slot.Release()
		}
	case err != nil:
		j.end(s, engine.NewError(errcode.Busy, "submit it again when others of yours are over",
			"%d submitted queries wait, and this one gave way to those of callers who have fewer", j.opts.MaxQueued))
	default:
		j.begin(s, slot)
	}
}

// preview is the beginning of a text on one line.
func preview(sql string) string {
	return truncate.Fit(strings.Join(strings.Fields(truncate.Bytes(sql, 4*previewBytes)), " "), previewBytes)
}

// room says why no query of the owner's is taken, or nil.
func (j *Jobs) room(owner string) error {
	if j.closed {
		return engine.ErrClosing
	}
	mine := 0
	for _, s := range j.order {
		if s.owner == owner && !s.State.Over() {
			mine++
		}
	}
	if mine >= j.opts.MaxPerOwner {
		return busy(mine, "queries of yours run or wait")
	}
	return nil
}

// begin runs a query, which has a slot.
func (j *Jobs) begin(s *submitted, slot *fair.Slot) {
	s.leave()
	ctx, entry := j.opts.Service.Activity().Begin(context.Background(), s.req.work(s.ID))
	s.State, s.Began, s.entry, s.req.Entry = Running, j.opts.Now(), entry, entry
	j.work.Go(func() {
		defer slot.Release()
		j.run(ctx, s)
	})
}

// run runs a query to its end.
func (j *Jobs) run(ctx context.Context, s *submitted) {
	result, err := j.execute(ctx, s)
	s.entry.End()
	j.mu.Lock()
	s.Result = result
	j.end(s, err)
	old := j.forget()
	j.mu.Unlock()
	j.drop(old)
}

// execute writes the rows of a query into a result. A write has succeeded once
// it has committed, even if it is cancelled then or there is no room for
// its result.
func (j *Jobs) execute(ctx context.Context, s *submitted) (result *results.Result, err error) {
	defer caught(&err)
	rows, err := j.opts.Service.Query(ctx, s.req)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	if rows.Written() {
		ctx = context.WithoutCancel(ctx)
	}
	result, err = j.keep(ctx, s.owner, rows)
	switch {
	case err == nil:
		rows.Sent(result.Bytes)
		return result, nil
	case rows.Written():
		return nil, nil
	}
	rows.Failed(err)
	return nil, rows.blame(err)
}

// keep writes the rows. Its panics are caught before the rows are closed, which
// tells how they ended.
func (j *Jobs) keep(ctx context.Context, owner string, rows *Rows) (result *results.Result, err error) {
	defer caught(&err)
	w, err := j.opts.Results.Create(ctx, owner, rows.Columns())
	if err != nil {
		return nil, err
	}
	defer w.Abort()
	for chunk, err := range rows.Chunks() {
		if err == nil {
			err = w.Append(chunk)
		}
		if err != nil {
			return nil, err
		}
	}
	return w.Close()
}

// caught makes a panic, which is an internal fault, an error: it fails the query
// and not the process. Defer it.
func caught(err *error) {
	if v := recover(); v != nil {
		*err = engine.NewError(errcode.Internal, "please report it with the statement",
			"the runtime failed on this statement: %v", v)
	}
}

// end says that a query is over.
func (j *Jobs) end(s *submitted, err error) {
	s.State, s.Ended, s.req = Succeeded, j.opts.Now(), Request{}
	if err != nil {
		s.State, s.Err = Failed, engine.AsError(err)
		if s.Err.Code == errcode.Cancelled {
			s.State = Cancelled
		}
	}
	j.ended = append(j.ended, s)
}

// forget removes the queries whose time is over, and those that are too many,
// the first to end first. It returns them, for their results to be dropped
// without the lock.
func (j *Jobs) forget() []*submitted {
	var old []*submitted
	stored, owned := 0, map[string]int{}
	for _, s := range slices.Backward(j.ended) {
		if stored >= j.opts.MaxStored || owned[s.owner] >= j.opts.MaxStoredPerOwner || j.expired(s) {
			delete(j.byID, s.ID)
			old = append(old, s)
			continue
		}
		stored++
		owned[s.owner]++
	}
	gone := func(s *submitted) bool { return j.byID[s.ID] == nil }
	j.order, j.ended = slices.DeleteFunc(j.order, gone), slices.DeleteFunc(j.ended, gone)
	return old
}

// drop drops the results of queries that are forgotten.
func (j *Jobs) drop(old []*submitted) {
	for _, s := range old {
		if s.Result != nil {
			_ = j.opts.Results.Delete(s.owner, s.Result.Name) // it may have expired
		}
	}
}

// expired reports whether a query that is over has nothing to show any more.
func (j *Jobs) expired(s *submitted) bool {
	if s.Result != nil {
		_, err := j.opts.Results.Get(s.owner, s.Result.Name)
		return err != nil
	}
	return !j.opts.Now().Before(s.Ended.Add(j.opts.KeepFor))
}

// view is a query's job as it stands.
func (s *submitted) view() *Job {
	job := s.Job
	return &job
}

// find returns the owner's query of that id.
func (j *Jobs) find(owner, id string) (*submitted, error) {
	s := j.byID[id]
	if s == nil || s.owner != owner || s.State.Over() && j.expired(s) {
		return nil, engine.NewError(errcode.NotFound, "a query is there for its owner, until its result expires",
			"there is no query %q", truncate.Ellipsis(id, 40))
	}
	return s, nil
}

// Get returns the owner's query of that id. The error is an [*engine.Error]
// with [errcode.NotFound].
func (j *Jobs) Get(owner, id string) (*Job, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	s, err := j.find(owner, id)
	if err != nil {
		return nil, err
	}
	return s.view(), nil
}

// List returns the owner's queries, the newest first.
func (j *Jobs) List(owner string) []*Job {
	j.mu.Lock()
	old := j.forget()
	var list []*Job
	for _, s := range slices.Backward(j.order) {
		if s.owner == owner {
			list = append(list, s.view())
		}
	}
	j.mu.Unlock()
	j.drop(old)
	return list
}

// Cancel ends the owner's query of that id and returns it as it stands: one
// that runs ends soon; to cancel one that is over does nothing. The
// error is that of Get.
func (j *Jobs) Cancel(owner, id string) (*Job, error) {
	j.mu.Lock()
	s, err := j.find(owner, id)
	if err != nil {
		j.mu.Unlock()
		return nil, err
	}
	j.stop(s, activity.ErrCancelled)
	job, old := s.view(), j.forget()
	j.mu.Unlock()
	j.drop(old)
	return job, nil
}

// stop ends a query for a reason.
func (j *Jobs) stop(s *submitted, why *engine.Error) {
	switch s.State {
	case Pending:
		s.leave()
		j.end(s, why)
	case Running:
		s.entry.Cancel(why)
	}
}

// Close cancels every query and waits until none runs. Their results stay for
// as long as they are stored.
func (j *Jobs) Close() {
	j.mu.Lock()
	j.closed = true
	for _, s := range slices.Clone(j.order) {
		j.stop(s, engine.ErrClosing)
	}
	j.mu.Unlock()
	j.work.Wait()
}
