package datasets

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/data/snapshots"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/test/azuretest"
	"github.com/spiced-sql/spiced/internal/test/exttest"
	"github.com/spiced-sql/spiced/internal/test/s3test"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

// move starts again on another machine: without state, with the clock an hour later for
// each time.
func (w *world) move(options ...func(*Options)) {
	w.t.Helper()
	later := w.clock.Now().Add(time.Hour)
	w.stop()
	w.state = w.t.TempDir()
	w.start(options...)
	w.clock.advance(later.Sub(w.clock.Now()))
}

// written waits until no snapshot is written, and returns the objects in a folder.
func (w *world) written(folder string) (names []string) {
	w.t.Helper()
	w.m.snapshots.Wait()
	entries, err := os.ReadDir(folder)
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// snapshotOf returns the Spicepod of a dataset t with snapshots in the folder store.
func snapshotOf(from, acceleration, section string) string {
	return "snapshots: {location: store" + section + "}\ndatasets: [{name: t, from: '" + from + "', acceleration: {snapshots: enabled" + acceleration + "}}]\n"
}

const folderOfT = "store/test/t"

func TestSnapshots(t *testing.T) {
	for _, mode := range []string{"memory", "file"} {
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t)
			s := newSite(t, serve("id,name\n1,a\n2,b\n"))
			var outcomes []string
			watch := func(o *Options) {
				o.Snapshot = func(t *tables.Table, how snapshots.Outcome) { outcomes = append(outcomes, t.Name+" "+string(how)) }
			}
			w.restart(watch)
			pod := snapshotOf(s.URL+"/x.csv", ", mode: "+mode+", refresh_check_interval: 2h, primary_key: id", "")
			w.ok(pod)
			if names := w.written(filepath.Join(w.dir, folderOfT)); len(names) != 2 || !strings.HasPrefix(names[0], "20260102T030405.000Z-") {
				t.Fatalf("got %q", names)
			}
			w.want("SELECT error, last_snapshot FROM spiced.datasets", "NULL|2026-01-02 03:04:05")

			requests := s.requests.Load()
			s.set(serve("id,name\n1,a\n2,b\n3,c\n"))
			w.move(watch)
			w.ok(pod)
			w.want("FROM t ORDER BY id", "1|a, 2|b")
			w.want("SELECT last_refresh, last_snapshot FROM spiced.datasets", "2026-01-02 03:04:05|NULL")
			if due := w.m.live["public.t"].State.Due(func(ended time.Time, _ float64) time.Time {
				return ended
			}); !due.Equal(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)) {
				t.Errorf("the next refresh counts from %s", due)
			}
			if got := s.requests.Load(); got != requests {
				t.Errorf("the source got %d requests", got-requests)
			}
			if names := w.written(filepath.Join(w.dir, folderOfT)); len(names) != 2 {
				t.Errorf("a snapshot was written of a snapshot: %q", names)
			}
			if err := w.refresh("t", refresh.Override{}); err != nil {
				t.Fatal(err)
			}
			w.want("FROM t ORDER BY id", "1|a, 2|b, 3|c")
			if names := w.written(filepath.Join(w.dir, folderOfT)); len(names) != 4 {
				t.Errorf("got %q", names)
			}
			w.drain()
			if err := w.refresh("t", refresh.Override{}); err != nil {
				t.Fatal(err)
			}
			if names := w.written(filepath.Join(w.dir, folderOfT)); len(names) != 4 {
				t.Errorf("the same rows were written again: %q", names)
			}
			os.RemoveAll(filepath.Join(w.dir, folderOfT))
			if err := w.refresh("t", refresh.Override{}); err != nil {
				t.Fatal(err)
			}
			if names := w.written(filepath.Join(w.dir, folderOfT)); len(names) != 2 {
				t.Errorf("what is gone was not written again: %q", names)
			}
			if got := strings.Join(outcomes, ", "); got != "t written, t loaded, t written, t unchanged, t written" {
				t.Errorf("got %s", got)
			}
			left, err := filepath.Glob(filepath.Join(w.state, "accelerated", "*snapshot-*"))
			if err != nil || len(left) > 0 {
				t.Errorf("temporary files: %q, %v", left, err)
			}
		})
	}
}

// TestSnapshotsOfRestart starts again with the state of the last run, which is newer than
// the snapshot.
func TestSnapshotsOfRestart(t *testing.T) {
	w := newWorld(t)
	w.file("x.csv", "id\n1\n")
	pod := snapshotOf("file:x.csv", ", mode: file", "")
	w.ok(pod)
	w.written("")
	w.file("x.csv", "id\n1\n2\n")
	if err := w.refresh("t", refresh.Override{}); err != nil {
		t.Fatal(err)
	}
	w.written("")
	os.RemoveAll(filepath.Join(w.dir, "store"))
	w.file("x.csv", "id\n9\n")
	w.restart()
	w.ok(pod)
	w.want("FROM t ORDER BY id", "1, 2")
	if names := w.written(filepath.Join(w.dir, folderOfT)); len(names) != 0 {
		t.Errorf("got %q", names)
	}

	// An edit loads the source, whose rows are newer than those of the snapshot.
	if err := w.refresh("t", refresh.Override{}); err != nil {
		t.Fatal(err)
	}
	w.written("")
	w.file("x.csv", "id\n7\n")
	w.ok(strings.Replace(pod, "name: t", "name: t, description: new", 1))
	w.want("FROM t", "7")
}

// TestSnapshotsOfAppend appends to the rows of a snapshot.
func TestSnapshotsOfAppend(t *testing.T) {
	for _, mode := range []string{"memory", "file"} {
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t)
			w.file("x.csv", "id,at\n1,2026-01-01 00:00:00\n2,2026-01-02 00:00:00\n")
			pod := "snapshots: {location: store}\ndatasets: [{name: t, from: 'file:x.csv', time_column: AT, acceleration: {mode: " + mode +
				", refresh_mode: append, snapshots: enabled}}]\n"
			w.ok(pod)
			names := w.written(filepath.Join(w.dir, folderOfT))
			text, err := os.ReadFile(filepath.Join(w.dir, folderOfT, names[0]))
			if err != nil || !strings.Contains(string(text), `"newest": "2026-01-02 00:00:00"`) || !strings.Contains(string(text), `"rows": 2`) {
				t.Errorf("got %s, %v", text, err)
			}
			w.move()
			w.file("x.csv", "id,at\n7,2026-01-01 00:00:00\n8,2026-01-02 00:00:00\n9,2026-01-03 00:00:00\n")
			w.ok(pod)
			w.want("SELECT id FROM t ORDER BY id", "1, 2")
			if err := w.refresh("t", refresh.Override{}); err != nil {
				t.Fatal(err)
			}
			w.want("SELECT id FROM t ORDER BY id", "1, 2, 9")
			w.written("")
			w.move()
			w.file("x.csv", "id,at\n")
			w.ok(pod)
			w.want("SELECT id FROM t ORDER BY id", "1, 2, 9")
		})
	}
}

// TestSnapshotsAreTrimmed keeps two, and removes what a killed process has left.
func TestSnapshotsAreTrimmed(t *testing.T) {
	w := newWorld(t)
	folder := filepath.Join(w.dir, folderOfT)
	for _, name := range []string{
		"20250101T000000.000Z-00000000.parquet", "20250101T000000.000Z-00000001.json.part", "20250101T000000.000Z-00000002.json",
		"notes.txt", "20990101T000000.000Z-00000000.parquet",
	} {
		w.file(folderOfT+"/"+name, "x")
	}
	for i := range 4 {
		w.file("x.csv", fmt.Sprintf("id\n%d\n", i))
		w.ok(snapshotOf("file:x.csv", "", ", keep: 2"))
		if err := w.refresh("t", refresh.Override{}); err != nil {
			t.Fatal(err)
		}
		w.written("")
	}
	names := w.written(folder)
	if len(names) != 6 || names[4] != "20990101T000000.000Z-00000000.parquet" || names[5] != "notes.txt" {
		t.Errorf("got %q", names)
	}
	os.Remove(filepath.Join(folder, "20990101T000000.000Z-00000000.parquet"))
	w.file("x.csv", "id\n9\n")
	w.move()
	w.ok(snapshotOf("file:x.csv", "", ", keep: 2"))
	w.want("FROM t", "3")
}

// TestSnapshotsAreBounded writes the last of many refreshes only.
func TestSnapshotsAreBounded(t *testing.T) {
	w := newWorld(t)
	w.clock.mu.Lock()
	w.clock.hold, w.clock.added = true, make(chan time.Duration, 100)
	w.clock.mu.Unlock()
	w.file("x.csv", "id\n0\n")
	pod := snapshotOf("file:x.csv", ", snapshots_trigger: time_interval, snapshots_trigger_threshold: 10m", "")
	w.ok(pod)
	folder := filepath.Join(w.dir, folderOfT)
	w.written("")
	for i := range 3 {
		w.file("x.csv", fmt.Sprintf("id\n%d\n", i+1))
		if err := w.refresh("t", refresh.Override{}); err != nil {
			t.Fatal(err)
		}
	}
	for d := time.Duration(0); d != 10*time.Minute; {
		select {
		case d = <-w.clock.added:
		case <-time.After(wait.Limit):
			t.Fatal("the last refresh does not wait to be written")
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 2 {
		t.Errorf("got %v, %v", entries, err)
	}
	w.clock.advance(10 * time.Minute)
	if names := w.written(folder); len(names) != 4 {
		t.Errorf("got %q", names)
	}
	w.clock.mu.Lock()
	w.clock.hold = false
	w.clock.mu.Unlock()
	w.move()
	w.ok(pod)
	w.want("FROM t", "3")

	// What is queued of a dataset that is gone is dropped.
	w.written("")
	w.clock.mu.Lock()
	w.clock.hold = true
	w.clock.mu.Unlock()
	for range 2 {
		if err := w.refresh("t", refresh.Override{}); err != nil {
			t.Fatal(err)
		}
	}
	w.ok("snapshots: {location: store}\n")
	w.written("")
	w.drain()
	if n := w.attached(); n != 0 {
		t.Errorf("%d databases are attached", n)
	}
}

// TestSnapshotsThatCannotBeLoaded starts with a damaged one before a good one.
func TestSnapshotsThatCannotBeLoaded(t *testing.T) {
	edit := func(f func(m map[string]any)) func([]byte) []byte {
		return func(text []byte) []byte {
			var m map[string]any
			if err := json.Unmarshal(text, &m); err != nil {
				t.Fatal(err)
			}
			f(m)
			out, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
	}
	column := func(m map[string]any, i int) map[string]any { return m["columns"].([]any)[i].(map[string]any) }
	for _, c := range []struct {
		name     string
		manifest func([]byte) []byte
		rows     func([]byte) []byte
		unusable bool
		warning  string
	}{
		{"rows", nil, func(b []byte) []byte { b[len(b)/2] ^= 1; return b }, false, "the checksum differs"},
		{"fewer bytes", nil, func(b []byte) []byte { return b[:len(b)-1] }, false, "the checksum differs"},
		{"more bytes", nil, func(b []byte) []byte { return append(b, 0) }, false, "the object is larger than it should be"},
		{"no rows", nil, func([]byte) []byte { return nil }, false, "no such file or directory"},
		{"empty manifest", func([]byte) []byte { return []byte{} }, nil, false, "the manifest is not JSON of a snapshot"},
		{"half a manifest", func(b []byte) []byte { return b[:len(b)/2] }, nil, false, "the manifest is not JSON of a snapshot"},
		{"large manifest", func(b []byte) []byte { return append(b, make([]byte, 5<<20)...) }, nil, false, "the object is larger than it should be"},
		{
			"later format", edit(func(m map[string]any) { m["format"], m["new"] = 2, true }), nil,
			true, "it has format 2, and this release reads format 1; upgrade spiced",
		},
		{"no format", edit(func(m map[string]any) { m["format"] = 0 }), nil, false, "values that none has"},
		{"no time", edit(func(m map[string]any) { delete(m, "refreshed") }), nil, false, "values that none has"},
		{"another field", edit(func(m map[string]any) { m["file"] = "../../other/x.parquet" }), nil, false, "the manifest is not JSON of a snapshot"},
		{
			"foreign", edit(func(m map[string]any) { m["declaration"], m["dataset"] = "x", "orders" }), nil, true,
			`the snapshot belongs to another declaration, of dataset \"orders\"`,
		},
		{"huge", edit(func(m map[string]any) { m["bytes"] = 1 << 40 }), nil, true, "it has 1099511627776 bytes, and at most 8589934592 are loaded"},
		{"row count", edit(func(m map[string]any) { m["rows"] = 3 }), nil, false, "it has 2 rows, and its manifest says 3"},
		{"type", edit(func(m map[string]any) { column(m, 0)["type"] = map[string]any{"name": "BIGINT) AS x, (SELECT 1"} }), nil, false, "there is no type"},
		{"column", edit(func(m map[string]any) { column(m, 1)["name"] = `b" FROM read_text('/etc/passwd') --` }), nil, false, "this column cannot be referenced"},
		{"no columns", edit(func(m map[string]any) { m["columns"] = []any{} }), nil, false, "the manifest has 0 columns"},
		{
			"no value of the type", edit(func(m map[string]any) { column(m, 1)["type"] = map[string]any{"name": "DATE"} }), nil, false,
			"DuckDB's error may contain rows that callers must not see",
		},
		{"key", edit(func(m map[string]any) { column(m, 0)["name"], column(m, 1)["name"] = "b", "id" }), nil, false, ""},
	} {
		behaviours := []string{"warn"}
		if slices.Contains([]string{"rows", "half a manifest", "later format", "huge", "column"}, c.name) { // a fault of each kind
			behaviours = []string{"warn", "fallback", "retry"}
		}
		for _, on := range behaviours {
			t.Run(c.name+" "+on, func(t *testing.T) {
				w := newWorld(t)
				pod := "snapshots: {location: store, bootstrap_on_failure_behavior: " + on + "}\n" +
					"datasets: [{name: t, from: 'file:x.csv', row_filter: 'id > 0', acceleration: {snapshots: enabled, primary_key: id}}]\n"
				w.file("x.csv", "id,b\n1,old\n2,old\n")
				w.ok(pod)
				w.written("")
				w.file("x.csv", "id,b\n1,new\n2,new\n")
				if err := w.refresh("t", refresh.Override{}); err != nil {
					t.Fatal(err)
				}
				names := w.written(filepath.Join(w.dir, folderOfT))
				if len(names) != 4 {
					t.Fatalf("got %q", names)
				}
				for i, change := range []func([]byte) []byte{c.manifest, c.rows} {
					path := filepath.Join(w.dir, folderOfT, names[2+i])
					text, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					if change == nil {
						continue
					}
					if text = change(text); text == nil {
						os.Remove(path)
					} else if err := os.WriteFile(path, text, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				w.file("x.csv", "id,b\n1,source\n2,source\n")
				w.move()
				problems := w.reload(pod)
				w.written("")
				if log := w.log.String(); !strings.Contains(log, "cannot load a snapshot") || !strings.Contains(log, c.warning) ||
					strings.Contains(log, w.state) && c.warning != "" {
					t.Errorf("got %s", log)
				}
				switch {
				case on == "retry" && !c.unusable:
					if len(problems) != 1 || !strings.Contains(problems[0].Message, "the newest snapshot cannot be loaded: ") ||
						!strings.Contains(problems[0].Hint, "to warn or fallback") {
						t.Errorf("got %v", problems)
					}
					os.Remove(filepath.Join(w.dir, folderOfT, names[2]))
					w.ok(pod)
					w.want("FROM t ORDER BY id", "1|old, 2|old")
				case on == "fallback":
					w.want("FROM t ORDER BY id", "1|old, 2|old")
				default:
					w.want("FROM t ORDER BY id", "1|source, 2|source")
				}
			})
		}
	}
}

// TestSnapshotsWithoutManifest has rows whose manifest was never written.
func TestSnapshotsWithoutManifest(t *testing.T) {
	w := newWorld(t)
	w.file("x.csv", "id\n1\n")
	pod := snapshotOf("file:x.csv", "", "")
	w.ok(pod)
	w.written("")
	w.file("x.csv", "id\n2\n")
	if err := w.refresh("t", refresh.Override{}); err != nil {
		t.Fatal(err)
	}
	names := w.written(filepath.Join(w.dir, folderOfT))
	os.Remove(filepath.Join(w.dir, folderOfT, names[2])) // as if killed before it was written
	w.file("x.csv", "id\n3\n")
	w.move()
	w.ok(pod)
	w.want("FROM t", "1")
	w.written("")
	if log := w.log.String(); strings.Contains(log, "WARN") {
		t.Error(log)
	}
}

// TestSnapshotsOfOthers loads no snapshot of another declaration, and those of an equal one
// elsewhere.
func TestSnapshotsOfOthers(t *testing.T) {
	w := newWorld(t)
	w.file("x.csv", "id,b\n1,x\n")
	pod := snapshotOf("file:x.csv", "", "")
	w.ok(pod)
	w.written("")
	w.file("x.csv", "id,b\n2,y\n")
	for _, c := range []struct{ name, old, new, want string }{
		{"equal", "", "", "1|x"},
		{"description", "name: t,", "name: t, description: new,", "1|x"},
		{"schedule", "enabled}", "bootstrap_only, refresh_check_interval: 1h, mode: file}", "1|x"},
		{"mask", "name: t,", "name: t, column_mask: {b: 'NULL'},", "1|NULL"},
		{"refresh_sql", "enabled}", "bootstrap_only, refresh_sql: SELECT id FROM t}", "2"},
		{"key", "enabled}", "bootstrap_only, primary_key: id}", "2|y"},
		{"type", "name: t,", "name: t, columns: [{name: id, type: utf8}],", "2|y"},
		{"from", "file:x.csv", "file:./x.csv", "2|y"},
		{"params", "name: t,", "name: t, params: {csv_quote: \"'\"},", "2|y"},
		{"without loads", "enabled}", "create_only}", "2|y"},
		{"disabled", "enabled}", "disabled}", "2|y"},
		{"all disabled", "location: store", "location: store, enabled: false", "2|y"},
		{"elsewhere", "location: store", "location: other", "2|y"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			kept := filepath.Join(w.dir, "kept")
			if err := os.CopyFS(kept, os.DirFS(filepath.Join(w.dir, "store"))); err != nil {
				t.Fatal(err)
			}
			w.move()
			w.ok(strings.Replace(pod, c.old, c.new, 1))
			w.want("FROM t", c.want)
			w.written("")
			os.RemoveAll(filepath.Join(w.dir, "store"))
			if err := os.Rename(kept, filepath.Join(w.dir, "store")); err != nil {
				t.Fatal(err)
			}
		})
	}
	w.t = t
}

// snapshotTypes are a value of each type, with the type that a snapshot must keep.
var snapshotTypes = []string{
	"-1::TINYINT", "255::UTINYINT", "-1::SMALLINT", "1::USMALLINT", "1::INTEGER", "1::UINTEGER", "18446744073709551615::UBIGINT", "(-9223372036854775808)::BIGINT",
	"170141183460469231731687303715884105727::HUGEINT", "340282366920938463463374607431768211455::UHUGEINT", "'NaN'::FLOAT", "'-inf'::DOUBLE",
	"1.25::DECIMAL(5,2)", "12345678901234567890123456789012345.678::DECIMAL(38,3)", "true", "'it''s ü'", "''", "'\\x00\\xFF'::BLOB", "'101'::BIT",
	"gen_random_uuid()",
	"'infinity'::DATE", "'0044-03-15 (BC)'::DATE", "TIME '24:00:00'", "'01:02:03.123456789'::TIME_NS", "'01:02:03.123456+02'::TIMETZ",
	"'-infinity'::TIMESTAMP", "TIMESTAMP '2020-01-01 01:02:03.123456'", "TIMESTAMP_S '2020-01-01 01:02:03'", "TIMESTAMP_MS '2020-01-01 01:02:03.123'",
	"TIMESTAMP_NS '2020-01-01 01:02:03.123456789'", "TIMESTAMPTZ '2020-01-01 01:02:03.123456+02'", "INTERVAL '-1 month 2 days -3.123456 seconds'",
	"'b''s'::ENUM('a', 'b''s')", "['a', NULL, 'b']", "[]::INTEGER[]", "[1, 2]::INTEGER[2]", "[[1], NULL]", "{'a': 1, 'B c': {'d': ['x']}}",
	"MAP {'k': [1.5], 'l': NULL}",
	"[TIMESTAMP_S '2020-01-01 01:02:03']", "{'e': 'a'::ENUM('a')}", "'{\"a\": 1}'::JSON", "NULL::DECIMAL(9,1)",
}

func TestSnapshotTypes(t *testing.T) {
	w := newWorld(t)
	list := make([]string, len(snapshotTypes))
	for i, expr := range snapshotTypes {
		list[i] = fmt.Sprintf("%s AS c%d", expr, i)
	}
	source := filepath.Join(w.dir, "x.db")
	w.exec("ATTACH '" + source + "' AS x")
	w.exec("CREATE TABLE x.main.d AS SELECT " + strings.Join(list, ", "))
	w.exec("CREATE TABLE x.main.u AS SELECT union_value(a := 1) AS c, {'a': 1::HUGEINT} AS d")
	w.exec("DETACH x")
	pod := `snapshots: {location: store}
datasets:
- {name: t, from: 'duckdb:d', params: {duckdb_open: x.db}, acceleration: {snapshots: enabled}}
- {name: s, from: 'duckdb:d', params: {duckdb_open: x.db}}
`
	w.ok(pod)
	w.written("")
	w.move()
	w.ok(pod)
	w.written("")
	if !strings.Contains(w.log.String(), "loaded a snapshot") {
		t.Fatal(w.log)
	}
	for i, expr := range snapshotTypes {
		c := fmt.Sprintf("c%d", i)
		want, err := w.read("SELECT typeof(" + c + "), " + c + " FROM s")
		if err != nil {
			t.Errorf("%s: %v", expr, err)
			continue
		}
		w.want("SELECT typeof("+c+"), "+c+" FROM t", want)
	}

	w.ok("snapshots: {location: store}\ndatasets: [{name: u, from: 'duckdb:u', params: {duckdb_open: x.db}, acceleration: {snapshots: enabled}}]\n")
	w.written("")
	if got := w.status("u").Error; !strings.HasPrefix(got,
		`the snapshot could not be written: column "c" is UNION(a INTEGER), and a Parquet file cannot represent all of its values; cast it in refresh_sql`) {
		t.Errorf("got %s", got)
	}
	w.want("SELECT count(*) FROM u", "1")
}

// TestSnapshotsNames has names that are no names of folders.
func TestSnapshotsNames(t *testing.T) {
	w := newWorld(t)
	w.file("x.csv", "id\n1\n")
	var list []string
	for _, name := range []string{"plain", "s.plain", `"s.plain"`, `".."`, `"a/b"`, `"A b"`, strings.Repeat("x", 250)} {
		list = append(list, "- {name: '"+name+"', from: 'file:x.csv', acceleration: {snapshots: enabled}}\n")
	}
	w.ok("snapshots: {location: store/}\ndatasets:\n" + strings.Join(list, ""))
	w.written("")
	names := w.written(filepath.Join(w.dir, "store/test"))
	if len(names) != len(list) || !slices.Contains(names, "plain") {
		t.Errorf("got %q", names)
	}
	for _, name := range names {
		if len(name) > 100 {
			t.Errorf("%s is long", name)
		}
	}
}

// TestSnapshotFaults declares what cannot be.
func TestSnapshotFaults(t *testing.T) {
	w := newWorld(t)
	w.file("x.csv", "id\n1\n")
	t.Setenv("S3_SECRET", "hunter2")
	pod := func(section, acceleration string) string {
		return section + "\ndatasets: [{name: t, from: 'file:x.csv', acceleration: {" + acceleration + "}}]\n"
	}
	s3 := func(location, params string) string {
		return pod("snapshots: {location: '"+location+"', params: {"+params+"}}", "snapshots: enabled")
	}
	for _, c := range []struct{ name, pod, path, message, hint string }{
		{
			"no location", pod("", "snapshots: enabled"), "datasets[0].acceleration.snapshots", "the Spicepod has no location for snapshots",
			"snapshots: { location: … }",
		},
		{
			"file_create", pod("snapshots: {location: s}", "snapshots: enabled, mode: file_create"), "datasets[0].acceleration.snapshots",
			"mode file_create loads the source at each start", "snapshots: create_only, or mode: file",
		},
		{
			"always", pod("snapshots: {location: s}", "snapshots: bootstrap_only, refresh_on_startup: always"), "datasets[0].acceleration.snapshots",
			"refresh_on_startup always loads the source", "create_only",
		},
		{
			"view", "snapshots: {location: s}\ndatasets: [{name: t, from: 'file:x.csv'}]\nviews: [{name: v, sql: SELECT 1 AS a, acceleration: {snapshots: enabled}}]\n",
			"views[0].acceleration.snapshots", "a view has no snapshots", "leave it out",
		},
		{"scheme", s3("ftp://bucket/x/", ""), "snapshots.location", `snapshots cannot be stored at "ftp://bucket/x/"`, "write s3://bucket/folder/"},
		{"bucket of gs", s3("gs://b/x", ""), "snapshots.location", "does not name a bucket", "write gs://bucket/folder/"},
		{"param of gs", s3("gs://bucket/x/", "s3_key: x"), "snapshots.params.s3_key", `unknown param "s3_key" of snapshots in a bucket`, "gcs_key"},
		{"container", s3("abfs://B@account/x/", "abfs_skip_signature: true"), "snapshots.location", "is not the name of a container", "abfs://container"},
		{
			"dots in a container", s3("abfss://lake@account/x/../y", "abfs_skip_signature: true"), "snapshots.location",
			"must not have a part that is empty, . or ..", "",
		},
		{"account without a key", s3("abfss://lake@account/x", ""), "snapshots.params", "the way to authenticate is missing", "params.abfs_access_key"},
		{
			"param of a container", s3("abfs://lake@account/x/", "gcs_key: x"), "snapshots.params.gcs_key", `unknown param "gcs_key" of snapshots in a container`,
			"abfs_access_key",
		},
		{"bucket", s3("s3://b/x", ""), "snapshots.location", "does not name a bucket", "write s3://bucket/folder/"},
		{"dots", s3("s3://bucket/x/../y", ""), "snapshots.location", "must not have a part that is empty, . or ..", ""},
		{"empty", pod("snapshots: {enabled: true}", "snapshots: enabled"), "snapshots", "the section has no location", "or set enabled: false"},
		{"empty file://", s3("file://", ""), "snapshots.location", "the location is empty", ""},
		{"param", s3("s3://bucket/x/", "s3_scret: x"), "snapshots.params.s3_scret", `unknown param "s3_scret" of snapshots in a bucket`, `"s3_secret"`},
		{
			"param of a folder", s3("store", "s3_key: x"), "snapshots.params.s3_key", "of snapshots in a folder",
			"leave it out: params are those of s3://, gs:// and abfs://",
		},
		{"half a key", s3("s3://bucket/x/", "s3_secret: '${secrets:S3_SECRET}'"), "snapshots.params", "a key has two parts", "params.s3_key"},
		{"clear", s3("s3://bucket/x/", "s3_endpoint: 'http://minio.example.com'"), "snapshots.params.s3_endpoint", "sends keys and data in the clear", "allow_http"},
		{"reference", s3("s3://bucket/x/", "s3_key: '${secrets:NOT_SET_HERE}', s3_secret: x"), "snapshots.params.s3_key", "NOT_SET_HERE", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			problems := w.reload(c.pod)
			if len(problems) != 1 || problems[0].Path != c.path || !strings.Contains(problems[0].Message, c.message) || !strings.Contains(problems[0].Hint, c.hint) {
				t.Errorf("got %v at %v\nwant %s at %s; %s", problems, problems[0].Path, c.message, c.path, c.hint)
			}
			if strings.Contains(problems.Error(), "hunter2") {
				t.Errorf("a secret is shown: %v", problems)
			}
			if strings.HasPrefix(c.path, "snapshots") {
				w.want("FROM t", "1")
			}
		})
	}
	w.t = t
}

// TestSnapshotsInFolders cannot write, or must not read, a folder.
func TestSnapshotsInFolders(t *testing.T) {
	w := newWorld(t)
	w.file("x.csv", "id\n1\n")
	w.file("occupied", "")
	pod := "snapshots: {location: occupied}\ndatasets: [{name: t, from: 'file:x.csv', acceleration: {snapshots: enabled}}]\n"
	w.ok(pod)
	w.written("")
	if got := w.status("t").Error; got != "the snapshot could not be written: cannot write to the folder: not a directory" {
		t.Errorf("got %s", got)
	}
	w.want("SELECT error IS NOT NULL, last_snapshot FROM spiced.datasets", "true|NULL")
	w.want("FROM t", "1")
	os.Remove(filepath.Join(w.dir, "occupied"))
	if err := w.m.Refreshes().Refresh(t.Context(), "t", refresh.Override{}); err != nil {
		t.Fatal(err)
	}
	w.m.Refreshes().Wait()
	if names := w.written(filepath.Join(w.dir, "occupied/test/t")); len(names) != 2 {
		t.Errorf("got %q", names)
	}
	if got := w.status("t").Error; got != "" {
		t.Errorf("got %s", got)
	}
	w.want("SELECT error, last_snapshot IS NOT NULL FROM spiced.datasets", "NULL|true")

	// A link that leads out of the folder is not followed.
	outside := t.TempDir()
	if err := os.Rename(filepath.Join(w.dir, "occupied/test/t"), filepath.Join(outside, "t")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "t"), filepath.Join(w.dir, "occupied/test/t")); err != nil {
		t.Fatal(err)
	}
	w.file("x.csv", "id\n2\n")
	w.move()
	w.ok(pod)
	w.want("FROM t", "2")
	w.written("")
	if log := w.log.String(); !strings.Contains(log, "cannot write a snapshot") {
		t.Error(log)
	}
}

func TestSnapshotsInS3(t *testing.T) {
	w := newWorld(t, exttest.Find(t, "httpfs"))
	s := s3test.Start(t)
	s.Bucket("lake")
	t.Setenv("S3_SECRET", s.Secret)
	t.Setenv("TOKEN", "hunter2-token")
	site := newSite(t, serve("id,name\n1,a\n2,b\n"))
	pod := func(on string, others ...string) string {
		return "snapshots: {location: 's3://lake/snap', bootstrap_on_failure_behavior: " + on + ", " + s3Params(s, others...) + "}\n" +
			"datasets: [{name: t, from: '" + strings.Replace(site.URL, "http://", "http://user:hunter2@", 1) +
			"/x.csv', params: {http_headers: 'Authorization: ${secrets:TOKEN}'}, acceleration: {mode: file, snapshots: enabled}}]\n"
	}
	w.ok(pod("warn"))
	w.m.snapshots.Wait()
	keys := s.Keys("lake")
	if len(keys) != 2 || !strings.HasPrefix(keys[0], "snap/test/t/") {
		t.Fatalf("got %q\n%s", keys, w.log)
	}
	for _, key := range keys {
		for _, secret := range []string{"hunter2", s.Secret, s.Key, w.dir, w.state} {
			if strings.Contains(s.Get("lake", key), secret) {
				t.Errorf("%s has %q", key, secret)
			}
		}
	}
	requests := site.requests.Load()
	w.move()
	w.ok(pod("warn"))
	w.want("FROM t ORDER BY id", "1|a, 2|b")
	if got := site.requests.Load(); got != requests {
		t.Errorf("the source got %d requests", got-requests)
	}

	// Without a key in the Spicepod, that of the machine is used.
	t.Setenv("AWS_ACCESS_KEY_ID", s.Key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s.Secret)
	w.move()
	w.ok(pod("warn", "s3_key", "", "s3_secret", ""))
	if got := site.requests.Load(); got != requests {
		t.Errorf("the source got %d requests: %s", got-requests, w.log)
	}
	w.move()
	w.ok(pod("warn"))

	// The store is down while a snapshot is written.
	s.Stop()
	site.set(serve("id,name\n1,a\n2,b\n3,c\n"))
	if err := w.m.Refreshes().Refresh(t.Context(), "t", refresh.Override{}); err != nil {
		t.Fatal(err)
	}
	w.m.Refreshes().Wait()
	w.m.snapshots.Wait()
	w.want("SELECT count(*) FROM t", "3")
	const down = "cannot connect to the object store "
	if got := w.status("t").Error; !strings.HasPrefix(got, "the snapshot could not be written: "+down) ||
		!strings.Contains(got, "connection refused; start it, or correct snapshots.params.s3_endpoint") {
		t.Errorf("got %s", got)
	}

	// It is down at a start.
	w.move()
	w.ok(pod("warn"))
	w.want("SELECT count(*) FROM t", "3")
	w.move()
	w.ok(pod("fallback"))
	w.want("SELECT count(*) FROM t", "3")
	w.move()
	requests = site.requests.Load()
	problems := w.reload(pod("retry"))
	if len(problems) != 1 || !strings.Contains(problems[0].Message, "the newest snapshot cannot be loaded: "+down) || site.requests.Load() != requests {
		t.Errorf("got %v", problems)
	}
	if got := w.status("t").State; got != Failed {
		t.Errorf("got state %s", got)
	}
	if log := w.log.String(); strings.Contains(log, "hunter2") || strings.Contains(log, s.Secret) {
		t.Errorf("the log has a secret: %s", log)
	}
}

// TestSnapshotsInOtherStores has the API of S3 in place of Google Cloud Storage, and Azurite
// in place of Azure.
func TestSnapshotsInOtherStores(t *testing.T) {
	for _, scheme := range []string{"gs", "abfss"} {
		t.Run(scheme, func(t *testing.T) {
			w, site := newWorld(t), newSite(t, serve("id,name\n1,a\n2,b\n"))
			var place string
			if scheme == "gs" {
				s := s3test.Start(t)
				s.Bucket("lake")
				t.Setenv("GCS_SECRET", s.Secret)
				place = "'gs://lake/snap/', " + gcsParams(s)
			} else {
				s := azuretest.Start(t)
				s.Container("lake")
				t.Setenv("AZURE_KEY", azuretest.Key)
				place = "'abfss://lake@lakehouse/snap', " + azureParams(s)
			}
			pod := "snapshots: {location: " + place + "}\ndatasets: [{name: t, from: '" + site.URL + "/x.csv', acceleration: {mode: file, snapshots: enabled}}]\n"
			w.ok(pod)
			w.m.snapshots.Wait()
			if w.status("t").Error != "" {
				t.Fatal(w.status("t").Error)
			}
			site.set(serve("id,name\n3,c\n"))
			w.move()
			w.ok(pod)
			w.want("FROM t ORDER BY id", "1|a, 2|b")
			if n := site.requests.Load(); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// TestSnapshotsInPlace checks a Spicepod, which must not read or write its snapshots.
func TestSnapshotsInPlace(t *testing.T) {
	w := newWorld(t)
	w.file("x.csv", "id\n1\n")
	pod := snapshotOf("file:x.csv", "", "")
	w.ok(pod)
	before := w.written(filepath.Join(w.dir, folderOfT))
	w.file("x.csv", "id\n2\n")
	w.move(func(o *Options) { o.InPlace = true })
	w.ok(pod)
	w.want("FROM t", "2")
	if names := w.written(filepath.Join(w.dir, folderOfT)); len(before) != 2 || !slices.Equal(names, before) {
		t.Errorf("got %q, before %q", names, before)
	}
	if log := w.log.String(); strings.Contains(log, "snapshot") {
		t.Error(log)
	}
}
