package datasets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

const accelerated = "datasets: [{name: t, from: 'file:a.csv', acceleration: {%s}}]\n"

func TestRefreshSwitchesToNewRows(t *testing.T) {
	for _, mode := range []string{"mode: memory", "mode: file"} {
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t)
			w.file("a.csv", "a\n1\n")
			w.ok(fmt.Sprintf(accelerated, mode))
			w.file("a.csv", "a\n2\n3\n")
			w.want("SELECT * FROM t", "1")
			if err := w.refresh("T", refresh.Override{}); err != nil {
				t.Fatal(err)
			}
			w.want("SELECT * FROM t", "2, 3")
			s := w.status("t")
			if s.Rows != 2 || s.State != Ready || s.Refreshed.IsZero() || (w.copyFile("t") != "") != (mode == "mode: file") {
				t.Errorf("%+v", s)
			}
			w.drain()
			if n := dataFiles(t, w); mode == "mode: file" && n != 1 || mode != "mode: file" && n != 0 {
				t.Errorf("%d files of data are left", n)
			}
		})
	}
}

func dataFiles(t *testing.T, w *world) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(w.state, "accelerated", "*.duckdb*"))
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// Readers see the rows of one load while refreshes run.
func TestReadersNeverSeeMixedRows(t *testing.T) {
	w := newWorld(t)
	rows := func(n int) string { return "a\n" + strings.Repeat(fmt.Sprintf("%d\n", n), 5000) }
	w.file("a.csv", rows(0))
	w.ok(fmt.Sprintf(accelerated, "mode: file"))
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				got, err := w.read("SELECT count(*), count(DISTINCT a), (SELECT count(DISTINCT x.a) FROM t x JOIN t y USING (a)) FROM t")
				if err != nil || got != "5000|1|1" {
					t.Errorf("a reader got %q, %v", got, err)
					return
				}
			}
		})
	}
	for n := 1; n <= 8; n++ {
		w.file("a.csv", rows(n))
		if err := w.refresh("t", refresh.Override{}); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	readers.Wait()
	w.want("SELECT max(a) FROM t", "8")
}

// TestLoadBesideScansOfCatalog: a scan of DuckDB's catalog locks every database for a
// moment, that of a load, too.
func TestLoadBesideScansOfCatalog(t *testing.T) {
	w := newWorld(t)
	w.file("a.csv", "a\n1\n")
	w.ok(fmt.Sprintf(accelerated, "mode: file"))
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := tables.Query(t.Context(), w.db, "SELECT count(*) FROM duckdb_columns()", func(*engine.Chunk) {}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 20 {
		if err := w.refresh("t", refresh.Override{}); err != nil {
			t.Error(err)
			break
		}
	}
	close(done)
	readers.Wait()
}

// A statement that began before a refresh reads the old rows to the end.
func TestStatementOutlivesItsRows(t *testing.T) {
	w := newWorld(t)
	w.file("a.csv", "a\n"+strings.Repeat("1\n", 100_000))
	w.ok(fmt.Sprintf(accelerated, "mode: file"))
	rows, err := w.db.Query(t.Context(), engine.Request{SQL: "SELECT a FROM t"})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	w.file("a.csv", "a\n2\n")
	if err := w.refresh("t", refresh.Override{}); err != nil {
		t.Fatal(err)
	}
	if n := dataFiles(t, w); n != 2 {
		t.Errorf("%d files of data while a statement reads the old ones, want 2", n)
	}
	n := 0
	for c, err := range rows.Chunks() {
		if err != nil {
			t.Fatal(err)
		}
		n += c.Len()
	}
	if n != 100_000 {
		t.Errorf("read %d rows", n)
	}
	rows.Close()
	w.drain()
	if n := dataFiles(t, w); n != 1 {
		t.Errorf("%d files of data are left", n)
	}
}

func TestFailedRefreshKeepsOldRows(t *testing.T) {
	w := newWorld(t)
	w.file("a.csv", "a,b\n1,2\n")
	w.ok(fmt.Sprintf(accelerated, "mode: file"))
	for name, text := range map[string]string{"ragged": "a,b\n1,2\n3\n", "gone": ""} {
		if text == "" {
			os.Remove(filepath.Join(w.dir, "a.csv"))
		} else {
			w.file("a.csv", text)
		}
		err := w.refresh("t", refresh.Override{})
		if err == nil || !strings.Contains(err.Error(), "a.csv") {
			t.Errorf("%s: error is %v", name, err)
		}
		w.want("SELECT * FROM t", "1|2")
		w.want("SELECT rows, error LIKE '%a.csv%', error LIKE '%"+w.dir+"%' FROM spiced.datasets", "1|true|false")
		if s := w.status("t"); s.Error == "" || s.State != Ready || s.Rows != 1 {
			t.Errorf("%s: status %+v", name, s)
		}
	}
	w.file("a.csv", "a,b\n5,6\n")
	if err := w.refresh("t", refresh.Override{}); err != nil {
		t.Fatal(err)
	}
	if s := w.status("t"); s.Error != "" {
		t.Errorf("the error stays: %q", s.Error)
	}
	w.want("SELECT rows, error, last_refresh FROM spiced.datasets", "1|NULL|2026-01-02 03:04:05")
}

func TestRefreshErrors(t *testing.T) {
	w := newWorld(t)
	w.file("a.csv", "a\n1\n")
	w.ok("datasets: [{name: t, from: 'file:a.csv', acceleration: {}}, {name: plain, from: 'file:a.csv'}]\n")
	for _, c := range []struct {
		name string
		o    refresh.Override
		want error
		text string
	}{
		{"x", refresh.Override{}, refresh.ErrUnknown, `dataset "x" not found`},
		{"plai", refresh.Override{}, refresh.ErrUnknown, `did you mean "plain"?`},
		{"plain", refresh.Override{}, refresh.ErrNotAccelerated, `dataset "plain" does not have acceleration enabled`},
		{"t", refresh.Override{RefreshMode: "append"}, refresh.ErrOverride, "needs a time_column"},
		{"t", refresh.Override{RefreshMode: "quick"}, refresh.ErrOverride, `refresh_mode must be full or append, got "quick"`},
		{"t", refresh.Override{RefreshSQL: "SELECT * FROM plain"}, refresh.ErrOverride, `reads "plain"`},
	} {
		err := w.refresh(c.name, c.o)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s %+v: %v", c.name, c.o, err)
		}
	}
}

func TestRefreshSQL(t *testing.T) {
	w := newWorld(t)
	w.file("a.csv", "a,b\n1,x\n2,y\n3,z\n")
	w.ok("datasets: [{name: sales.t, from: 'file:a.csv', acceleration: {refresh_sql: 'WITH k AS (SELECT 1 AS m) SELECT t.a, b FROM sales.t, k WHERE " +
		"a > m; -- new'}}]\n")
	w.want("SELECT * FROM sales.t", "2|y, 3|z")
	if err := w.refresh("sales.t", refresh.Override{RefreshSQL: "FROM t WHERE a = 1"}); err != nil {
		t.Fatal(err)
	}
	w.want("SELECT * FROM sales.t", "1|x")
}

func TestAppend(t *testing.T) {
	for _, mode := range []string{"memory", "file"} {
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t)
			w.file("a.csv", "at,v\n2026-01-01 10:00:00,1\n2026-01-02 10:00:00,2\n")
			w.ok("datasets: [{name: t, from: 'file:a.csv', time_column: AT, acceleration: {mode: " + mode + ", refresh_mode: append}}]\n")
			w.file("a.csv", "at,v\n2026-01-01 10:00:00,100\n2026-01-02 10:00:00,200\n2026-01-03 10:00:00,3\n")
			for range 2 {
				if err := w.refresh("t", refresh.Override{}); err != nil {
					t.Fatal(err)
				}
				w.want("SELECT v FROM t ORDER BY v", "1, 2, 3")
			}
			if s := w.status("t"); s.Rows != 3 {
				t.Errorf("rows: %d", s.Rows)
			}
			w.file("a.csv", "at,w\n2026-01-05 10:00:00,3\n")
			if err := w.refresh("t", refresh.Override{}); err == nil || !strings.Contains(err.Error(), "differ from those of the loaded rows") {
				t.Error(err)
			}
			w.want("SELECT count(*) FROM t", "3")
			if err := w.refresh("t", refresh.Override{RefreshMode: spicepod.RefreshFull}); err != nil {
				t.Fatal(err)
			}
			w.want("SELECT w FROM t", "3")
		})
	}
}

// Rows of the same types are inserted into a copy of the file, and others are loaded
// with the old ones.
func TestAppendTypes(t *testing.T) {
	for _, mode := range []string{"memory", "file"} {
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t)
			pod := "datasets: [{name: t, from: 'file:a.csv', time_column: at, acceleration: {mode: " + mode + ", refresh_mode: append, primary_key: v}}]\n"
			w.file("a.csv", "at,v\n1,1\n2,2\n")
			w.ok(pod)
			for _, step := range []struct{ file, rows string }{
				{"at,v\n3,3\n", "1, 2, 3"},
				{"at,v\n4,4\n", "1, 2, 3, 4"},
				{"at,v\n5,2.5\n", "1.0, 2.0, 2.5, 3.0, 4.0"}, // not rounded
				{"at,v\n6,3.5\n", "1.0, 2.0, 2.5, 3.0, 3.5, 4.0"},
			} {
				w.file("a.csv", step.file)
				if err := w.refresh("t", refresh.Override{}); err != nil {
					t.Fatal(err)
				}
				w.drain()
				w.want("SELECT v FROM t ORDER BY v", step.rows)
				keys, err := tables.Texts(t.Context(), w.db, "SELECT count(*)::VARCHAR FROM duckdb_constraints() WHERE constraint_type = 'PRIMARY KEY'")
				if err != nil || !slices.Equal(keys, []string{"1"}) {
					t.Errorf("%s: primary keys: %v, %v", step.file, keys, err)
				}
			}
			w.file("a.csv", "at,v\n7,5.5\n8,1.0\n")
			if err := w.refresh("t", refresh.Override{}); err == nil || !strings.Contains(err.Error(), "uplicate key") {
				t.Errorf("a duplicate key: %v", err)
			}
			w.want("SELECT count(*) FROM t", "6")
			if mode == "memory" {
				return
			}
			w.stop()
			w.start()
			w.ok(pod)
			w.want("SELECT max(v) FROM t", "4.0")
			if n := dataFiles(t, w); n != 1 {
				t.Errorf("%d files of data", n)
			}
		})
	}
}

func TestIndexes(t *testing.T) {
	w := newWorld(t)
	w.file("a.csv", "a,b\n1,1\n2,1\n")
	w.ok("datasets: [{name: t, from: 'file:a.csv', acceleration: {mode: file, primary_key: a, indexes: {'(b, a)': enabled}}}]\n")
	problems := w.reload("datasets: [{name: t, from: 'file:a.csv', acceleration: {primary_key: b}}]\n")
	if len(problems) != 1 || problems[0].Path != "datasets[0].acceleration.primary_key" {
		t.Fatal(problems)
	}
	w.want("SELECT count(*) FROM t", "2")
}

func TestRestart(t *testing.T) {
	w := newWorld(t)
	w.file("a.csv", "a\n1\n")
	w.ok(fmt.Sprintf(accelerated, "mode: file"))
	leftover := filepath.Join(w.state, "accelerated", "t-0000-1.duckdb")
	if err := os.WriteFile(leftover, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.file("a.csv", "a\n2\n")
	w.stop()
	w.start()
	if _, err := os.Stat(leftover); err == nil {
		t.Error("the leftover of a crash is still there")
	}
	w.ok(fmt.Sprintf(accelerated, "mode: file"))
	w.want("SELECT * FROM t", "1") // kept
	if s := w.status("t"); s.Rows != 1 || s.Format != "csv" {
		t.Errorf("%+v", s)
	}
	if err := w.refresh("t", refresh.Override{}); err != nil {
		t.Fatal(err)
	}
	w.want("SELECT * FROM t", "2")
	w.file("a.csv", "a\n3\n")
	w.stop()
	w.start()
	w.ok(fmt.Sprintf(accelerated, "mode: file, refresh_on_startup: always"))
	w.want("SELECT * FROM t", "3")
	if n := dataFiles(t, w); n != 1 {
		t.Errorf("%d files of data", n)
	}
}

func TestRestartWithBrokenData(t *testing.T) {
	w := newWorld(t)
	w.file("a.csv", "a\n1\n")
	w.ok(fmt.Sprintf(accelerated, "mode: file"))
	file := w.copyFile("t")
	w.stop()
	if err := os.WriteFile(file, []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.start()
	w.ok(fmt.Sprintf(accelerated, "mode: file"))
	w.want("SELECT * FROM t", "1")
}

// A reload loads only what changed, even if positions change.
func TestReloadReusesData(t *testing.T) {
	w := newWorld(t)
	w.file("a.csv", "a\n1\n")
	w.ok(fmt.Sprintf(accelerated, "mode: memory"))
	before := w.served[0]
	w.file("a.csv", "a\n2\n")
	w.ok("# a comment\n" + fmt.Sprintf(accelerated, "mode: memory"))
	if w.served[0] != before || w.status("t").Position.Line != 5 {
		t.Errorf("the dataset was made again, or its position is old: %s", w.status("t").Position)
	}
	w.want("SELECT * FROM t", "1")
	w.ok("datasets: [{name: t, from: 'file:a.csv', description: new, acceleration: {}}]\n")
	w.want("SELECT * FROM t", "2")
	w.ok("")
	w.drain()
	var n string
	_ = tables.Query(t.Context(), w.db, "SELECT count(*)::VARCHAR FROM duckdb_databases() WHERE database_name LIKE 'load%' OR database_name LIKE 'data%'",
		chunkText(&n))
	if n != "0" {
		t.Errorf("%s databases are still attached", n)
	}
}

func TestLastGoodVersionStays(t *testing.T) {
	w := newWorld(t)
	w.file("a.csv", "a\n1\n")
	w.ok(fmt.Sprintf(accelerated, "mode: file"))
	problems := w.reload("datasets: [{name: t, from: 'file:gone.csv', acceleration: {mode: file}}]\n")
	if len(problems) != 1 {
		t.Fatal(problems)
	}
	w.want("SELECT * FROM t", "1")
	if s := w.status("t"); s.State != Ready || !strings.Contains(s.Error, "gone.csv") {
		t.Errorf("%+v", s)
	}
}

func TestRefreshesCoalesce(t *testing.T) {
	w := newWorld(t)
	w.file("a.csv", "a\n1\n")
	w.ok(fmt.Sprintf(accelerated, ""))
	publish, began, goOn := w.onPublish, make(chan struct{}, 9), make(chan struct{})
	w.onPublish = func(ctx context.Context, build func(*engine.Tx) error) error {
		began <- struct{}{}
		<-goOn
		return publish(ctx, build)
	}
	trigger := func(o refresh.Override) {
		if err := w.m.Refreshes().Refresh(t.Context(), "t", o); err != nil {
			t.Error(err)
		}
	}
	trigger(refresh.Override{})
	<-began
	for range 3 {
		trigger(refresh.Override{})
	}
	trigger(refresh.Override{RefreshSQL: "SELECT * FROM t"})
	close(goOn)
	w.m.refreshes.Wait()
	if n := 1 + len(began); n != 3 {
		t.Errorf("%d refreshes ran, want 3: the first, those that waited, and the one with another override", n)
	}
}

func TestReplacedMeanwhile(t *testing.T) {
	w := newWorld(t)
	w.file("a.csv", "a\n1\n")
	w.ok(fmt.Sprintf(accelerated, ""))
	publish := w.onPublish
	w.onPublish = func(ctx context.Context, build func(*engine.Tx) error) error {
		w.ok("datasets: [{name: t, from: 'file:a.csv'}]\n")
		return publish(ctx, build)
	}
	if err := w.refresh("t", refresh.Override{}); err != nil {
		t.Error(err)
	}
	if !strings.Contains(w.log.String(), "it was replaced by a reload during the refresh") {
		t.Error(w.log)
	}
	w.want("SELECT * FROM t", "1")
	w.want("SELECT error FROM spiced.datasets", "NULL") // the new one has not failed
}

func TestSchedule(t *testing.T) {
	w := newWorld(t)
	w.clock.hold, w.clock.added = true, make(chan time.Duration, 100)
	w.file("a.csv", "a\n1\n")
	w.reload("datasets:\n- {name: t, from: 'file:a.csv', acceleration: {refresh_check_interval: 10m}}\n- {name: b, from: 'file:b.csv'}\n")
	refreshed := make(chan struct{}, 10)
	publish := w.onPublish
	w.onPublish = func(ctx context.Context, build func(*engine.Tx) error) error {
		err := publish(ctx, build)
		refreshed <- struct{}{}
		return err
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- w.m.Refreshes().Run(ctx) }()
	waitFor(t, w.clock.added, 5*time.Second)
	w.clock.advance(5 * time.Second)
	<-w.retried
	w.file("a.csv", "a\n2\n")
	w.clock.advance(10 * time.Minute)
	<-refreshed
	w.drain()
	w.want("SELECT * FROM t", "2")
	os.Remove(filepath.Join(w.dir, "a.csv"))
	w.clock.advance(10 * time.Minute)
	for w.status("t").Error == "" {
		runtime.Gosched()
	}
	w.file("a.csv", "a\n3\n")
	w.clock.advance(6 * time.Second) // the retry comes before the interval
	for w.status("t").Error != "" {
		runtime.Gosched()
		w.clock.advance(time.Second)
	}
	w.want("SELECT * FROM t", "3")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func waitFor(t *testing.T, c <-chan time.Duration, most time.Duration) {
	t.Helper()
	for d := range c {
		if d <= most {
			return
		}
	}
}

// TestAppendRefusesTextsThatAreNoTimes appends rows whose time is a text: one that is not a
// time would be the newest forever.
func TestAppendRefusesTextsThatAreNoTimes(t *testing.T) {
	for _, mode := range []string{"memory", "file"} {
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t)
			w.file("a.csv", "at,v\n2026-01-02T10:00:00Z,1\n2026-01-03T10:00:00Z,2\n")
			w.ok("datasets: [{name: t, from: 'file:a.csv', time_column: at, columns: [{name: at, type: utf8}], acceleration: {mode: " + mode +
				", refresh_mode: append}}]\n")
			w.file("a.csv", "at,v\n2026-01-02T10:00:00Z,1\n2026-01-03T10:00:00Z,2\nunknown,3\n")
			if err := w.refresh("t", refresh.Override{}); err == nil || !strings.Contains(err.Error(), `column "at" has a text that is not a time: "unknown"`) {
				t.Errorf("got %v", err)
			}
			w.want("SELECT v FROM t", "1, 2")
			w.file("a.csv", "at,v\n2026-01-02T10:00:00Z,1\n2026-01-03T10:00:00Z,2\n2026-01-04T10:00:00Z,3\n")
			if err := w.refresh("t", refresh.Override{}); err != nil {
				t.Error(err)
			}
			w.want("SELECT v FROM t", "1, 2, 3")
		})
	}
}
