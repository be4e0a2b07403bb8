package results_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/results"
	"github.com/spiced-sql/spiced/spicepod"
)

func TestAStoredResultHasTheRowsOfItsStatement(t *testing.T) {
	w := newWorld(t, spicepod.Results{})
	for _, sql := range []string{
		"SELECT 1 AS x WHERE false",
		"SELECT NULL AS nothing, 1 AS one FROM range(3)",
		"SELECT i, i * 1.5 AS d, 'row ' || i AS t, CASE WHEN i % 7 > 0 THEN i END AS n FROM range(5000) r(i)",
		"SELECT [i, NULL] AS l, {'a': i, 'b': ['x', NULL]} AS s, MAP {'k': i} AS m, [i, i + 1]::BIGINT[2] AS a FROM range(2049) r(i)",
		"SELECT i::DECIMAL(38,9) AS de, i::HUGEINT AS h, i::UTINYINT AS u, (i % 2 = 0) AS b, 'NaN'::DOUBLE AS nan, encode('ä') AS bl FROM range(200) r(i)",
		"SELECT DATE '2024-02-29' AS d, TIMESTAMP '1969-12-31 23:59:59.999999' AS ts, TIMESTAMPTZ '2024-01-01 00:00:00+02' AS tz, INTERVAL '1 month 2 days' AS " +
			"iv, TIME '23:59:59' AS ti",
		"SELECT 'x'::ENUM('x', 'y') AS e, '{\"a\":[1]}'::JSON AS j, union_value(n := 3) AS u, '101'::BIT AS bits, uuid() IS NULL AS no",
		"SELECT i % 13 AS k, sum(i) AS s FROM range(100000) r(i) GROUP BY ALL ORDER BY k DESC",
		"SELECT repeat('long ', 100) || i AS t FROM range(3000) r(i) ORDER BY hash(i)",
		"SELECT [] AS empty_list, [NULL] AS nulls",
	} {
		want, err := w.query("ada", sql)
		if err != nil {
			t.Fatal(sql, err)
		}
		r := w.must("ada", sql)
		got, err := w.query("ada", "FROM ref('"+r.Name+"')")
		if err != nil || got != want {
			t.Errorf("%s\n%v %s", sql, err, cmp.Diff(want, got))
		}
		if n := int64(strings.Count(want, "\n")); r.Rows != n {
			t.Errorf("%s: %d rows, want %d", sql, r.Rows, n)
		}
	}
}

func TestColumnsAreThoseOfTheTable(t *testing.T) {
	w := newWorld(t, spicepod.Results{})
	r := w.must("ada", `SELECT 1 AS a, 2 AS A, 3 AS a_1, 4 AS a, NULL AS n, 5 AS "x y"`)
	rows, err := w.db.Query(as("ada"), engine.Request{SQL: "FROM ref('" + r.Name + "')"})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if diff := cmp.Diff(rows.Columns(), r.Columns); diff != "" {
		t.Error(diff)
	}
}

func TestNamesOfMembers(t *testing.T) {
	w := newWorld(t, spicepod.Results{})
	for value, want := range map[string]string{
		"{'from': 1, 'to': 2}":                                       `{"from":1,"to":2}`,
		"[{'select': 1}]":                                            `[{"select":1}]`,
		"MAP {'a': {'end': 1}}":                                      `{"a":{"end":1}}`,
		`union_value("table" := 1)`:                                  `{"table":1}`,
		"{'a b': 1, 'é': {'Select': 2}}":                             `{"a b":1,"é":{"Select":2}}`,
		"row(1, 'a')":                                                `{"v1":1,"v2":"a"}`,
		"list_zip([1, 2], ['a', NULL])":                              `[{"v1":1,"v2":"a"},{"v1":2,"v2":null}]`,
		"MAP {row(1): {'a': [row(2)]}}":                              `{"{\"v1\":1}":{"a":[{"v1":2}]}}`,
		"[row(1, 2), NULL]::STRUCT(a INT, b INT)[2]":                 `[{"a":1,"b":2},null]`,
		`json_transform('{"a":1}', '{"a":"INTEGER","A":"INTEGER"}')`: `{"a":1,"A_1":null}`,
		"(SELECT row(i) FROM range(2) t(i) WHERE i = 5)":             `null`,
	} {
		r := w.must("ada", "SELECT "+value+" AS v FROM range(3000)")
		w.expect("ada", "FROM ref('"+r.Name+"') LIMIT 1 OFFSET 2999", `{"v":`+want+`}`)
	}
}

func TestOnlyTheOwnerFindsAResult(t *testing.T) {
	w := newWorld(t, spicepod.Results{})
	r, other := w.must("ada", "FROM range(10)"), w.must("bob", "FROM range(20)")
	if !regexp.MustCompile(`^r_[a-z2-7]{26}$`).MatchString(r.Name) {
		t.Errorf("name %q", r.Name)
	}
	w.expect("ada", ref(r), `{"n":10}`)
	w.expect("bob", ref(other), `{"n":20}`)
	_, unknown := w.query("bob", "FROM ref('r_none')")
	for _, owner := range []string{"bob", "", "ADA"} {
		_, err := w.query(owner, "FROM ref('"+r.Name+"')")
		wantCode(t, "another's result", err, errcode.NotFound)
		if got, want := err.Error(), strings.ReplaceAll(unknown.Error(), "r_none", r.Name); got != want {
			t.Errorf("another's result: %s; an unknown one: %s", got, want)
		}
		_, err = w.store.Get(ownerOf(owner), r.Name)
		wantCode(t, "get another's", err, errcode.NotFound)
		wantCode(t, "delete another's", w.store.Delete(ownerOf(owner), r.Name), errcode.NotFound)
	}
	_, err := w.query("ada", `SELECT * FROM "`+r.Name+`".main.result`)
	wantCode(t, "past the reference", err, errcode.NotFound)
	if got, err := w.store.Get(ownerOf("ada"), r.Name); err != nil || got.Rows != 10 || got.Owner != ownerOf("ada") {
		t.Errorf("get: %+v, %v", got, err)
	}
	if list := w.store.List(ownerOf("ada")); len(list) != 1 || list[0].Name != r.Name {
		t.Errorf("list: %+v", list)
	}
	if err := w.store.Delete(ownerOf("ada"), r.Name); err != nil {
		t.Fatal(err)
	}
	_, err = w.query("ada", ref(r))
	wantCode(t, "a deleted result", err, errcode.NotFound)
	if len(w.files()) != 1 {
		t.Errorf("files %q, want that of bob", w.files())
	}
}

func TestAResultExpires(t *testing.T) {
	w := newWorld(t, spicepod.Results{}) // the database is outside of the bubble
	synctest.Test(t, func(t *testing.T) {
		store, err := results.New(results.Options{DB: w.db, Dir: w.dir, Limits: spicepod.Results{TTL: time.Minute}})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		keep := func() *results.Result {
			writer, err := store.Create(t.Context(), ownerOf("ada"), []engine.Column{{Name: "x", Type: &engine.Type{ID: engine.Integer}}})
			if err != nil {
				t.Fatal(err)
			}
			r, err := writer.Close()
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		first := keep()
		time.Sleep(40 * time.Second)
		second := keep()
		time.Sleep(20*time.Second - time.Nanosecond)
		if _, err := store.Get(ownerOf("ada"), first.Name); err != nil {
			t.Error("too early:", err)
		}
		_, release, err := store.Ref(as("ada"), first.Name)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		_, err = store.Get(ownerOf("ada"), first.Name)
		wantCode(t, "an expired result", err, errcode.NotFound)
		if list := store.List(ownerOf("ada")); len(list) != 1 || list[0].Name != second.Name {
			t.Errorf("left: %+v", list)
		}
		if len(w.files()) != 2 {
			t.Errorf("files %q; the first is read still", w.files())
		}
		release()
		release()
		if len(w.files()) != 1 {
			t.Errorf("files %q; no one reads the first any more", w.files())
		}
		time.Sleep(40 * time.Second)
		synctest.Wait()
		if len(w.files()) != 0 {
			t.Errorf("files %q; all have expired", w.files())
		}
	})
}

func TestTheOldestMakeRoom(t *testing.T) {
	w := newWorld(t, spicepod.Results{MaxPerUser: 2, MaxResults: 3})
	a1, a2, b := w.must("ada", "FROM range(1)"), w.must("ada", "FROM range(2)"), w.must("bob", "FROM range(3)")
	a3 := w.must("ada", "FROM range(4)")
	_, err := w.store.Get(ownerOf("ada"), a1.Name)
	wantCode(t, "over the owner's number", err, errcode.NotFound)
	_, release, err := w.store.Ref(as("ada"), a2.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	w.must("eve", "FROM range(5)") // the oldest is in use: the next one goes
	_, err = w.store.Get(ownerOf("bob"), b.Name)
	wantCode(t, "over the number of all", err, errcode.NotFound)
	w.expect("ada", ref(a2), `{"n":2}`)
	w.expect("ada", ref(a3), `{"n":4}`)
	_, release3, err := w.store.Ref(as("ada"), a3.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer release3()
	_, err = w.keep("ada", "FROM range(6)")
	wantCode(t, "all are read", err, errcode.Busy)
}

func TestSpaceIsBounded(t *testing.T) {
	const space = 4 << 20
	w := newWorld(t, spicepod.Results{MaxBytes: space, MaxResult: 2 << 20})
	fill := func() {
		for range 6 {
			last := w.must("ada", "SELECT hash(i) AS h FROM range(100000) r(i)") // 800 kB that do not compress
			list := w.store.List(ownerOf("ada"))
			if len(list) == 0 || len(list) > 5 || list[len(list)-1].Name != last.Name {
				t.Errorf("left: %d results", len(list))
			}
			if size := w.size(); size > space {
				t.Errorf("%d bytes of files", size)
			}
		}
	}
	fill()
	_, err := w.keep("ada", "SELECT i FROM range(1000000) r(i)")
	wantCode(t, "a result over its limit", err, errcode.Limit)
	if n := len(w.store.List(ownerOf("ada"))); len(w.files()) != n {
		t.Errorf("%d results and files %q after one that was refused", n, w.files())
	}
	fill()
	var releases []func()
	for _, r := range w.store.List(ownerOf("ada")) {
		_, release, err := w.store.Ref(as("ada"), r.Name)
		if err != nil {
			t.Fatal(err)
		}
		releases = append(releases, release)
	}
	_, err = w.keep("ada", "SELECT i FROM range(250000) r(i)")
	wantCode(t, "no space but of results in use", err, errcode.Limit)
	for _, release := range releases {
		release()
	}
	w.must("ada", "SELECT i FROM range(250000) r(i)")
}

func TestAStatementReadsAResultThatGoesMeanwhile(t *testing.T) {
	w := newWorld(t, spicepod.Results{})
	r := w.must("ada", "SELECT hash(i) AS h, i FROM range(500000) r(i)")
	rows, err := w.db.Query(as("ada"), engine.Request{SQL: "FROM ref('" + r.Name + "')"})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if err := w.store.Delete(ownerOf("ada"), r.Name); err != nil {
		t.Fatal(err)
	}
	n := 0
	for chunk, err := range rows.Chunks() {
		if err != nil {
			t.Fatal(err)
		}
		n += chunk.Len()
	}
	if n != 500000 {
		t.Errorf("%d rows", n)
	}
	rows.Close()
	w.db.Close() // waits for the statement's end
	if len(w.files()) != 0 {
		t.Errorf("files %q", w.files())
	}
}

func TestARestartLeavesNothing(t *testing.T) {
	w := newWorld(t, spicepod.Results{})
	r := w.must("ada", "FROM range(10)")
	if info, err := os.Stat(w.dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", info.Mode(), err)
	}
	w.store.Close()
	w.store.Close()
	_, err := w.query("ada", ref(r))
	wantCode(t, "after the end", err, errcode.NotFound)
	_, err = w.keep("ada", "FROM range(10)")
	wantCode(t, "after the end", err, errcode.Cancelled)
	if len(w.files()) != 0 {
		t.Errorf("files %q", w.files())
	}
	for _, name := range []string{"r_crash.duckdb", "r_crash.duckdb.wal", "mine.duckdb", "r_notes.txt"} {
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.start(spicepod.Results{})
	if got := fmt.Sprint(w.files()); strings.Contains(got, "crash") || !strings.Contains(got, "mine.duckdb") || !strings.Contains(got, "r_notes.txt") {
		t.Errorf("files %s", got)
	}
	w.expect("ada", ref(w.must("ada", "FROM range(11)")), `{"n":11}`)
}

func TestAnAbortedWriterLeavesNothing(t *testing.T) {
	w := newWorld(t, spicepod.Results{MaxPerUser: 1})
	for range 3 {
		writer, err := w.store.Create(t.Context(), ownerOf("ada"), []engine.Column{{Name: "x", Type: &engine.Type{ID: engine.Integer}}})
		if err != nil {
			t.Fatal(err)
		}
		writer.Abort()
		writer.Abort()
	}
	if len(w.files()) != 0 || len(w.store.List(ownerOf("ada"))) != 0 {
		t.Errorf("files %q", w.files())
	}
	if _, err := w.keep("ada", "SELECT row(1, 2) AS unnamed"); err != nil {
		wantCode(t, "a type that no table has", err, errcode.Execution)
	}
}

func TestManyWritersAndReaders(t *testing.T) {
	w := newWorld(t, spicepod.Results{MaxResults: 6, MaxPerUser: 4, MaxBytes: 8 << 20})
	var wg sync.WaitGroup
	for n := range 6 {
		wg.Go(func() {
			owner := fmt.Sprint("owner ", n%3)
			for i := range 8 {
				r, err := w.keep(owner, fmt.Sprintf("SELECT hash(i) AS h FROM range(%d) r(i)", 1000*(i+1)))
				if err != nil {
					wantCode(t, "keep", err, errcode.Busy)
					continue
				}
				if got, err := w.query(owner, ref(r)); err != nil {
					wantCode(t, "read", err, errcode.NotFound) // it made room
				} else if want := fmt.Sprintf("{\"n\":%d}\n", 1000*(i+1)); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
				_ = w.store.Delete(ownerOf(owner), r.Name)
			}
		})
	}
	wg.Wait()
	w.store.Close()
	if len(w.files()) != 0 {
		t.Errorf("files %q", w.files())
	}
}

func TestDroppedFilesAreClosed(t *testing.T) {
	w := newWorld(t, spicepod.Results{})
	for range 3 {
		r := w.must("ada", "FROM range(10)")
		w.expect("ada", ref(r), `{"n":10}`)
		w.idle()
		if err := w.store.Delete(ownerOf("ada"), r.Name); err != nil {
			t.Fatal(err)
		}
	}
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || len(links) == 0 {
		t.Skip("open files are not known here: mount /proc, as Linux has it")
	}
	for _, link := range links {
		if to, _ := os.Readlink(link); strings.HasPrefix(to, w.dir) {
			t.Error("open still:", to)
		}
	}
}
