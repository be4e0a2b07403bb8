package query_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/internal/sql/query"
	"github.com/spiced-sql/spiced/internal/sql/results"
	"github.com/spiced-sql/spiced/internal/test/wait"
	"github.com/spiced-sql/spiced/spicepod"
)

var ada, bob = caller.Caller{UserID: "ada"}, caller.Caller{UserID: "bob"}

// submitting is a list of submitted queries over a database.
type submitting struct {
	*query.Jobs
	t     testing.TB
	db    *engine.DB
	store *results.Store
}

func newJobs(t testing.TB, limits spicepod.Results, opts query.JobsOptions) *submitting {
	t.Helper()
	t.Cleanup(func() { goleak.VerifyNone(t) })
	db, err := engine.Open(context.Background(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	store, err := results.New(results.Options{
		DB: db, Dir: filepath.Join(t.TempDir(), "results"), Limits: limits,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	opts.Service, opts.Results = query.New(query.Options{DB: db}), store
	jobs := query.NewJobs(opts)
	t.Cleanup(jobs.Close)
	return &submitting{jobs, t, db, store}
}

func request(scope caller.Caller, sql string) query.Request {
	return query.Request{Request: engine.Request{SQL: sql}, Caller: scope}
}

func (s *submitting) submit(scope caller.Caller, sql string) *query.Job {
	s.t.Helper()
	job, err := s.Submit(request(scope, sql))
	if err != nil {
		s.t.Fatal(err)
	}
	return job
}

// wait waits for a query's end.
func (s *submitting) wait(scope caller.Caller, id string) *query.Job {
	s.t.Helper()
	var job *query.Job
	wait.Until(s.t, id+" is over", func() bool {
		var err error
		if job, err = s.Get(scope.Owner(), id); err != nil {
			s.t.Fatal(err)
		}
		return job.State.Over()
	})
	return job
}

// text is the rows of a statement as CSV.
func (s *submitting) text(scope caller.Caller, sql string) string {
	s.t.Helper()
	rows, err := s.db.Query(caller.With(context.Background(), scope), engine.Request{SQL: sql})
	if err != nil {
		s.t.Fatal(sql, err)
	}
	defer rows.Close()
	var out bytes.Buffer
	form, _ := format.ByName("csv")
	if _, err := format.Copy(form.NewWriter(&out), rows); err != nil {
		s.t.Fatal(sql, err)
	}
	_, lines, _ := strings.Cut(out.String(), "\n")
	return lines
}

// endless is a statement that does not end by itself.
const endless = "SELECT count(*) FROM range(1000000000000) a(i) WHERE hash(i) = 1"

func wantCode(t testing.TB, what string, err error, code errcode.Code) {
	t.Helper()
	var e *engine.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

func TestChunksAreTheRowsInTheirOrder(t *testing.T) {
	s := newJobs(t, spicepod.Results{}, query.JobsOptions{})
	for _, c := range []struct {
		sql    string
		chunks int
	}{
		{"SELECT i, hash(i) AS h, 'row ' || i AS t FROM range(25000) r(i) ORDER BY hash(i)", 3},
		{"SELECT i FROM range(250000) r(i) ORDER BY i % 1000 DESC, i", 25},
		{"SELECT 1 AS x FROM range(20000)", 2},
		{"SELECT 1 AS x", 1},
		{"SELECT 1 AS x WHERE false", 0},
	} {
		submitted := s.submit(ada, c.sql)
		if submitted.State.Over() || submitted.Preview != c.sql {
			t.Errorf("%+v", submitted)
		}
		job := s.wait(ada, submitted.ID)
		if job.State != query.Succeeded || job.Began.Before(job.Created) || job.Ended.Before(job.Began) || len(job.Chunks()) != c.chunks {
			t.Fatalf("%s: %+v, %d chunks", c.sql, job, len(job.Chunks()))
		}
		var got strings.Builder
		at := int64(0)
		for i, chunk := range job.Chunks() {
			if chunk.Index != i || chunk.Offset != at {
				t.Errorf("chunk %d: %+v", i, chunk)
			}
			rows := s.text(ada, chunk.SQL())
			if n := int64(strings.Count(rows, "\n")); n != chunk.Rows {
				t.Errorf("chunk %d has %d rows: %+v", i, n, chunk)
			}
			got.WriteString(rows)
			at += chunk.Rows
		}
		if want := s.text(ada, c.sql); got.String() != want || at != job.Result.Rows {
			t.Errorf("%s: the chunks have other rows than the statement", c.sql)
		}
	}
}

func TestAFailedQueryTellsWhy(t *testing.T) {
	s := newJobs(t, spicepod.Results{MaxResult: 1 << 20}, query.JobsOptions{})
	for sql, want := range map[string]engine.Error{
		"SELECT\n nope":            {Code: errcode.NotFound, Line: 2, Column: 2},
		"SELEC 1":                  {Code: errcode.Parse, Line: 1, Column: 1},
		"DROP TABLE x":             {Code: errcode.Refused, Line: 1, Column: 1},
		"":                         {Code: errcode.Parse},
		"FROM range(1000000)":      {Code: errcode.Limit},
		"SELECT error('so be it')": {Code: errcode.Execution},
	} {
		job := s.wait(ada, s.submit(ada, sql).ID)
		if job.State != query.Failed || job.Err == nil || job.Err.Code != want.Code || job.Err.Line != want.Line || job.Err.Column != want.Column ||
			job.Chunks() != nil {
			t.Errorf("%s: %s, %#v", sql, job.State, job.Err)
		}
	}
}

// faulty has an internal fault: it panics.
type faulty struct {
	query.Engine
	query.Results
}

func (faulty) Query(context.Context, engine.Request) (*engine.Rows, error) { panic("our fault") }

func (faulty) Create(context.Context, string, []engine.Column) (*results.Writer, error) {
	panic("our fault")
}

func TestAPanicFailsTheQuery(t *testing.T) {
	works, _, log := service(t, nil)
	for what, opts := range map[string]query.JobsOptions{
		"while rows are stored": {Service: works, Results: faulty{}},
		"at the beginning":      {Service: query.New(query.Options{DB: faulty{}}), Results: faulty{}},
	} {
		s := &submitting{Jobs: query.NewJobs(opts), t: t}
		job := s.wait(ada, s.submit(ada, "SELECT 1").ID)
		s.Close()
		if job.State != query.Failed || job.Err.Code != errcode.Internal || !strings.Contains(job.Err.Message, "our fault") {
			t.Errorf("%s: %s, %v", what, job.State, job.Err)
		}
	}
	if strings.Count(log.String(), `"outcome":`) != 1 || !strings.Contains(log.String(), `"outcome":"internal"`) {
		t.Errorf("the log:\n%s", log)
	}
}

func TestQueriesAreTheirOwners(t *testing.T) {
	s := newJobs(t, spicepod.Results{}, query.JobsOptions{})
	mine := s.wait(ada, s.submit(ada, "SELECT 'of ada' AS x").ID)
	s.wait(bob, s.submit(bob, "SELECT 'of bob' AS x").ID)
	second := s.wait(ada, s.submit(ada, "SELECT 2 AS x").ID)
	_, unknown := s.Get(bob.Owner(), "none")
	wantCode(t, "an unknown query", unknown, errcode.NotFound)
	if _, err := s.Get(bob.Owner(), "n"+strings.Repeat("ö", 100)); !strings.Contains(err.Error(), `"n`+strings.Repeat("ö", 19)+`…"`) {
		t.Errorf("a long id: %v", err)
	}
	_, get := s.Get(bob.Owner(), mine.ID)
	_, cancel := s.Cancel(bob.Owner(), mine.ID)
	for _, err := range []error{get, cancel} {
		wantCode(t, "another's query", err, errcode.NotFound)
		if want := strings.ReplaceAll(unknown.Error(), "none", mine.ID); err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if list := s.List(ada.Owner()); len(list) != 2 || list[0].ID != second.ID || list[1].ID != mine.ID {
		t.Errorf("%+v", list)
	}
	_, err := s.db.Query(caller.With(t.Context(), bob), engine.Request{SQL: mine.Chunks()[0].SQL()})
	wantCode(t, "another's rows", err, errcode.NotFound)
}

func TestCancel(t *testing.T) {
	s := newJobs(t, spicepod.Results{}, query.JobsOptions{MaxRunning: 1})
	running, waiting := s.submit(ada, endless), s.submit(ada, "SELECT 1")
	if running.State != query.Running || waiting.State != query.Pending {
		t.Errorf("%s, %s", running.State, waiting.State)
	}
	if job, err := s.Cancel(ada.Owner(), waiting.ID); err != nil || job.State != query.Cancelled || !job.Began.IsZero() {
		t.Errorf("%+v, %v", job, err)
	}
	after := s.submit(ada, "SELECT 2 AS x")
	if _, err := s.Cancel(ada.Owner(), running.ID); err != nil {
		t.Error(err)
	}
	job := s.wait(ada, running.ID)
	if job.State != query.Cancelled || job.Err.Code != errcode.Cancelled || !strings.Contains(job.Err.Message, "its owner") {
		t.Errorf("%s, %v", job.State, job.Err)
	}
	if job := s.wait(ada, after.ID); job.State != query.Succeeded {
		t.Errorf("%+v", job)
	}
	if job, err := s.Cancel(ada.Owner(), after.ID); err != nil || job.State != query.Succeeded {
		t.Errorf("%+v, %v", job, err)
	}
}

func TestTooManyQueriesAreRefused(t *testing.T) {
	s := newJobs(t, spicepod.Results{}, query.JobsOptions{MaxRunning: 1, MaxQueued: 2, MaxPerOwner: 2})
	s.submit(ada, endless)
	s.submit(ada, endless)
	_, err := s.Submit(request(ada, "SELECT 1"))
	wantCode(t, "too many of an owner", err, errcode.Busy)
	s.submit(bob, endless)
	_, err = s.Submit(request(bob, "SELECT 1"))
	wantCode(t, "too many in the queue", err, errcode.Busy)
	s.Close()
	s.Close()
	for _, job := range append(s.List(ada.Owner()), s.List(bob.Owner())...) {
		if job.State != query.Cancelled {
			t.Errorf("%+v", job)
		}
	}
	_, err = s.Submit(request(bob, "SELECT 1"))
	wantCode(t, "after the end", err, errcode.Cancelled)
}

// clock is a time that the test moves while queries end.
type clock struct{ atomic.Int64 }

func (c *clock) time() time.Time { return time.Unix(0, c.Load()) }

func TestQueriesAreForgotten(t *testing.T) {
	var now clock
	s := newJobs(t, spicepod.Results{}, query.JobsOptions{MaxStored: 3, KeepFor: time.Minute, Now: now.time})
	failed, kept := s.wait(ada, s.submit(ada, "nope").ID), s.wait(ada, s.submit(ada, "SELECT 1 AS x").ID)
	now.Add(int64(time.Minute))
	_, err := s.Get(ada.Owner(), failed.ID)
	wantCode(t, "a failed query, later", err, errcode.NotFound)
	if err := s.store.Delete(ada.Owner(), kept.Result.Name); err != nil {
		t.Fatal(err)
	}
	_, err = s.Get(ada.Owner(), kept.ID)
	wantCode(t, "a query without its result", err, errcode.NotFound)
	if list := s.List(ada.Owner()); len(list) != 0 {
		t.Errorf("%+v", list)
	}
	for range 5 {
		s.wait(ada, s.submit(ada, "SELECT 1 AS x").ID)
	}
	s.Close() // a result is dropped after its query is forgotten
	if jobs, kept := len(s.List(ada.Owner())), len(s.store.List(ada.Owner())); jobs != 3 || kept != 3 {
		t.Errorf("%d queries and %d results are left", jobs, kept)
	}
}

func TestNobodysQueriesCrowdOutAnothers(t *testing.T) {
	s := newJobs(t, spicepod.Results{}, query.JobsOptions{MaxStored: 3, MaxStoredPerOwner: 2})
	kept := s.wait(bob, s.submit(bob, "SELECT 1 AS x").ID)
	for range 5 {
		s.wait(ada, s.submit(ada, "nope").ID)
	}
	if job, err := s.Get(bob.Owner(), kept.ID); err != nil || len(s.store.List(bob.Owner())) != 1 {
		t.Errorf("%+v, %v", job, err)
	}
	if list := s.List(ada.Owner()); len(list) != 2 {
		t.Errorf("%d queries are left", len(list))
	}
}

func TestExpiredQueriesCrowdOutNone(t *testing.T) {
	var now clock
	s := newJobs(t, spicepod.Results{}, query.JobsOptions{MaxStoredPerOwner: 3, KeepFor: time.Minute, Now: now.time})
	kept := s.wait(ada, s.submit(ada, "SELECT 1 AS x").ID)
	s.wait(ada, s.submit(ada, "nope").ID)
	s.wait(ada, s.submit(ada, "nope").ID)
	now.Add(int64(time.Minute))
	last := s.wait(ada, s.submit(ada, "SELECT 2 AS x").ID)
	if list := s.List(ada.Owner()); len(list) != 2 || list[0].ID != last.ID || list[1].ID != kept.ID {
		t.Errorf("%+v", list)
	}
}

func TestAQueryThatRanLongIsNotForgottenAtItsEnd(t *testing.T) {
	s := newJobs(t, spicepod.Results{}, query.JobsOptions{MaxRunning: 2, MaxStoredPerOwner: 2})
	long := s.submit(ada, endless)
	for range 3 {
		s.wait(ada, s.submit(ada, "SELECT 1 AS x").ID)
	}
	if _, err := s.Cancel(ada.Owner(), long.ID); err != nil {
		t.Fatal(err)
	}
	s.wait(ada, long.ID)
	if _, err := s.Get(ada.Owner(), long.ID); err != nil {
		t.Error(err)
	}
}

// creating has something happen before a result is created.
type creating struct {
	*results.Store
	before func() error
}

func (c *creating) Create(ctx context.Context, owner string, columns []engine.Column) (*results.Writer, error) {
	if err := c.before(); err != nil {
		return nil, err
	}
	return c.Store.Create(ctx, owner, columns)
}

func TestAWriteThatHasCommittedHasSucceeded(t *testing.T) {
	s := newJobs(t, spicepod.Results{}, query.JobsOptions{})
	for _, sql := range []string{"ATTACH ':memory:' AS att", "CREATE TABLE att.main.o (id BIGINT)"} {
		if err := s.db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	orders := engine.Relation{Schema: engine.Public, Name: "orders"}
	cat := engine.NewCatalog(engine.Contents{
		Generation: 1, Relations: []engine.Relation{orders},
		Targets: map[engine.Relation]engine.Target{orders: {Table: "att.main.o"}}, Traits: map[engine.Relation]engine.Traits{orders: {Volatile: true}},
	})
	err := s.db.Publish(t.Context(), cat, func(tx *engine.Tx) error {
		return tx.Exec("CREATE VIEW spice.public.orders AS SELECT * FROM att.main.o")
	})
	if err != nil {
		t.Fatal(err)
	}
	store := &creating{Store: s.store}
	jobs := query.NewJobs(query.JobsOptions{Service: query.New(query.Options{DB: s.db}), Results: store})
	t.Cleanup(jobs.Close)
	s.Jobs = jobs
	writer := caller.Caller{UserID: "ada", Write: true}
	written := 0
	write := func() *query.Job {
		t.Helper()
		written += 1000
		job := s.wait(writer, s.submit(writer, "INSERT INTO orders SELECT i FROM range(1000) t(i)").ID)
		if got, want := s.text(writer, "SELECT count(*) FROM orders"), fmt.Sprintln(written); got != want {
			t.Fatalf("there are %s rows, want %s", got, want)
		}
		if job.State != query.Succeeded || job.Err != nil {
			t.Errorf("got %s, %v", job.State, job.Err)
		}
		return job
	}
	store.before = func() error {
		for _, job := range jobs.List(writer.Owner()) {
			if _, err := jobs.Cancel(writer.Owner(), job.ID); err != nil {
				t.Error(err)
			}
		}
		return nil
	}
	if job := write(); job.Result == nil || s.text(writer, job.Chunks()[0].SQL()) != "1000\n" {
		t.Errorf("cancelled after its commit: got %+v", job)
	}
	store.before = func() error { return &engine.Error{Code: errcode.Busy, Offset: -1, Message: "no room"} }
	if job := write(); job.Result != nil || len(job.Chunks()) > 0 {
		t.Errorf("without room: got %+v", job)
	}
}

func TestCancelledQueriesAreForgotten(t *testing.T) {
	s := newJobs(t, spicepod.Results{}, query.JobsOptions{MaxRunning: 1, MaxStored: 3})
	kept := s.wait(ada, s.submit(ada, "SELECT 1 AS x").ID)
	s.submit(ada, endless)
	for range 3 {
		if _, err := s.Cancel(ada.Owner(), s.submit(ada, "SELECT 2").ID); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Get(ada.Owner(), kept.ID)
	wantCode(t, "the oldest query", err, errcode.NotFound)
	if results := s.store.List(ada.Owner()); len(results) != 0 {
		t.Errorf("its result is left: %+v", results)
	}
}

func TestManySubmitAtOnce(t *testing.T) {
	s := newJobs(t, spicepod.Results{}, query.JobsOptions{MaxRunning: 2})
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			scope := caller.Caller{UserID: fmt.Sprint(n % 3)}
			for i := range 5 {
				job := s.submit(scope, fmt.Sprintf("SELECT %d AS n FROM range(%d)", n, i))
				if i%2 == 1 {
					if _, err := s.Cancel(scope.Owner(), job.ID); err != nil {
						t.Error(err)
					}
				}
				if job = s.wait(scope, job.ID); i%2 == 0 && (job.State != query.Succeeded || job.Result.Rows != int64(i)) {
					t.Errorf("%+v", job)
				}
				s.List(scope.Owner())
			}
		})
	}
	wg.Wait()
}

// One caller submits many long queries; the query of another does not wait for them.
func TestCallersTakeTurns(t *testing.T) {
	s := newJobs(t, spicepod.Results{}, query.JobsOptions{MaxRunning: 2, MaxQueued: 4, MaxPerOwner: 3})
	var flood []*query.Job
	for i := range 6 { // of two owners, whose share is one
		flood = append(flood, s.submit(caller.Caller{Principal: "flood", UserID: fmt.Sprint(i % 2)}, endless))
	}
	ann := caller.Caller{Principal: "ann"}
	if job := s.wait(ann, s.submit(ann, "SELECT 1 AS x").ID); job.State != query.Succeeded {
		t.Errorf("%+v", job)
	}
	last := s.wait(caller.Caller{Principal: "flood", UserID: "1"}, flood[5].ID)
	if last.State != query.Failed || last.Err.Code != errcode.Busy {
		t.Errorf("the query that gave way: %+v, %v", last, last.Err)
	}
	if job, err := s.Get(caller.Caller{Principal: "flood", UserID: "0"}.Owner(), flood[4].ID); err != nil || job.State != query.Pending {
		t.Errorf("%+v, %v", job, err)
	}
}
