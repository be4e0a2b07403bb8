package datasets

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/full"
)

// refreshed refreshes a dataset without an error.
func (w *world) refreshed(name string) {
	w.t.Helper()
	if err := w.refresh(name, refresh.Override{}); err != nil {
		w.t.Fatal(err)
	}
	w.drain()
}

// modes runs a test with copies in memory and in files.
func modes(t *testing.T, test func(t *testing.T, w *world, mode string)) {
	for _, mode := range []string{"memory", "file"} {
		t.Run(mode, func(t *testing.T) { test(t, newWorld(t), "mode: "+mode) })
	}
}

// TestDataWindow: now is 2026-01-02 03:04:05.
func TestDataWindow(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct{ format, columns, rows, window, want string }{
		{"timestamp", "", "2026-01-02 02:00:00,1\n2026-01-02 02:10:00,2\n,3\n", "1h", "2"},
		{"", "", "2026-01-02 02:00:00,1\n2026-01-02 02:10:00,2\n", "1h", "2"},
		{"timestamptz", "columns: [{name: at, type: timestamptz}]", "2026-01-02 05:00:00+03,1\n2026-01-02 05:10:00+03,2\n", "1h", "2"},
		{"unix_seconds", "", "1767319200,1\n1767319800,2\n", "1h", "2"},
		{"", "", "1767319200,1\n1767319800,2\n", "1h", "2"},
		{"unix_millis", "", "1767319200000,1\n1767319800000,2\n", "1h", "2"},
		{"ISO8601", "columns: [{name: at, type: utf8}]", "2026-01-02T05:00:00+03:00,1\n2026-01-02T02:10:00Z,2\n2026-01-02T03:00:00,3\n", "1h", "2, 3"},
		{"date", "", "2025-12-31,1\n2026-01-01,2\n2026-01-02,3\n", "24h", "2, 3"},
	} {
		t.Run(c.format+c.columns, func(t *testing.T) {
			w.t = t
			w.file("a.csv", "at,v\n"+c.rows)
			format := ""
			if c.format != "" {
				format = ", time_format: " + c.format
			}
			columns := ""
			if c.columns != "" {
				columns = ", " + c.columns
			}
			w.ok("datasets: [{name: t, from: 'file:a.csv', time_column: at" + format + columns + ", acceleration: {refresh_data_window: " + c.window + "}}]\n")
			w.want("SELECT v FROM t ORDER BY v", c.want)
		})
	}
}

// TestDataWindowIsBeforeRefreshSQL: the window is one of the source, whose time need not
// be among the rows.
func TestDataWindowIsBeforeRefreshSQL(t *testing.T) {
	w := newWorld(t)
	w.file("a.csv", "at,v\n2026-01-01,1\n2026-01-02,2\n2026-01-02,3\n")
	w.ok("datasets: [{name: t, from: 'file:a.csv', time_column: at, acceleration: {refresh_data_window: 1h, refresh_sql: SELECT sum(v) AS s FROM t}}]\n")
	w.want("SELECT s FROM t", "5")
	w.ok("datasets: [{name: t, from: 'file:a.csv', time_column: at, acceleration: {refresh_data_window: 27h5m, refresh_sql: SELECT sum(v) AS s FROM t}}]\n")
	w.want("SELECT s FROM t", "6")
}

func TestAppendOverlap(t *testing.T) {
	modes(t, func(t *testing.T, w *world, mode string) {
		w.file("a.csv", "at,v\n2026-01-01 00:00:00,1\n2026-01-01 01:00:00,2\n2026-01-01 02:00:00,3\n")
		w.ok("datasets: [{name: t, from: 'file:a.csv', time_column: at, acceleration: {" + mode + ", refresh_mode: append, refresh_append_overlap: 1h}}]\n")
		// A row that came late is read, one that changed replaces the old one, and one that
		// is gone from the overlap is gone. Older rows stay.
		w.file("a.csv", "at,v\n2026-01-01 00:00:00,100\n2026-01-01 01:30:00,15\n2026-01-01 02:00:00,30\n2026-01-01 03:00:00,4\n")
		for range 2 {
			w.refreshed("t")
			w.want("SELECT v FROM t ORDER BY \"at\"", "1, 15, 30, 4")
		}
		w.want("SELECT rows FROM spiced.datasets", "4")
	})
}

// TestAppendBesideInfiniteTimes: rows whose time no other follows are no border. They are
// read again, and neither doubled nor lost.
func TestAppendBesideInfiniteTimes(t *testing.T) {
	modes(t, func(t *testing.T, w *world, mode string) {
		for i, c := range []struct {
			typ    string
			times  [3]string
			beyond string
		}{
			{"timestamp", [3]string{"2026-01-01 00:00:00", "2026-01-01 00:00:01", "2026-01-01 00:00:02"}, "infinity"},
			{"timestamptz", [3]string{"2026-01-01 00:00:00+00", "2026-01-01 00:00:01+00", "2026-01-01 00:00:02+00"}, "infinity"},
			{"date", [3]string{"2026-01-01", "2026-01-02", "2026-01-03"}, "infinity"},
			{"utf8", [3]string{"2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"}, "infinity"},
			{"float64", [3]string{"1000", "1001", "1002"}, "inf"},
			{"float32", [3]string{"1000", "1001", "1002"}, "nan"},
			{"timestamp", [3]string{"-infinity", "2026-01-01 00:00:01", "2026-01-01 00:00:02"}, "infinity"},
		} {
			for j, keys := range []string{
				"", ", refresh_append_overlap: 1s", ", indexes: {id: unique}, on_conflict: {id: upsert}",
				", indexes: {id: unique}, on_conflict: {id: drop}",
			} {
				if !full.Test() && i%4 != j { // each type, and each key
					continue
				}
				w.file("a.csv", fmt.Sprintf("at,v,id\n%s,1,1\n%s,0,\n", c.times[0], c.beyond))
				w.ok("")
				w.ok("datasets: [{name: t, from: 'file:a.csv', time_column: at, columns: [{name: at, type: " + c.typ + "}], acceleration: {" + mode +
					", refresh_mode: append" + keys + "}}]\n")
				w.file("a.csv", fmt.Sprintf("at,v,id\n%s,1,1\n%s,0,\n%s,2,2\n", c.times[0], c.beyond, c.times[1]))
				w.refreshed("t")
				w.want("SELECT v FROM t ORDER BY v", "0, 1, 2")
				w.file("a.csv", fmt.Sprintf("at,v,id\n%s,1,1\n%s,0,\n%s,2,2\n%s,3,3\n", c.times[0], c.beyond, c.times[1], c.times[2]))
				for range 2 {
					w.refreshed("t")
					w.want("SELECT v FROM t ORDER BY v", "0, 1, 2, 3")
				}
			}
		}
	})
}

// TestAppendOfDates: more rows of the newest day may come, so that it is read again.
func TestAppendOfDates(t *testing.T) {
	modes(t, func(t *testing.T, w *world, mode string) {
		for _, format := range []string{"", "time_format: date, ", "columns: [{name: at, type: utf8}], time_format: date, "} {
			for keys, want := range map[string]string{
				"": "1|1, 2|20, 3|3, 4|4", ", primary_key: id, on_conflict: {id: upsert}": "1|1, 2|20, 3|3, 4|4",
				", primary_key: id, on_conflict: {id: drop}": "1|1, 2|2, 3|3, 4|4",
				", primary_key: id":                          "1|1, 2|20, 3|3, 4|4",
			} {
				w.file("a.csv", "at,id,v\n2026-01-01,1,1\n2026-01-02,2,2\n")
				w.ok("")
				w.ok("datasets: [{name: t, from: 'file:a.csv', time_column: at, " + format + "acceleration: {" + mode + ", refresh_mode: append" + keys + "}}]\n")
				w.file("a.csv", "at,id,v\n2026-01-01,1,10\n2026-01-02,2,20\n2026-01-02,3,3\n2026-01-03,4,4\n")
				for range 2 {
					w.refreshed("t")
					w.want("SELECT id, v FROM t ORDER BY id", want)
				}
			}
		}
	})
}

// TestAppendWithoutTimes: an append to rows that all have no time reads all again.
func TestAppendWithoutTimes(t *testing.T) {
	modes(t, func(t *testing.T, w *world, mode string) {
		w.file("a.csv", "at,v\n,1\n")
		w.ok("datasets: [{name: t, from: 'file:a.csv', time_column: at, columns: [{name: at, type: timestamp}], acceleration: {" + mode +
			", refresh_mode: append}}]\n")
		w.refreshed("t")
		w.want("SELECT v FROM t", "1")
		w.file("a.csv", "at,v\n,1\n2026-01-01 00:00:00,2\n")
		for range 2 {
			w.refreshed("t")
			w.want("SELECT v FROM t ORDER BY v", "1, 2")
		}
	})
}

func TestAppendOverlapOfOtherTimes(t *testing.T) {
	for _, c := range []struct{ format, columns, at [3]string }{
		{[3]string{"unix_seconds"}, [3]string{}, [3]string{"1000", "4000", "5000"}},
		{[3]string{"unix_millis"}, [3]string{}, [3]string{"1000000", "4000000", "5000000"}},
		{
			[3]string{"ISO8601"},
			[3]string{", columns: [{name: at, type: utf8}]"},
			[3]string{"2026-01-01T00:00:00Z", "2026-01-01T03:40:00+02:00", "2026-01-01T03:00:00+01:00"},
		},
		{[3]string{"date"}, [3]string{}, [3]string{"2026-01-01", "2026-01-03", "2026-01-03"}},
	} {
		t.Run(c.format[0], func(t *testing.T) {
			w := newWorld(t)
			w.file("a.csv", fmt.Sprintf("at,v\n%s,1\n%s,2\n", c.at[0], c.at[1]))
			w.ok("datasets: [{name: t, from: 'file:a.csv', time_column: at, time_format: " + c.format[0] + c.columns[0] +
				", acceleration: {refresh_mode: append, refresh_append_overlap: 30m}}]\n")
			w.file("a.csv", fmt.Sprintf("at,v\n%s,10\n%s,20\n%s,3\n", c.at[0], c.at[1], c.at[2]))
			w.refreshed("t")
			w.want("SELECT v FROM t ORDER BY v", "1, 3, 20")
		})
	}
}

func TestOnConflictOfLoads(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct{ name, rows, acceleration, want, message, hint string }{
		{"drop", "1,a\n2,b\n1,c\n", "primary_key: id, on_conflict: {id: drop}", "1|a, 2|b", "", ""},
		{"upsert", "1,a\n2,b\n1,c\n", "primary_key: id, on_conflict: {ID: upsert}", "1|c, 2|b", "", ""},
		{"upsert_dedup_by_row_id", "1,a\n2,b\n1,c\n", "primary_key: id, on_conflict: {id: upsert_dedup_by_row_id}", "1|c, 2|b", "", ""},
		{"upsert_dedup", "1,a\n2,b\n1,a\n,\n,\n", "indexes: {id: unique}, on_conflict: {id: upsert_dedup}", "1|a, 2|b, NULL|NULL, NULL|NULL", "", ""},
		{"two columns", "1,a\n1,b\n1,a\n", "primary_key: '(id, v)', on_conflict: {'(ID, v)': drop}", "1|a, 1|b", "", ""},
		{"a unique index", "1,a\n2,b\n1,c\n,d\n,e\n", "indexes: {id: unique}, on_conflict: {id: drop}", "1|a, 2|b, NULL|d, NULL|e", "", ""},
		{"different rows", "1,a\n2,b\n1,c\n", "primary_key: id, on_conflict: {id: upsert_dedup}", "", "different rows have the same (id): 1", "write upsert"},
		{"none", "1,a\n2,b\n1,c\n", "primary_key: id", "", "rows have a duplicate key (id)", `set acceleration.on_conflict: {"id": upsert}`},
		{"none for an index", "1,a\n1,a\n", "indexes: {'(id, v)': unique}", "", "rows have a duplicate key (id, v)", "on_conflict"},
		{"null", "1,a\n,b\n", "primary_key: id, on_conflict: {id: upsert}", "", "rows have no value for the key (id)", "refresh_sql"},
		{"no key", "1,a\n", "on_conflict: {id: upsert}", "", `on_conflict is on "id", which is neither`, `primary_key: "id"`},
		{"an index", "1,a\n", "indexes: {id: enabled}, on_conflict: {id: upsert}", "", "is neither", "unique"},
		{"an action", "1,a\n", "primary_key: id, on_conflict: {id: upset}", "", `on_conflict of "id" is "upset"`, `did you mean "upsert"`},
		{"two keys", "1,a\n", "primary_key: id, indexes: {v: unique}, on_conflict: {id: drop, v: drop}", "", "on_conflict has 2 keys", "name one key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			w.file("a.csv", "id,v\n"+c.rows)
			problems := w.reload("datasets: [{name: t, from: 'file:a.csv', acceleration: {" + c.acceleration + "}}]\n")
			if c.message == "" {
				if problems.HasErrors() {
					t.Fatal(problems)
				}
				w.want("SELECT id, v FROM t ORDER BY id NULLS LAST, v", c.want)
				return
			}
			if len(problems) != 1 || !strings.Contains(problems[0].Message, c.message) || !strings.Contains(problems[0].Hint, c.hint) ||
				!strings.HasPrefix(problems[0].Path, "datasets[0].acceleration.") {
				t.Errorf("got %v", problems)
			}
		})
	}
}

func TestOnConflictOfAppends(t *testing.T) {
	modes(t, func(t *testing.T, w *world, mode string) {
		for _, c := range []struct{ action, want string }{
			{"upsert", "1|new, 2|two, 3|last"},
			{"drop", "1|one, 2|two, 3|three"},
			{"upsert_dedup_by_row_id", "1|new, 2|two, 3|last"},
		} {
			w.file("a.csv", "at,id,v\n1,1,one\n2,2,two\n")
			w.ok("datasets: [{name: t, from: 'file:a.csv', time_column: at, acceleration: {" + mode +
				", refresh_mode: append, primary_key: id, indexes: {v: enabled}, on_conflict: {id: " + c.action + "}}}]\n")
			w.file("a.csv", "at,id,v\n3,1,new\n4,3,three\n5,3,last\n")
			for range 2 {
				w.refreshed("t")
				w.want("SELECT id, v FROM t ORDER BY id", c.want)
			}
			w.want("SELECT v FROM t WHERE id = 1", strings.TrimPrefix(c.want[:strings.Index(c.want, ",")], "1|")) // by the index
		}
		// Without a conflict, rows are added where they are.
		before := w.m.live["public.t"].Current().Query
		w.file("a.csv", "at,id,v\n9,9,nine\n")
		w.refreshed("t")
		if same := w.m.live["public.t"].Current().Query == before; same != (mode == "mode: memory") {
			t.Errorf("the rows are in the same database: %t", same)
		}
		w.want("SELECT count(*), max(v) FILTER (id = 9) FROM t", "4|nine")
	})
}

// TestOverlapAndUpsert: rows of the overlap that the source no longer has stay if
// on_conflict goes by keys.
func TestOverlapAndUpsert(t *testing.T) {
	modes(t, func(t *testing.T, w *world, mode string) {
		w.file("a.csv", "at,id,v\n1000,1,a\n2000,2,b\n3000,3,c\n")
		w.ok("datasets: [{name: t, from: 'file:a.csv', time_column: at, acceleration: {" + mode +
			", refresh_mode: append, refresh_append_overlap: 20m, primary_key: id, on_conflict: {id: upsert}}}]\n")
		w.file("a.csv", "at,id,v\n2500,1,moved\n2600,4,late\n500,5,older\n")
		w.refreshed("t")
		w.want("SELECT id, v FROM t ORDER BY id", "1|moved, 2|b, 3|c, 4|late")
	})
}

const retained = "datasets: [{name: t, from: 'file:a.csv', time_column: at, acceleration: {%s, retention_check_enabled: true, " +
	"retention_check_interval: 1m, %s}}]\n"

func TestRetention(t *testing.T) {
	modes(t, func(t *testing.T, w *world, mode string) {
		for _, c := range []struct{ keys, first, later string }{
			// A load leaves old rows out, and a check those that have become old.
			{"retention_period: 1h", "2|b, 3|c, 4|d", "3|c, 4|d"},
			{"retention_sql: \"DELETE FROM t WHERE v = 'c';\"", "1|a, 2|b, 3|c, 4|d", "1|a, 2|b, 4|d"},
			{"retention_period: 1h, retention_sql: DELETE FROM public.t AS x WHERE x.id = (SELECT max(id) FROM t) AND x.id = 4", "2|b, 3|c, 4|d", "3|c"},
			{"retention_sql: DELETE FROM t WHERE v = 'zzz'", "1|a, 2|b, 3|c, 4|d", "1|a, 2|b, 3|c, 4|d"},
		} {
			w.clock.set(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
			w.file("a.csv", "at,id,v\n2026-01-02 02:00:00,1,a\n2026-01-02 02:10:00,2,b\n2026-01-02 03:00:00,3,c\n2026-01-02 03:00:00,4,d\n")
			w.ok("")
			w.ok(fmt.Sprintf(retained, mode+", primary_key: id", c.keys))
			w.want("SELECT id, v FROM t ORDER BY id", c.first)
			loaded := w.status("t").Refreshed
			version := w.m.live["public.t"].Version()
			w.clock.set(w.clock.Now().Add(10 * time.Minute))
			for range 2 {
				w.checkRetention()
				w.want("SELECT id, v FROM t ORDER BY id", c.later)
			}
			w.want("SELECT rows, error FROM spiced.datasets", fmt.Sprint(strings.Count(c.later, "|"))+"|NULL")
			if s := w.status("t"); !s.Refreshed.Equal(loaded) || s.Error != "" || s.Format != "csv" {
				t.Errorf("after a check: %+v", s)
			}
			if w.m.live["public.t"].Version() == version && c.first != c.later {
				t.Error("the rows have the same version")
			}
			w.drain()
			if n := dataFiles(t, w); mode == "mode: file" && n != 1 || mode != "mode: file" && n != 0 {
				t.Errorf("%d files of data are left", n)
			}
		}
	})
}

// TestRetentionKeepsUntimedRows: unless refresh_data_window leaves them out. Without
// retention_check_enabled, retention_period has no effect.
func TestRetentionKeepsUntimedRows(t *testing.T) {
	modes(t, func(t *testing.T, w *world, mode string) {
		for _, c := range []struct{ columns, keys, want string }{
			{"", "retention_period: 1h, retention_check_enabled: true, retention_check_interval: 10m", "1, 2"},
			{"columns: [{name: at, type: utf8}], ", "retention_period: 1h, retention_check_enabled: true, retention_check_interval: 10m", "1, 2"},
			{"", "retention_period: 1h, retention_check_enabled: true, retention_check_interval: 10m, refresh_mode: append", "1, 2"},
			{"", "retention_period: 1h, retention_check_enabled: true, retention_check_interval: 10m, refresh_sql: SELECT * FROM t WHERE id < 2", "1"},
			{"", "retention_period: 1h, retention_check_enabled: true, retention_check_interval: 10m, refresh_data_window: 24h", "2"},
			{"", "retention_period: 1h", "1, 2, 3"},
		} {
			w.file("a.csv", "id,at\n1,\n2,2099-01-01 00:00:00\n3,2020-01-01 00:00:00\n")
			w.ok("")
			w.ok("datasets: [{name: t, from: 'file:a.csv', time_column: at, " + c.columns + "acceleration: {" + mode + ", " + c.keys + "}}]\n")
			w.want("SELECT id FROM t ORDER BY id", c.want)
			w.refreshed("t")
			w.want("SELECT id FROM t ORDER BY id", c.want)
		}
	})
}

// checkRetention runs the check that the schedule would.
func (w *world) checkRetention() {
	w.t.Helper()
	w.m.Refreshes().Prune([]engine.Relation{{Schema: "public", Name: "t"}})
	w.m.Refreshes().Wait()
}

// TestRetentionOfReaders: a statement reads the rows that it began with.
func TestRetentionOfReaders(t *testing.T) {
	modes(t, func(t *testing.T, w *world, mode string) {
		w.file("a.csv", "at,id\n"+strings.Repeat("2026-01-02,1\n", 100_000)+"2026-01-02,2\n")
		w.ok(fmt.Sprintf(retained, mode, "retention_sql: DELETE FROM t WHERE id = 1"))
		rows, err := w.db.Query(t.Context(), engine.Request{SQL: "SELECT id FROM t"})
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		w.checkRetention()
		w.want("SELECT count(*) FROM t", "1")
		n := 0
		for c, err := range rows.Chunks() {
			if err != nil {
				t.Fatal(err)
			}
			n += c.Len()
		}
		if n != 100_001 {
			t.Errorf("a statement that began before read %d rows", n)
		}
	})
}

func TestRetentionSurvivesRestart(t *testing.T) {
	w := newWorld(t)
	w.file("a.csv", "at,id\n2026-01-02,1\n2026-01-02,2\n")
	pod := fmt.Sprintf(retained, "mode: file", "retention_sql: DELETE FROM t WHERE id = 1")
	w.ok(pod)
	w.checkRetention()
	w.stop()
	w.start()
	w.ok(pod)
	w.want("SELECT id FROM t", "2")
}

func TestRetentionOfViews(t *testing.T) {
	w := newWorld(t)
	w.file("a.csv", "id\n1\n2\n2\n3\n")
	w.ok("datasets: [{name: t0, from: 'file:a.csv'}]\nviews: [{name: t, sql: SELECT id FROM t0, acceleration: {mode: file, primary_key: id, on_conflict: {id: " +
		"drop}, retention_check_enabled: true, retention_check_interval: 1m, retention_sql: DELETE FROM t WHERE id = 1}}]\n")
	w.refreshed("t")
	w.want("SELECT id FROM t ORDER BY id", "1, 2, 3")
	w.checkRetention()
	w.want("SELECT id FROM t ORDER BY id", "2, 3")
}

// TestRetentionFails: an error of a check is shown until one succeeds.
func TestRetentionFails(t *testing.T) {
	w := newWorld(t)
	w.file("a.csv", "at,v\n2026-01-02,x\n")
	w.ok(fmt.Sprintf(retained, "mode: file", "retention_sql: DELETE FROM t WHERE CAST(v AS INTEGER) = 1"))
	w.checkRetention()
	w.want("SELECT error LIKE '%INT32%', rows FROM spiced.datasets", "true|1")
	if s := w.status("t"); s.State != Ready || !strings.Contains(s.Error, "INT32") {
		t.Errorf("%+v", s)
	}
	w.file("a.csv", "at,v\n2026-01-02,1\n2026-01-02,2\n")
	_ = w.refresh("t", refresh.Override{}) // the error of the check stays
	w.checkRetention()
	w.want("SELECT error, rows FROM spiced.datasets", "NULL|1")
	w.want("SELECT v FROM t", "2")
}

func TestAccelerationFaults(t *testing.T) {
	w := newWorld(t)
	w.file("a.csv", "at,id,name\n2026-01-02,1,x\n")
	w.file("b.csv", "id\n1\n")
	const timed = "time_column: at, "
	for _, c := range []struct{ dataset, acceleration, at, message, hint string }{
		{"", "refresh_cron: 5 pm", "refresh_cron", `"5 pm" is not a cron expression`, "0 3 * * *"},
		{"", "refresh_cron: 61 * * * *", "refresh_cron", "is not a cron expression", ""},
		{"", "refresh_cron: '0 0 30 2 *'", "refresh_cron", "names no time", ""},
		{"", "refresh_cron: '@every 5m'", "refresh_cron", "@every is an interval", "refresh_check_interval"},
		{"", "refresh_jitter_enabled: true", "refresh_jitter_enabled", "no schedule", "refresh_cron"},
		{"", "refresh_jitter_enabled: true, refresh_cron: '@daily'", "refresh_jitter_enabled", "no default jitter", "refresh_jitter_max"},
		{"", "refresh_jitter_enabled: true, refresh_check_interval: 1m, refresh_jitter_max: 1m", "refresh_jitter_max", "as long as the interval", "less"},
		{"", "refresh_data_window: 1h", "refresh_data_window", "needs a time_column", "set time_column"},
		{"time_column: when, ", "refresh_data_window: 1h", "", `the rows have no column "when"`, ""},
		{"time_column: name, ", "refresh_data_window: 1h", "", `timestamp`, ""},
		{timed + "time_format: unix_seconds, ", "refresh_data_window: 1h", "", "is not in the format unix_seconds", "leave time_format out"},
		{"time_column: id, time_format: ISO8601, ", "refresh_data_window: 1h", "", "is not in the format ISO8601", "unix_seconds"},
		{timed, "refresh_append_overlap: 1h", "refresh_append_overlap", "reads all rows again", "refresh_mode: append"},
		{"", "retention_check_enabled: true, retention_check_interval: 1m", "retention_check_enabled", "nothing says which rows", "retention_period"},
		{timed, "retention_check_enabled: true, retention_period: 1h", "retention_check_enabled", "how often", "retention_check_interval"},
		{"", "retention_check_enabled: true, retention_check_interval: 1m, retention_period: 1h", "retention_period", "needs a time_column", ""},
		{"", "refresh_sql: 'SELECT id, nme FROM t'", "refresh_sql", "nme", "name"},
		{timed, "refresh_mode: append, refresh_sql: SELECT * FROM t WHERE nope = 1", "refresh_sql", "nope", ""},
		{"", "refresh_sql: SELECT id FROM t WHERE nope = 1, primary_key: id, partition_by: [id]", "refresh_sql", "nope", ""},
		{"", "refresh_sql: SELECT nope(id) FROM t", "refresh_sql", "nope", ""},
		{"", "retention_sql: SELECT 1", "retention_sql", "not one DELETE", "DELETE FROM the dataset"},
		{"", "retention_sql: DELETE FROM t", "retention_sql", "remove all rows", "WHERE"},
		{"", "retention_sql: DELETE FROM t WHERE true RETURNING id", "retention_sql", "RETURNING is refused", ""},
		{"", "retention_sql: DELETE FROM good WHERE true", "retention_sql", `reads "good"`, "it may read t only"},
		{"", "retention_sql: DELETE FROM t WHERE id IN (SELECT id FROM good)", "retention_sql", `reads "good"`, "it may read t only"},
		{"", "retention_sql: \"DELETE FROM t WHERE id IN (SELECT 1 FROM read_csv('/etc/passwd'))\"", "retention_sql", "read_csv", ""},
		{"", "retention_sql: \"DELETE FROM t WHERE true; DELETE FROM t WHERE true\"", "retention_sql", "one statement", ""},
		{"", "retention_sql: DELETE FROM t WHERE nope = 1", "retention_sql", "nope", ""},
		{"", "retention_sql: DELETE FROM t USING t AS u WHERE true", "retention_sql", "USING is refused", ""},
	} {
		t.Run(c.at+" "+c.message, func(t *testing.T) {
			w.t = t
			problems := w.reload("datasets:\n- {name: good, from: 'file:b.csv'}\n- {name: t, from: 'file:a.csv', " + c.dataset + "acceleration: {" +
				c.acceleration + "}}\n")
			path := "datasets[1]." + map[bool]string{true: "acceleration." + c.at}[c.at != ""]
			if len(problems) != 1 || !strings.Contains(problems[0].Message, c.message) || !strings.Contains(problems[0].Hint, c.hint) ||
				!strings.HasPrefix(problems[0].Path, path) || problems[0].Line == 0 {
				t.Errorf("got %v", problems)
			}
			w.want("SELECT count(*) FROM good", "1")
		})
	}
}

// TestPositionOfRetentionSQL: an error is shown where it is in the text.
func TestPositionOfRetentionSQL(t *testing.T) {
	w := newWorld(t)
	w.file("a.csv", "a\n1\n")
	problems := w.reload("datasets:\n- name: t\n  from: file:a.csv\n  acceleration:\n    retention_sql: |\n      DELETE FROM t\n      WHERE " +
		"a = 1 AND\n        a " +
		"IN (SELECT a FROM elsewhere)\n")
	if len(problems) != 1 || problems[0].Line != 11 || problems[0].Column != 29 {
		t.Errorf("got %v", problems)
	}
}

// scheduled runs the schedule and returns a channel of the refreshes that are published,
// and a function that advances the clock once the schedule waits for it.
func (w *world) scheduled() (refreshed chan struct{}, advance func(time.Duration)) {
	w.clock.hold, w.clock.added = true, make(chan time.Duration, 100)
	refreshed = make(chan struct{}, 100)
	publish := w.onPublish
	w.onPublish = func(ctx context.Context, build func(*engine.Tx) error) error {
		err := publish(ctx, build)
		refreshed <- struct{}{}
		return err
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error)
	go func() { ended <- w.m.Refreshes().Run(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
	})
	return refreshed, func(d time.Duration) {
		w.m.Refreshes().Wait()
		w.clock.advance(d)
	}
}

func TestCron(t *testing.T) {
	w := newWorld(t)
	w.file("a.csv", "a\n1\n")
	w.ok(fmt.Sprintf(accelerated, "refresh_cron: '30 4 * * *'")) // it is 03:04:05
	refreshed, advance := w.scheduled()
	wait := <-w.clock.added
	if want := 85*time.Minute + 55*time.Second; wait != want {
		t.Errorf("the first refresh is due in %s, want %s", wait, want)
	}
	w.file("a.csv", "a\n2\n")
	advance(wait)
	<-refreshed
	w.drain()
	w.want("SELECT * FROM t", "2")
	for wait = <-w.clock.added; wait != 24*time.Hour; wait = <-w.clock.added {
	}
}

func TestCronForms(t *testing.T) {
	w := newWorld(t)
	w.file("a.csv", "a\n1\n")
	w.clock.hold, w.clock.added = true, make(chan time.Duration, 100)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- w.m.Refreshes().Run(ctx) }()
	for expression, want := range map[string]time.Duration{
		"*/10 * * * *":                        5*time.Minute + 55*time.Second,
		"10 * * * * *":                        5 * time.Second,
		"@hourly":                             55*time.Minute + 55*time.Second,
		"CRON_TZ=Europe/Berlin 5 4 * * *":     55 * time.Second,
		"0 4 * * FRI":                         55*time.Minute + 55*time.Second,
		"TZ=America/New_York 4,10 22 1 JAN *": 5*time.Minute + 55*time.Second,
	} {
		w.ok(fmt.Sprintf(accelerated, fmt.Sprintf("refresh_cron: %q", expression)))
		for wait := <-w.clock.added; wait != want; wait = <-w.clock.added {
		}
	}
	cancel()
	<-ended
}

// TestJitter: a refresh comes at most the jitter before or after its time.
func TestJitter(t *testing.T) {
	w := newWorld(t)
	w.file("a.csv", "a\n1\n")
	w.clock.hold, w.clock.added = true, make(chan time.Duration, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- w.m.Refreshes().Run(ctx) }()
	for _, c := range []struct {
		keys        string
		least, most time.Duration
	}{
		{"refresh_check_interval: 10m, refresh_jitter_enabled: true", 9 * time.Minute, 11 * time.Minute},
		{"refresh_check_interval: 10m, refresh_jitter_enabled: true, refresh_jitter_max: 3m", 7 * time.Minute, 13 * time.Minute},
		{"refresh_cron: '0 4 * * *', refresh_jitter_enabled: true, refresh_jitter_max: 20m", 55*time.Minute + 55*time.Second, 75*time.Minute + 55*time.Second},
	} {
		w.ok("") // the next load draws again
		w.ok(fmt.Sprintf(accelerated, c.keys))
		for wait := <-w.clock.added; wait < c.least || wait > c.most; wait = <-w.clock.added { // timers of the case before
		}
		seen := map[time.Duration]bool{}
		for range 20 {
			w.refreshed("t")
			wait := <-w.clock.added
			for ; len(w.clock.added) > 0; wait = <-w.clock.added {
			}
			if wait < c.least || wait > c.most {
				t.Fatalf("%s: due in %s", c.keys, wait)
			}
			seen[wait] = true
		}
		if len(seen) < 5 {
			t.Errorf("%s: the times are %v", c.keys, seen)
		}
	}
	cancel()
	<-ended
}

// TestRetentionSchedule: a check comes after its interval, in addition to the refreshes.
func TestRetentionSchedule(t *testing.T) {
	w := newWorld(t)
	w.file("a.csv", "at,id\n2026-01-02 03:00:00,1\n2026-01-02 03:30:00,2\n")
	w.ok(fmt.Sprintf(retained, "mode: file", "retention_period: 20m"))
	w.want("SELECT id FROM t ORDER BY id", "1, 2")
	refreshed, advance := w.scheduled()
	if wait := <-w.clock.added; wait != time.Minute {
		t.Errorf("the first check is due in %s", wait)
	}
	advance(20 * time.Minute)
	<-refreshed
	w.drain()
	w.want("SELECT id FROM t", "2")
}

func TestFileCreate(t *testing.T) {
	w := newWorld(t)
	w.file("a.csv", "a\n1\n")
	w.ok(fmt.Sprintf(accelerated, "mode: file_create"))
	w.file("a.csv", "a\n2\n")
	w.stop()
	w.start()
	w.ok(fmt.Sprintf(accelerated, "mode: file_create"))
	w.want("SELECT * FROM t", "2")
	w.drain()
	if n := dataFiles(t, w); n != 1 || w.copyFile("t") == "" {
		t.Errorf("%d files of data", n)
	}
}

const updated = "datasets: [{name: t, from: 'file:a.csv', description: %s, time_column: at, acceleration: {mode: file_update, refresh_mode: append, " +
	"primary_key: at}}]\n"

// TestFileUpdate: the rows of the last run are appended to, though the declaration is
// another one, and the source has more columns.
func TestFileUpdate(t *testing.T) {
	w := newWorld(t)
	w.file("a.csv", "at,v\n1,a\n")
	w.ok(fmt.Sprintf(updated, "one"))
	w.stop()
	w.file("a.csv", "at,v,more\n2,b,x\n") // 1 is gone
	w.start()
	w.ok(fmt.Sprintf(updated, "one"))
	w.want("FROM t", "1|a") // the same declaration
	w.stop()
	w.start()
	w.ok(fmt.Sprintf(updated, "two"))
	w.want("FROM t ORDER BY \"at\"", "1|a|NULL, 2|b|x")
	w.file("a.csv", "at,v,more,again\n3,c,y,z\n")
	w.refreshed("t")
	w.want("FROM t ORDER BY \"at\"", "1|a|NULL|NULL, 2|b|x|NULL, 3|c|y|z")
	w.drain()
	if n := dataFiles(t, w); n != 1 {
		t.Errorf("%d files of data", n)
	}
	w.file("a.csv", "at,more\n5,1\n") // v is gone, and more has another type
	w.refreshed("t")
	w.want("FROM t", "5|1")
	if !strings.Contains(w.log.String(), "all rows are loaded again") {
		t.Error("it is not logged")
	}
}

// TestFileUpdateWithoutSource: the rows stay for the next attempt.
func TestFileUpdateWithoutSource(t *testing.T) {
	w := newWorld(t)
	path := w.file("a.csv", "at,v\n1,a\n")
	w.ok(fmt.Sprintf(updated, "one"))
	w.stop()
	w.start()
	w.file("b.csv", "")
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	if problems := w.reload(fmt.Sprintf(updated, "two")); len(problems) != 1 {
		t.Fatal(problems)
	}
	w.stop()
	w.start()
	w.file("a.csv", "at,v\n2,b\n")
	w.ok(fmt.Sprintf(updated, "two"))
	w.want("FROM t ORDER BY \"at\"", "1|a, 2|b")
	if files, _ := filepath.Glob(filepath.Join(w.state, "accelerated", "*")); len(files) != 2 {
		t.Errorf("files: %v", files)
	}
}

// TestFileCannotBeWritten: rows whose file cannot be written are in memory.
func TestFileCannotBeWritten(t *testing.T) {
	w := newWorld(t)
	w.file("rows.csv", "a\n1\n")
	if err := os.RemoveAll(w.m.copies.Dir); err != nil {
		t.Fatal(err)
	}
	w.ok("datasets: [{name: t, from: 'file:rows.csv', acceleration: {mode: file}}]\n")
	w.want("SELECT a FROM t", "1")
	if path := w.copyFile("t"); path != "" || !strings.Contains(w.log.String(), "cannot write accelerated data") {
		t.Errorf("the rows are in %q; log: %s", path, w.log)
	}
}
