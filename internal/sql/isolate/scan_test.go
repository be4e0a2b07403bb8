package isolate_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/isolate"
)

// home declares tables that only this process has: small, of 3 rows, and large ones, of a million
// each, whose rows are too many for a spool's memory; none has no rows, and those of dice are
// others with each query; goods can be written.
func home(t *testing.T, w *world) {
	t.Helper()
	tables := []string{"small", "large", "other", "none", "dice", "goods"}
	var relations []engine.Relation
	known := map[string]*engine.Dependency{}
	for _, name := range tables {
		relations = append(relations, engine.Relation{Schema: engine.Public, Name: name})
	}
	w.publish(t, engine.Contents{
		Relations: relations, Targets: map[engine.Relation]engine.Target{relations[0]: {Table: "spice.public.small"}, relations[5]: {Table: "spice.public.goods"}},
		Dependencies: func(relations []engine.Relation, _ []string) (list []*engine.Dependency, err error) {
			for _, r := range relations {
				if !slices.Contains(list, known[r.Name]) {
					list = append(list, known[r.Name])
				}
			}
			return list, nil
		},
	}, "CREATE TABLE spice.public.small AS SELECT i AS n, 'name ' || i AS t FROM range(3) t(i)",
		"CREATE TABLE spice.public.large AS SELECT i AS n, 'name ' || i AS t FROM range(1000000) t(i)",
		"CREATE TABLE spice.public.other AS SELECT i AS n, 'name ' || i AS t FROM range(1000000) t(i)",
		"CREATE TABLE spice.public.none (n BIGINT, t VARCHAR)",
		"CREATE TABLE spice.public.goods (n BIGINT PRIMARY KEY, t VARCHAR DEFAULT 'none', d DATE, l VARCHAR[])",
		"INSERT INTO spice.public.goods (n, t) VALUES (1, 'one'), (2, 'two')",
		"CREATE VIEW spice.public.dice AS SELECT random() AS n, 'name ' || i AS t FROM range(3) t(i)")
	stage, err := w.Stage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stage.Close()
	for i, name := range tables {
		from := engine.Qualified(engine.Public, name)
		columns, err := stage.Describe("SELECT * FROM " + from)
		if err != nil {
			t.Fatal(err)
		}
		table := &engine.SnapshotTable{Name: "public." + name, Relation: relations[i], From: from, Columns: columns}
		known[name] = engine.NewTable("table "+name, table, []string{"CREATE VIEW " + from + " AS SELECT * FROM " + table.Stream()}, nil)
	}
}

func TestScansOfTheParentsTables(t *testing.T) {
	w := newWorld(t)
	home(t, w)
	for sql, want := range map[string]string{
		"SELECT * FROM small":                                                                                   `[{"n":0,"t":"name 0"},{"n":1,"t":"name 1"},{"n":2,"t":"name 2"}]`,
		"SELECT t FROM small WHERE n = 2":                                                                       `[{"t":"name 2"}]`,
		"SELECT count(*) AS c, (SELECT count(*) FROM none) AS d FROM none":                                      `[{"c":0,"d":0}]`,
		"SELECT (SELECT max(n) FROM none) AS a, max(n) AS b FROM none":                                          `[{"a":null,"b":null}]`,
		"SELECT count(*) AS c FROM (SELECT n FROM dice WHERE n >= 0) a JOIN dice b ON a.n = b.n":                `[{"c":3}]`,
		"SELECT count(*) AS c FROM large":                                                                       `[{"c":1000000}]`,
		"SELECT n FROM large LIMIT 2":                                                                           `[{"n":0},{"n":1}]`,
		"SELECT t FROM large WHERE n IN (5, 999999)":                                                            `[{"t":"name 5"},{"t":"name 999999"}]`,
		"SELECT a.t FROM large a, large b WHERE a.n = 7 AND b.n = 8 AND a.n < b.n":                              `[{"t":"name 7"}]`,
		"SELECT count(*) AS c, sum(a.n) AS s FROM large a JOIN other b ON a.t = b.t":                            `[{"c":1000000,"s":499999500000}]`,
		"SELECT count(*) AS c FROM large a POSITIONAL JOIN other b WHERE a.t = b.t":                             `[{"c":1000000}]`,
		"SELECT (SELECT t FROM large LIMIT 1) AS t, count(*) AS c FROM other":                                   `[{"t":"name 0","c":1000000}]`,
		"SELECT count(*) AS c FROM (SELECT t FROM large UNION ALL SELECT t FROM other)":                         `[{"c":2000000}]`,
		"WITH l AS (SELECT * FROM large WHERE n >= 999998) SELECT a.n FROM l a, l b WHERE a.n = b.n ORDER BY 1": `[{"n":999998},{"n":999999}]`,
	} {
		if got := w.isolated(sql, 0); got.JSON != want {
			t.Errorf("%s: got %+v, want %s", sql, got, want)
		}
	}
	if s := w.pool.Stats(); s.Started != 1 || s.Killed+s.Crashed > 0 {
		t.Errorf("the statements took %+v", s)
	}
}

// TestAScanIsOfOneMoment: all scans of a statement see the same rows, while others write.
func TestAScanIsOfOneMoment(t *testing.T) {
	w := newWorld(t)
	home(t, w)
	ctx, stop := context.WithCancel(t.Context())
	var writer sync.WaitGroup
	writer.Go(func() {
		for ctx.Err() == nil {
			got := w.result(engine.Request{SQL: "UPDATE small SET n = n + 1", Write: true})
			if got.Err != nil && ctx.Err() == nil {
				t.Error(got.Err)
				return
			}
		}
	})
	for range 50 {
		if got := w.isolated("SELECT sum(a.n) - (SELECT sum(n) FROM small) AS d, count(DISTINCT b.n - a.n) AS k FROM small a JOIN small b ON a.t < b.t",
			0); !strings.HasPrefix(got.JSON, `[{"d":`) || !strings.HasSuffix(got.JSON, `"k":2}]`) {
			t.Fatalf("got %+v", got)
		}
		if got := w.isolated("SELECT (SELECT sum(n) FROM small) - (SELECT sum(n) FROM small WHERE t <> '') AS d", 0); got.JSON != `[{"d":0}]` {
			t.Fatalf("got %+v", got)
		}
	}
	stop()
	writer.Wait()
}

// TestScansThatTakeTooMuchRoom: what waits for other scans of a statement is bounded.
func TestScansThatTakeTooMuchRoom(t *testing.T) {
	w := newWorld(t, func(o *isolate.Options) { o.Spool = 1 << 20 })
	home(t, w)
	got := w.isolated("SELECT count(*) AS c FROM large a POSITIONAL JOIN other b WHERE a.t = b.t", 0)
	if got.Err == nil || !strings.Contains(got.Err.Message, "public.large that wait for others") {
		t.Errorf("got %+v", got)
	}
	if got := w.isolated("SELECT count(*) AS c FROM small", 0); got.JSON != `[{"c":3}]` {
		t.Errorf("afterwards: got %+v", got)
	}
}

// TestLookUpsStay has statements on a table that only the parent can read: a worker gets all but
// look-ups.
func TestLookUpsStay(t *testing.T) {
	for sql, stays := range map[string]bool{
		"SELECT t FROM goods WHERE n = 2":                                               true,
		"SELECT g.t AS title, g.n FROM public.goods AS g WHERE g.n IN (2)":              true,
		"SELECT t FROM goods WHERE n = 2 AND (t <> 'x' OR d IS NULL)":                   true,
		"SELECT t FROM goods WHERE n = 2 LIMIT 1":                                       true,
		"FROM goods SELECT t WHERE n = 2":                                               true,
		"SELECT t FROM goods WHERE n = 2 AND t <> '" + strings.Repeat("x", 4<<10) + "'": false,
		"SELECT t FROM goods WHERE n > 1":                                               false,
		"SELECT t FROM goods":                                                           false,
		"SELECT t FROM goods WHERE n = 2 ORDER BY t":                                    false,
		"SELECT DISTINCT t FROM goods WHERE n = 2":                                      false,
		"SELECT any_value(t) AS t FROM goods WHERE n = 2":                               false,
		"SELECT t FROM goods WHERE n = 2 GROUP BY ALL":                                  false,
		"SELECT lower(t) AS t FROM goods WHERE n = 2":                                   false,
		"SELECT t FROM goods WHERE n = 2 AND t LIKE 't%'":                               false,
		"SELECT t FROM goods WHERE n = (SELECT 2)":                                      false,
		"WITH g AS (FROM goods) SELECT t FROM g WHERE n = 2":                            false,
		"SELECT t FROM goods JOIN (SELECT 2 AS n) USING (n) WHERE n = 2":                false,
		"SELECT t FROM goods TABLESAMPLE 100% WHERE n = 2":                              false,
		"SELECT t FROM goods WHERE n = 2 QUALIFY row_number() OVER () = 1":              false,
		"SELECT t FROM goods WHERE n = 2 UNION SELECT 'two'":                            false,
		"SELECT * REPLACE (lower(t) AS t) FROM goods WHERE n = 2":                       false,
		"SELECT COLUMNS(c -> c = 't') FROM goods WHERE n = 2":                           false,
		"SELECT 'two' AS two, t FROM small WHERE n = 2":                                 true,
		"SELECT 'two' AS two FROM other WHERE n = 2":                                    false,
		"SELECT t FROM goods WHERE n = 2 AND t = CAST('two' AS VARCHAR)":                false,
		"SELECT [x FOR x IN [t]][1] AS t FROM goods WHERE n = 2":                        false,
	} {
		t.Run(sql, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			home(t, w)
			got := w.isolated(sql, 0)
			if s := w.pool.Stats(); (s.Started == 0) != stays || got.Err != nil || !strings.Contains(got.JSON, "two") {
				t.Errorf("%d workers, %+v", s.Started, got)
			}
		})
	}
}
