package query_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/access/audit"
	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/query"
)

// seen is an engine that notes what it is asked.
type seen struct {
	*engine.DB
	req   engine.Request
	scope caller.Caller
}

func (s *seen) Query(ctx context.Context, req engine.Request) (*engine.Rows, error) {
	s.req, s.scope = req, caller.From(ctx)
	return s.DB.Query(ctx, req)
}

// service is a service over a database of its own, with the log of its audit.
func service(t *testing.T, change func(*query.Options)) (*query.Service, *seen, *bytes.Buffer) {
	t.Helper()
	db, err := engine.Open(context.Background(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	var log bytes.Buffer
	s := &seen{DB: db}
	o := query.Options{DB: s, Audit: audit.New(slog.New(slog.NewJSONHandler(&log, nil)))}
	if change != nil {
		change(&o)
	}
	return query.New(o), s, &log
}

func statement(sql, user string) query.Request {
	return query.Request{
		Request: engine.Request{SQL: sql}, Protocol: query.Postgres, Remote: "127.0.0.1:9",
		Caller: caller.Caller{Principal: "bi", UserID: user, RequestID: "r1"},
	}
}

// drain reads all rows.
func drain(rows *query.Rows) (err error) {
	for _, e := range rows.Chunks() {
		err = e
	}
	return err
}

func TestStatementsAreAuditedOnce(t *testing.T) {
	s, _, log := service(t, nil)
	rows, err := s.Query(context.Background(), statement("SELECT 'a secret' AS a FROM range(3)", "ann"))
	if err != nil {
		t.Fatal(err)
	}
	if err := drain(rows); err != nil {
		t.Fatal(err)
	}
	rows.Sent(42)
	rows.Close()
	rows.Close()
	if _, err := s.Query(context.Background(), statement("SELECT 'a secret' + nosuch", "ann")); err == nil {
		t.Fatal("no error")
	}
	s.Answered(context.Background(), statement("SELECT 1", "ann"), query.Answered{Rows: 7, Bytes: 9})
	s.Answered(context.Background(), statement("SELECT 1", "ann"), query.Answered{Err: &engine.Error{Code: errcode.Limit}})
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	for i, want := range []string{
		`"kind":"statement","door":"postgres","outcome":"ok","principal":"bi","user":"ann"`, `"outcome":"not_found"`, `"outcome":"ok"`, `"outcome":"limit_exceeded"`,
	} {
		if i >= len(lines) || !strings.Contains(lines[i], want) {
			t.Errorf("line %d of\n%s\nwant %s", i, log, want)
		}
	}
	if len(lines) != 4 || strings.Contains(log.String(), "secret") || !strings.Contains(lines[0], `"rows":3,"bytes":42`) {
		t.Errorf("the log:\n%s", log)
	}
}

func TestDescriptionsThatFailAreAudited(t *testing.T) {
	s, _, log := service(t, nil)
	for _, c := range []struct {
		sql   string
		probe bool
		want  string
	}{
		{"SELECT 1", false, ""}, // it is when it runs
		{"SELECT nosuch", true, ""},
		{"SELECT nosuch", false, `"kind":"statement","door":"postgres","outcome":"not_found","principal":"bi","user":"ann"`},
	} {
		log.Reset()
		req := statement(c.sql, "ann")
		req.Probe = c.probe
		if _, err := s.Describe(context.Background(), req); (err != nil) != strings.Contains(c.sql, "nosuch") {
			t.Errorf("%s: %v", c.sql, err)
		}
		if (log.Len() > 0) != (c.want != "") || !strings.Contains(log.String(), c.want) || strings.Count(log.String(), "\n") > 1 {
			t.Errorf("%s, probe %t: the log is %q", c.sql, c.probe, log)
		}
	}
}

func TestOnlyTheOwnerSeesAndCancelsAStatement(t *testing.T) {
	s, _, log := service(t, nil)
	rows, err := s.Query(context.Background(), statement("SELECT range AS x, 'secret' AS s FROM range(100000000000)", "ann"))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	ann, bob := statement("", "ann").Caller.Owner(), statement("", "bob").Caller.Owner()
	list := s.Activity().List(ann)
	if len(list) != 1 || list[0].ID != rows.ID() || list[0].Protocol != string(query.Postgres) || strings.Contains(list[0].SQL, "secret") {
		t.Errorf("active: %+v", list)
	}
	if len(s.Activity().List(bob)) != 0 || s.Activity().Cancel(bob, rows.ID()) || s.Activity().Cancel(ann, "nope") {
		t.Error("another sees it")
	}
	if !s.Activity().Cancel(ann, rows.ID()) {
		t.Error("the owner cannot cancel it")
	}
	err = drain(rows)
	var e *engine.Error
	if !errors.As(err, &e) || e.Code != errcode.Cancelled || !strings.Contains(e.Message, "its owner") {
		t.Errorf("got %v", err)
	}
	rows.Close()
	if len(s.Activity().List(ann)) != 0 || !strings.Contains(log.String(), `"outcome":"cancelled"`) {
		t.Errorf("it is still there, or not audited: %s", log)
	}
}

// endlessly describes a statement until it is cancelled.
type endlessly struct {
	query.Engine
	began chan struct{}
}

func (e endlessly) Describe(ctx context.Context, _ engine.Request) (*engine.Description, error) {
	close(e.began)
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestOnlyTheOwnerCancelsADescription(t *testing.T) {
	db := endlessly{began: make(chan struct{})}
	s, _, log := service(t, func(o *query.Options) { o.DB = db })
	ended := make(chan error, 1)
	go func() {
		_, err := s.Describe(t.Context(), statement("SELECT 1", "ann"))
		ended <- err
	}()
	<-db.began
	ann, bob := statement("", "ann").Caller.Owner(), statement("", "bob").Caller.Owner()
	list := s.Activity().List(ann)
	if len(list) != 1 || s.Activity().Cancel(bob, list[0].ID) || !s.Activity().Cancel(ann, list[0].ID) {
		t.Fatalf("active: %+v", list)
	}
	err := <-ended
	var e *engine.Error
	if !errors.As(err, &e) || e.Code != errcode.Cancelled || !strings.Contains(e.Message, "its owner") {
		t.Errorf("got %v", err)
	}
	if len(s.Activity().List(ann)) != 0 || !strings.Contains(log.String(), `"outcome":"cancelled"`) {
		t.Errorf("it is still there, or not audited: %s", log)
	}
}

func TestWhatAStatementMay(t *testing.T) {
	for name, c := range map[string]struct {
		change         func(*query.Request)
		write, isolate bool
	}{
		"a reader":              {func(*query.Request) {}, false, false},
		"a writer":              {func(r *query.Request) { r.Caller.Write = true }, true, false},
		"a model of a writer's": {func(r *query.Request) { r.Caller.Write, r.ByModel = true, true }, false, true},
	} {
		s, db, _ := service(t, func(o *query.Options) { o.Isolate = func(r query.Request) bool { return r.ByModel } })
		req := statement("SELECT 1", "ann")
		c.change(&req)
		rows, err := s.Query(context.Background(), req)
		if err != nil {
			t.Fatal(err)
		}
		rows.Close()
		if db.req.Write != c.write || db.req.Isolate != c.isolate || db.scope.UserID != "ann" {
			t.Errorf("%s: write %t, isolate %t, scope %+v", name, db.req.Write, db.req.Isolate, db.scope)
		}
	}
}

func TestNothingIsTakenAfterTheEnd(t *testing.T) {
	over := &engine.Error{Code: errcode.Cancelled, Message: "it is over", Offset: -1}
	s, _, _ := service(t, func(o *query.Options) { o.Refuse = func() error { return over } })
	if _, err := s.Query(context.Background(), statement("SELECT 1", "ann")); !errors.Is(err, over) {
		t.Error(err)
	}
	if _, err := s.Describe(context.Background(), statement("SELECT 1", "ann")); !errors.Is(err, over) {
		t.Error(err)
	}
}
