package datasets

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/data/copies"
	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// This file has how the answers to requests become rows of a copy.

// Gather returns a version with the answers that came for statements.
func (s *served) Gather(ctx context.Context) (*tables.Version, func(error), error) {
	if !s.caches() {
		return nil, func(error) {}, nil
	}
	r := s.dataset.requests
	r.mu.Lock()
	n := min(len(r.answers), answersAtOnce)
	answers, more := slices.Clone(r.answers[:n]), len(r.answers) > n
	r.answers = slices.Delete(r.answers, 0, n)
	r.mu.Unlock()
	if n == 0 {
		return nil, func(error) {}, nil
	}
	v, err := r.version(ctx, answers)
	return v, func(err error) {
		r.ended(answers, err)
		if more {
			_ = r.m.refreshes.Gather(&r.d.Table)
		}
	}, err
}

// version returns a version of the current rows with those of answers, whose files it
// releases.
func (r *requests) version(ctx context.Context, answers []answer) (*tables.Version, error) {
	defer func() {
		for _, a := range answers {
			resource.Release(a.opened.Resources...)
		}
	}()
	last := r.d.Current()
	l := copies.Load{
		Table: &r.d.Table, Source: unionOf(answers),
		Rows: "SELECT * FROM " + engine.Identifier(r.d.Relation.Name),
	}
	b := &batch{answers: answers}
	if last != nil {
		b.removed = r.surplus(answers)
		l.Append, l.Base, l.Replaces = true, last, conditionOf(answers, b.removed)
	}
	v, err := r.m.copies.Load(ctx, l)
	if err != nil {
		return nil, r.d.redacted(err)
	}
	v.Format = "json"
	if err := r.m.protect(ctx, r.d, v); err != nil {
		resource.Release(v.Resources...)
		return nil, err
	}
	if last != nil { // it is no refresh
		v.Stats.Refreshed, v.Stats.Took = last.Stats.Refreshed, last.Stats.Took
		if !v.Changed.After(v.Stats.Refreshed) {
			v.Changed = v.Stats.Refreshed.Add(1)
		}
	}
	b.version = v
	r.mu.Lock()
	r.next = b
	r.mu.Unlock()
	return v, nil
}

// unionOf returns a query of the rows of answers.
func unionOf(answers []answer) string {
	queries := make([]string, len(answers))
	for i, a := range answers {
		queries[i] = "(" + a.opened.Query + ")"
	}
	return "SELECT * FROM (" + strings.Join(queries, " UNION ALL ") + ")"
}

// conditionOf returns the condition of the rows of requests.
func conditionOf(answers []answer, removed []source.Request) string {
	var rows []string
	add := func(q source.Request) {
		rows = append(rows, "("+engine.Literal(q.Path)+", "+engine.Literal(q.Query)+", "+engine.Literal(q.Body)+")")
	}
	for _, a := range answers {
		add(a.Request)
	}
	for _, q := range removed {
		add(q)
	}
	return "(request_path, request_query, request_body) IN (VALUES " + strings.Join(rows, ", ") + ")"
}

// surplus returns the oldest requests, whose rows must make room for those of answers.
func (r *requests) surplus(answers []answer) (removed []source.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	type aged struct {
		source.Request
		*request
	}
	var all []aged
	var bytes, rows int64
	count := len(answers)
	fresh := map[source.Request]bool{}
	for _, a := range answers {
		fresh[a.Request] = true
		bytes, rows = bytes+a.Bytes, rows+a.Rows
	}
	for _, some := range r.known {
		for q, have := range some {
			if !have.at.IsZero() && !fresh[q] {
				all = append(all, aged{q, have})
				bytes, rows, count = bytes+have.bytes, rows+have.rows, count+1
			}
		}
	}
	slices.SortFunc(all, func(a, b aged) int { return a.at.Compare(b.at) })
	for _, a := range all {
		if bytes <= r.maxBytes && rows <= r.maxRows && count <= requestsCached {
			break
		}
		removed = append(removed, a.Request)
		bytes, rows, count = bytes-a.bytes, rows-a.rows, count-1
	}
	return removed
}

// saved records that a version is served.
func (r *requests) saved(v *tables.Version) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if b := r.next; b != nil && b.version == v {
		for _, q := range b.removed {
			r.forget(q)
		}
		for _, a := range b.answers {
			have := r.known[a.Path][a.Request]
			if have == nil {
				have = &request{}
				r.put(a.Request, have)
			}
			have.at, have.failed, have.bytes, have.rows = a.At, time.Time{}, a.Bytes, a.Rows
		}
	}
	r.next = nil
	if r.keep == 0 {
		return
	}
	old := r.m.opts.Clock.Now().Add(-r.keep)
	for _, some := range r.known {
		for q, have := range some {
			if !have.at.IsZero() && have.at.Before(old) { // the retention removes the rows
				r.forget(q)
			}
		}
	}
}

// forget records that the copy has no rows of a request.
func (r *requests) forget(q source.Request) {
	if have := r.known[q.Path][q]; have != nil {
		if have.at = (time.Time{}); have.running == nil {
			r.remove(q)
		}
	}
}

// restore finds the requests whose rows are in a version of an earlier run.
func (r *requests) restore(ctx context.Context, v *tables.Version, now time.Time) error {
	rows, err := tables.Texts(ctx, r.m.opts.DB, "SELECT unnest([request_path, request_query, request_body, (epoch_us(max("+
		source.FetchedColumn+")))::VARCHAR, "+
		"count(*)::VARCHAR, sum(strlen(content) + strlen(request_body) + 150)::VARCHAR]) FROM "+v.Rows+
		" GROUP BY request_path, request_query, request_body")
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for row := range slices.Chunk(rows, 6) {
		var micros, count, bytes int64
		if _, err := fmt.Sscan(strings.Join(row[3:], " "), &micros, &count, &bytes); err != nil {
			return err
		}
		at := time.UnixMicro(micros)
		if at.After(now) || r.resets && v.Restored {
			at = now
		}
		r.put(source.Request{Path: row[0], Query: row[1], Body: row[2]}, &request{at: at, rows: count, bytes: bytes})
	}
	return nil
}

// load returns a version with the answers to the requests of a refresh: those of refresh_sql,
// or those that are not fresh.
func (r *requests) load(ctx context.Context, sql string, empty *source.Opened) (*tables.Version, error) {
	list, err := r.ofRefresh(ctx, sql)
	if err != nil {
		return nil, err
	}
	answers, failed := r.fetchAll(ctx, list)
	if len(answers) == 0 && failed != nil {
		return nil, failed
	}
	if last := r.d.Current(); len(answers) == 0 && last != nil {
		return r.unchanged(last), nil
	}
	if len(answers) == 0 {
		answers = []answer{{opened: empty}}
	}
	v, err := r.version(ctx, answers)
	if err != nil {
		return nil, err
	}
	v.Stats.Refreshed, v.Stats.Took, v.Stale = v.Changed, 0, failed
	return v, nil
}

// unchanged returns the version that is served as one that was refreshed.
func (r *requests) unchanged(last *tables.Version) *tables.Version {
	v := *last
	for _, x := range v.Resources {
		x.Retain()
	}
	v.Stats.Refreshed, v.Stale = r.m.opts.Clock.Now(), nil
	return &v
}

// ofRefresh returns the requests of a refresh.
func (r *requests) ofRefresh(ctx context.Context, sql string) (list []source.Request, err error) {
	if sql != "" {
		return r.inSQL(ctx, sql)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.m.opts.Clock.Now()
	for _, some := range r.known {
		for q, have := range some {
			if !have.at.IsZero() && now.Sub(have.at) >= r.ttl {
				list = append(list, q)
			}
		}
	}
	slices.SortFunc(list, func(a, b source.Request) int { return r.known[a.Path][a].at.Compare(r.known[b.Path][b].at) })
	return list[:min(len(list), requestsLoaded)], nil
}

// inSQL returns the requests in a refresh_sql.
func (r *requests) inSQL(ctx context.Context, sql string) (list []source.Request, err error) {
	st, err := r.m.opts.DB.Parse(ctx, sql)
	if err != nil {
		return nil, fault.FromDuckDB(err)
	}
	asks := engine.Asks(st, func(sqltree.Relation) []engine.Ask {
		return []engine.Ask{{Relation: r.d.Relation}}
	}, func(sqltree.Call) ([]engine.Ask, []engine.FunctionArg) { return nil, nil })
	asked, err := engine.AskedOf(asks, &engine.Params{})
	if err != nil {
		return nil, fault.New("acceleration.refresh_sql", "ask for fewer", "%s", err)
	}
	for _, a := range asked {
		for _, values := range a.Requests {
			q := requestOf(values)
			if err := r.source.Check(q); err != nil {
				f := *fault.Of(err)
				f.Path = "acceleration.refresh_sql"
				return nil, &f
			}
			if !slices.Contains(list, q) {
				list = append(list, q)
			}
		}
	}
	if len(list) == 0 {
		return nil, fault.New("acceleration.refresh_sql", "write a condition such as WHERE request_path = '/shows/82'",
			"refresh_sql asks for no request")
	}
	return list, nil
}

// fetchAll fetches the rows of requests, and returns the first error.
func (r *requests) fetchAll(ctx context.Context, list []source.Request) (answers []answer, failed error) {
	got, errs := make([]answer, len(list)), make([]error, len(list))
	var wait sync.WaitGroup
	for i, q := range list {
		wait.Go(func() { got[i], errs[i] = r.fetch(ctx, q) })
	}
	wait.Wait()
	for i, err := range errs {
		if err == nil {
			answers = append(answers, got[i])
		} else if failed == nil {
			failed = err
		}
	}
	return answers, failed
}

// whole returns a query of the answers to all requests of a refresh_sql.
func (r *requests) whole(ctx context.Context, sql string, empty *source.Opened) (*source.Opened, error) {
	list, err := r.inSQL(ctx, sql)
	if err != nil {
		return nil, err
	}
	answers, failed := r.fetchAll(ctx, list)
	opened := *empty
	for _, a := range answers {
		opened.Resources = append(opened.Resources, a.opened.Resources...)
		opened.Bytes += a.Bytes
	}
	if failed != nil {
		resource.Release(opened.Resources...)
		return nil, failed
	}
	opened.Query = unionOf(answers)
	return &opened, nil
}
