package sqlapi

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/access/audit"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/query"
	"github.com/spiced-sql/spiced/internal/test/wait"
	"github.com/spiced-sql/spiced/spicepod"
)

// counted counts the statements that reach the engine.
type counted struct {
	query.Engine
	n *atomic.Int64
}

func (c counted) Query(ctx context.Context, req engine.Request) (*engine.Rows, error) {
	c.n.Add(1)
	return c.Engine.Query(ctx, req)
}

var tableT, tableU = engine.Relation{Schema: "public", Name: "t"}, engine.Relation{Schema: "public", Name: "u"}

// serveCached serves the tables t, u and theirs, the view v and the function total over t.
func serveCached(t *testing.T, c *spicepod.ResultCache) (*fixture, *atomic.Int64) {
	var n atomic.Int64
	var mu sync.Mutex
	f := serveWith(t, func(db query.Engine) query.Engine { return counted{db, &n} }, func(o *Options) {
		o.Audit = audit.New(o.Log)
		o.Cache = func() spicepod.ResultCache {
			mu.Lock()
			defer mu.Unlock()
			return *c
		}
	})
	random := &engine.Function{Name: "dice", Signature: "dice() → float64", Random: true, Traits: engine.Traits{Volatile: true}}
	theirs, viewed := engine.Relation{Schema: "public", Name: "theirs"}, engine.Relation{Schema: "public", Name: "v"}
	total := &engine.Function{Name: "total", Signature: "total() → int64", Reads: []engine.Relation{viewed, tableT}}
	cat := engine.NewCatalog(engine.Contents{
		Generation: 1, Relations: []engine.Relation{tableT, tableU, viewed, theirs}, Functions: []*engine.Function{random, total},
		Traits: map[engine.Relation]engine.Traits{theirs: {Protected: true}}, Reads: map[engine.Relation][]engine.Relation{viewed: {tableT}},
	})
	err := f.db.Publish(context.Background(), cat, func(tx *engine.Tx) error {
		for _, sql := range []string{
			"CREATE TABLE spice.public.t AS SELECT 1 AS a", "CREATE TABLE spice.public.theirs AS SELECT 1 AS a",
			"CREATE FUNCTION spice.public.dice() AS random()", "CREATE TABLE spice.public.u AS SELECT 1 AS a",
			"CREATE VIEW spice.public.v AS FROM spice.public.t", "CREATE FUNCTION spice.public.total() AS (SELECT sum(a) FROM spice.public.v)",
		} {
			if err := tx.Exec(sql); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return f, &n
}

func TestEqualStatementsAreAnsweredOnce(t *testing.T) {
	settings := &spicepod.ResultCache{Enabled: true, MaxSize: 1 << 20, ItemTTL: time.Hour, CacheKeyType: "plan"}
	f, n := serveCached(t, settings)
	for _, c := range []struct {
		sql    string
		header []string
		status string
	}{
		{"SELECT a FROM t", nil, "MISS"},
		{"SELECT a FROM t", nil, "HIT"},
		{"SELECT a  FROM t -- again", nil, "HIT"},
		{"SELECT a\nFROM t;\n", nil, "HIT"},
		{"SELECT 'x'\n'y' FROM t", nil, "MISS"},
		{"SELECT a FROM t", []string{"Accept", "text/csv"}, "MISS"},
		{"SELECT a FROM t", []string{"Cache-Control", "no-cache"}, "BYPASS"},
		{"SELECT a, 'x' FROM t", nil, "MISS"},
		{"SELECT random() AS r", nil, "BYPASS"},
		{"SELECT random() AS r", nil, "BYPASS"},
		{"SELECT now() AS r", nil, "BYPASS"},
		{"SELECT current_date AS r", nil, "BYPASS"},
		{"SELECT a FROM t USING SAMPLE 1", nil, "BYPASS"},
		{"SELECT dice() AS r", nil, "BYPASS"},
		{"EXPLAIN ANALYZE SELECT 1", nil, "BYPASS"},
		{"explain analyze SELECT 1", nil, "BYPASS"},
		{"/* */ EXPLAIN SELECT 1", nil, "BYPASS"},
		{"SELECT a FROM theirs", nil, "BYPASS"},
		{"SELECT a FROM theirs", nil, "BYPASS"},
	} {
		before := n.Load()
		r := f.send("POST", "/v1/sql", c.sql, c.header...)
		f.want(r, 200, "")
		if got := r.header.Get(headerCacheStatus); got != c.status {
			t.Errorf("%s: %s, want %s", c.sql, got, c.status)
		}
		if ran := n.Load() > before; ran == (c.status == "HIT") {
			t.Errorf("%s (%s): the engine was asked: %t", c.sql, c.status, ran)
		}
	}
	f.want(f.send("POST", "/v1/sql", "SELECT 'x' 'y' FROM t"), 400, "syntax error") // though on two lines it is right
	first, second := f.send("POST", "/v1/sql", "SELECT a FROM t"), f.send("POST", "/v1/sql", "SELECT a FROM t")
	if first.body != second.body || second.header.Get("Content-Type") != first.header.Get("Content-Type") || second.header.Get("X-Spiced-Generation") != "1" {
		t.Errorf("the answers differ: %v %v", first, second)
	}
	body := `{"sql":"SELECT $1::BIGINT AS a","parameters":[%]}`
	for i, want := range []string{"MISS", "MISS", "HIT"} {
		value := []string{"1", "2", "1"}[i]
		r := f.send("POST", "/v1/sql", strings.Replace(body, "%", value, 1), "Content-Type", "application/json")
		f.want(r, 200, `[{"a":`+value+`}]`)
		if got := r.header.Get(headerCacheStatus); got != want {
			t.Errorf("parameter %s: %s, want %s", value, got, want)
		}
	}
}

// TestARefreshDropsTheResultsThatReadIt has statements that read a dataset itself, by a
// view and by a function, and one that reads another.
func TestARefreshDropsTheResultsThatReadIt(t *testing.T) {
	f, _ := serveCached(t, &spicepod.ResultCache{Enabled: true, MaxSize: 1 << 20, ItemTTL: time.Hour})
	check := func(sql, body, status string) {
		t.Helper()
		r := f.send("POST", "/v1/sql", sql)
		f.want(r, 200, body)
		if got := r.header.Get(headerCacheStatus); got != status {
			t.Errorf("%s: %s, want %s", sql, got, status)
		}
	}
	round := func(n int, t, u string) {
		check("SELECT count(*) AS n FROM t", fmt.Sprintf(`[{"n":%d}]`, n), t)
		check("SELECT count(*) AS n FROM v", fmt.Sprintf(`[{"n":%d}]`, n), t)
		check("SELECT total() AS n", fmt.Sprintf(`[{"n":%d}]`, n), t)
		check("SELECT count(*) AS n FROM u, t", fmt.Sprintf(`[{"n":%d}]`, n), t)
		check("SELECT count(*) AS n FROM u", `[{"n":1}]`, u)
		check("SELECT 1 AS n", `[{"n":1}]`, u)
	}
	publish := func(c *engine.Catalog, sql string) {
		t.Helper()
		if err := f.db.Publish(t.Context(), c, func(tx *engine.Tx) error { return tx.Exec(sql) }); err != nil {
			t.Fatal(err)
		}
	}
	round(1, "MISS", "MISS")
	round(1, "HIT", "HIT")
	publish(f.db.Current().Renew(tableT), "INSERT INTO spice.public.t VALUES (1)")
	round(2, "MISS", "HIT")
	round(2, "HIT", "HIT")
	publish(f.db.Current().Renew(engine.Relation{Schema: "public", Name: "theirs"}), "INSERT INTO spice.public.theirs VALUES (1)")
	round(2, "HIT", "HIT")
	// A row that is visible before its publication, as one that is appended in memory.
	if err := f.db.Change(tableT, func() error {
		check("SELECT count(*) AS n FROM t", `[{"n":2}]`, "MISS")
		check("SELECT count(*) AS n FROM t", `[{"n":2}]`, "MISS")
		check("SELECT count(*) AS n FROM u", `[{"n":1}]`, "HIT")
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	publish(f.db.Current().Renew(tableU), "SELECT 1")
	check("SELECT count(*) AS n FROM u", `[{"n":1}]`, "MISS")
	check("SELECT 1 AS n", `[{"n":1}]`, "HIT")
}

// TestNewerResultsStay has a statement that began before a refresh and ends after it.
func TestNewerResultsStay(t *testing.T) {
	c := newResultCache()
	defer c.close()
	settings := spicepod.ResultCache{ItemTTL: time.Hour}
	for _, serial := range []uint64{7, 6} {
		c.put(&cachedResult{key: "k", serial: serial, made: time.Now()}, 10_000)
	}
	if r, _ := c.get("k", settings, time.Now(), func([]engine.Relation) uint64 { return 7 }); r == nil || r.serial != 7 {
		t.Errorf("got %v", r)
	}
	if r, _ := c.get("k", settings, time.Now(), func([]engine.Relation) uint64 { return 8 }); r != nil || c.results.Len() != 0 {
		t.Errorf("got %v", r)
	}
}

// Parameters of other types make another statement, whichever comes first.
func TestParametersAreToldApartByType(t *testing.T) {
	f, _ := serveCached(t, &spicepod.ResultCache{Enabled: true, MaxSize: 1 << 20, ItemTTL: time.Hour})
	for i, pair := range [][2]string{
		{`1`, `"1"`},
		{`1.0`, `"1.0"`},
		{`1`, `1.0`},
		{`true`, `"true"`},
		{`null`, `"null"`},
		{`[1]`, `["1"]`},
		{`["a", "b"]`, `["a,b"]`},
		{`{"a": 1}`, `{"a": "1"}`},
		{`{"a": 1}`, `"{\"a\":1}"`},
		{`"<"`, `"\\u003c"`},
	} {
		for _, order := range [][]string{{pair[0], pair[1]}, {pair[1], pair[0]}} {
			sql := fmt.Sprintf("SELECT typeof(?) AS t, %d, '%x'", i, order[0])
			for i, want := range []string{"MISS", "MISS", "HIT", "HIT"} {
				body := fmt.Sprintf(`{"sql":%q,"parameters":[%s]}`, sql, order[i%2])
				r := f.send("POST", "/v1/sql", body, "Content-Type", "application/json")
				if got := r.header.Get(headerCacheStatus); r.status != 200 || got != want {
					t.Errorf("%s of %q: %d %s, want %s", order[i%2], order, r.status, got, want)
				}
			}
		}
	}
}

// A request may have several lines of the header.
func TestEveryLineOfCacheControlCounts(t *testing.T) {
	f, _ := serveCached(t, &spicepod.ResultCache{Enabled: true, MaxSize: 1 << 20, ItemTTL: time.Hour})
	f.want(f.send("POST", "/v1/sql", "SELECT a FROM t"), 200, "")
	for _, lines := range [][]string{{"max-age=0", "no-cache"}, {"No-Cache", "max-age=0"}} {
		r, w := httptest.NewRequest("POST", "/v1/sql", strings.NewReader("SELECT a FROM t")), httptest.NewRecorder()
		r.Header["Cache-Control"] = lines
		f.Config.Handler.ServeHTTP(w, r)
		if got := w.Header().Get(headerCacheStatus); got != "BYPASS" {
			t.Errorf("%q: %s", lines, got)
		}
	}
}

func TestOldAnswersServeWhileNewOnesAreMade(t *testing.T) {
	settings := &spicepod.ResultCache{Enabled: true, MaxSize: 1 << 20, StaleWhileRevalidate: time.Hour, CacheKeyType: "sql"}
	f, _ := serveCached(t, settings)
	f.want(f.send("POST", "/v1/sql", "SELECT a FROM t"), 200, "")
	r := f.send("POST", "/v1/sql", "SELECT a FROM t")
	if got := r.header.Get(headerCacheStatus); got != "STALE" {
		t.Errorf("got %s, want STALE", got)
	}
	wait.Until(t, "it is made again", func() bool { return strings.Contains(f.log.String(), `"door":"renewal"`) })
	asked, renewal := 0, ""
	for line := range strings.Lines(f.log.String()) {
		if strings.Contains(line, `"kind":"statement","door":"http"`) {
			asked++
		} else if strings.Contains(line, `"door":"renewal"`) {
			renewal = line
		}
	}
	if asked != 2 || strings.Contains(renewal, "remote") || strings.Contains(renewal, "request_id") {
		t.Errorf("%d statements were asked for, and the renewal is %s", asked, renewal)
	}
}

func TestTheCacheIsBounded(t *testing.T) {
	c := newResultCache()
	defer c.close()
	for i := range 100 {
		c.put(&cachedResult{key: string(rune('a' + i)), body: make([]byte, 1000)}, 10_000)
	}
	if c.results.Weight() > 10_000 || c.results.Len() == 0 {
		t.Errorf("%d bytes, %d entries", c.results.Weight(), c.results.Len())
	}
}
