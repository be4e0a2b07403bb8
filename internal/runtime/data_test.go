package runtime

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/kit/telemetry"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

func csvOf(n int) string {
	var b strings.Builder
	b.WriteString("a\n")
	for range 3000 {
		fmt.Fprintf(&b, "%d\n", n*10)
	}
	return b.String()
}

func TestRefreshWhileStatementsRun(t *testing.T) {
	for _, mode := range []string{"memory", "file"} {
		t.Run(mode, func(t *testing.T) {
			metrics := telemetry.New("test")
			r := start(t, files{
				"t.csv": csvOf(0), "spicepod.yaml": "datasets: [{name: t, from: 'file:t.csv', acceleration: {mode: " + mode + "}}]\nfunctions:\n" +
					fn("top", "", "(SELECT max(a) FROM t)"),
			}, func(o *Options) { o.Metrics = metrics })
			done := make(chan struct{})
			var group sync.WaitGroup
			for range 6 {
				group.Go(func() {
					for {
						select {
						case <-done:
							return
						default:
						}
						got, err := ask(t.Context(), r.Runtime, "SELECT count(*) = 3000 AND min(a) = max(a) AND max(a) = top() FROM t")
						if err != nil || got != "true" {
							t.Errorf("got %s, %v", got, err)
							return
						}
					}
				})
			}
			for n := 1; n <= 8; n++ {
				r.write(files{"t.csv": csvOf(n)})
				if err := r.Data().Refreshes().Refresh(t.Context(), "t", refresh.Override{}); err != nil {
					t.Errorf("refresh: %v", err)
				}
				r.Data().Refreshes().Wait()
				r.want("SELECT top()", fmt.Sprint(n*10))
			}
			close(done)
			group.Wait()
			r.want("SELECT max(generation) FROM spiced.generations", "1")
			if n := r.Current().Number; n != 1 {
				t.Errorf("generation %d after refreshes, want 1", n)
			}
			hasMetrics(t, metrics, `spiced_dataset_refreshes_total{dataset="t",outcome="ok"} 8`, `spiced_dataset_rows{dataset="t"} 3000`)
			r.problems(r.pod("functions: []\n"))
			lacksMetrics(t, metrics, `dataset="t"`)
		})
	}
}

func exposition(m *telemetry.Metrics) string {
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

func hasMetrics(t *testing.T, m *telemetry.Metrics, want ...string) {
	t.Helper()
	text := exposition(m)
	for _, w := range want {
		if !strings.Contains(text, w+"\n") {
			t.Errorf("no %s in the metrics", w)
		}
	}
}

func lacksMetrics(t *testing.T, m *telemetry.Metrics, part string) {
	t.Helper()
	if strings.Contains(exposition(m), part) {
		t.Errorf("%s in the metrics", part)
	}
}

func TestMetricsOfLoads(t *testing.T) {
	metrics := telemetry.New("test")
	r := start(t, files{"spicepod.yaml": "functions:\n" + fn("f", "x", "x")}, func(o *Options) { o.Metrics = metrics })
	r.pod("functions:\n" + fn("f", "x", "x") + fn("g", "x", "nix"))
	r.pod("nonsense: 1\n")
	hasMetrics(t, metrics, `spiced_reloads_total{outcome="ok"} 2`, `spiced_reloads_total{outcome="refused"} 1`, "spiced_generation 2", "spiced_functions 1",
		"spiced_load_problems 1")
}

func TestStateOutlivesARuntime(t *testing.T) {
	state := filepath.Join(t.TempDir(), "made", "state")
	w := &rig{t: t, dir: t.TempDir()}
	w.write(files{"t.csv": "a\n1\n", "spicepod.yaml": "datasets: [{name: t, from: 'file:t.csv', acceleration: {mode: file}}]\n"})
	for _, run := range []string{"first", "second"} {
		t.Run(run, func(t *testing.T) {
			r := start(t, nil, func(o *Options) { o.Path, o.StateDir = w.dir, state })
			r.want("SELECT a FROM t", "1")
			if run == "second" {
				t.Log(r.LastReport().Problems)
			}
		})
		_ = os.Remove(filepath.Join(w.dir, "t.csv")) // the copy serves then
	}
}

// TestSnapshots starts on another machine, whose source is gone.
func TestSnapshots(t *testing.T) {
	metrics, location := telemetry.New("test"), t.TempDir()
	pod := "snapshots: {location: '" + location + "'}\ndatasets: [{name: t, from: 'file:t.csv', acceleration: {mode: file, snapshots: enabled}}]\n"
	r := start(t, files{"t.csv": "a\n7\n", "spicepod.yaml": pod}, func(o *Options) { o.Metrics = metrics })
	wait.Until(t, "the snapshot is recorded", func() bool {
		got, err := r.ask("SELECT count(last_snapshot) FROM spiced.datasets")
		return err == nil && got == "1"
	})
	wait.Until(t, "the snapshot is counted", func() bool {
		return strings.Contains(exposition(metrics), `spiced_dataset_snapshots_total{dataset="t",outcome="written"} 1`)
	})
	if !strings.Contains(exposition(metrics), `spiced_dataset_last_snapshot_timestamp_seconds{dataset="t"} 1.`) {
		t.Error("the time of the snapshot is not there")
	}

	metrics = telemetry.New("test")
	r = start(t, files{"spicepod.yaml": pod + "functions:\n" + fn("top", "", "(SELECT max(a) FROM t)")}, func(o *Options) { o.Metrics = metrics })
	r.want("SELECT top()", "7")
	hasMetrics(t, metrics, `spiced_dataset_snapshots_total{dataset="t",outcome="loaded"} 1`)
	r.pod("")
	lacksMetrics(t, metrics, `dataset="t"`)
}

func TestDataRoots(t *testing.T) {
	other := t.TempDir()
	w := &rig{t: t, dir: other}
	w.write(files{"o.csv": "a\n7\n"})
	pod := "datasets: [{name: t, from: 'file:t.csv'}, {name: o, from: 'file:" + other + "/o.csv'}]\n"
	r := start(t, files{"t.csv": "a\n1\n", "spicepod.yaml": pod})
	r.want("SELECT a FROM t", "1")
	if got := r.LastReport().Problems.Error(); !strings.Contains(got, other) || !strings.Contains(got, "data_roots") {
		t.Errorf("problems: %s", got)
	}
	report := r.pod("version: v1\nkind: Spicepod\nname: test\nruntime: {data_roots: ['.', '" + other + "']}\n" + pod)
	got := report.Problems.Error()
	if !strings.Contains(got, "takes effect at the next start") || !report.Accepted {
		t.Errorf("problems: %s", got)
	}
	r.want("SELECT a FROM t", "1")
	again := start(t, nil, func(o *Options) { o.Path = r.dir })
	again.want("SELECT o.a FROM o, t", "7")
}

// TestViewWhoseFirstLoadFails is not served, as a dataset is not: its error is where its
// users look, until a load succeeds.
func TestViewWhoseFirstLoadFails(t *testing.T) {
	r := start(t, files{
		"o.csv": "id,customer\n1,Ann\n", "spicepod.yaml": `datasets: [{name: o, from: "file:o.csv"}]
views: [{name: numbers, sql: SELECT CAST(customer AS INT) AS n FROM o, acceleration: {refresh_check_interval: 1h}}]
`,
	})
	const failed = "SELECT count(*) FROM spiced.load_errors WHERE component = 'view numbers' AND message LIKE '%''Ann''%'"
	reported := func() bool { got, err := ask(t.Context(), r.Runtime, failed); return err == nil && got == "1" }
	wait.Until(t, "load_errors has the view", reported)
	r.want("SELECT state FROM spiced.datasets WHERE name = 'numbers'", "error")
	_, err := ask(t.Context(), r.Runtime, "SELECT 1 FROM numbers")
	if err == nil || !strings.Contains(err.Error(), `view "numbers" is not served: `) || !strings.Contains(err.Error(), "'Ann'") {
		t.Errorf("got %v", err)
	}
	r.write(files{"o.csv": "id,customer\n1,7\n"})
	if err := r.Data().Refreshes().Refresh(t.Context(), "numbers", refresh.Override{}); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the view is served", func() bool { got, _ := ask(t.Context(), r.Runtime, "SELECT n FROM numbers"); return got == "7" })
	wait.Until(t, "load_errors has nothing", func() bool {
		got, err := ask(t.Context(), r.Runtime, "SELECT count(*) FROM spiced.load_errors")
		return err == nil && got == "0"
	})
	r.want("SELECT state FROM spiced.datasets WHERE name = 'numbers'", "ready")
}
