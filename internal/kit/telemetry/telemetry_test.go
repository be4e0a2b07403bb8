package telemetry_test

import (
	"bytes"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/spiced-sql/spiced/internal/kit/telemetry"
)

func scrape(m *telemetry.Metrics) string {
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

func TestMetrics(t *testing.T) {
	other := telemetry.New("v1") // a second registry does not clash
	got := scrape(used())
	for _, want := range []string{
		`spiced_http_requests_total{method="GET",path="/v1/datasets",status="200"} 1`,
		`spiced_http_requests_total{method="other",path="unmatched",status="404"} 1`,
		`spiced_queries_total{outcome="ok"} 1`, `spiced_queries_total{outcome="timeout"} 1`,
		"spiced_rows_returned_total 7", "spiced_generation 3", "spiced_functions 5", "spiced_datasets 2", "spiced_load_problems 1",
		`spiced_reloads_total{outcome="ok"} 1`, `spiced_dataset_rows{dataset="trips"} 42`,
		`spiced_dataset_last_refresh_timestamp_seconds{dataset="trips"} 1000`,
		"spiced_engine_statements_running 4", "spiced_engine_statements_waiting 5", "spiced_engine_statements_abandoned 6",
		"spiced_http_panics_total 1", "go_goroutines", "process_resident_memory_bytes", `spiced_build_info{`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(got, `"gone"`) || strings.Contains(got, "EVIL") {
		t.Error("series that should not be there")
	}
	if strings.Contains(scrape(other), "spiced_rows_returned_total 7") {
		t.Error("two registries share numbers")
	}
}

// used returns metrics with numbers.
func used() *telemetry.Metrics {
	m := telemetry.New("v1")
	m.ObserveHTTP("GET", "/v1/datasets", 200, time.Millisecond)
	m.ObserveHTTP("EVIL-METHOD-123", "unmatched", 404, time.Millisecond)
	m.ObserveQuery("ok", time.Millisecond, 7, 100)
	m.ObserveQuery("timeout", time.Second, 0, 0)
	m.SetGeneration(3, 5, 2, 1)
	m.Reloaded("ok")
	m.Refreshed("trips", "ok", 42, time.Unix(1000, 0))
	m.Refreshed("gone", "error", 0, time.Time{})
	m.KeepDatasets([]string{"trips"})
	m.WatchEngine(func() (int, int, int) { return 4, 5, 6 })
	m.HTTPPanicked()
	m.HTTPStarted()()
	m.ToolCall("f", "http", "", time.Millisecond)
	m.Chatted(telemetry.Chat{Model: "m", Rounds: 1, FirstToken: time.Second, Took: time.Second})
	return m
}

func TestLogger(t *testing.T) {
	var out bytes.Buffer
	log := telemetry.NewLogger(&out, telemetry.LogOptions{Level: slog.LevelWarn})
	log.Info("hidden")
	log.Warn("shown", "n", 1, "took", 12_345_678*time.Nanosecond)
	if got := out.String(); strings.Contains(got, "hidden") || !strings.Contains(got, `"msg":"shown","n":1,"took":"12.346ms"`) {
		t.Errorf("got %s", got)
	}
	out.Reset()
	telemetry.NewLogger(&out, telemetry.LogOptions{Format: telemetry.FormatText}).With("a", 1).WithGroup("g").Warn("as text", "took", 12_345_678*time.Nanosecond,
		"path", "a b")
	if _, line, _ := strings.Cut(out.String(), " "); line != "WARN  as text  a=1 g.took=12.346ms g.path=\"a b\"\n" {
		t.Errorf("got %s", out.String())
	}
	out.Reset()
	telemetry.NewLogger(&out, telemetry.LogOptions{Format: telemetry.FormatText}).Info("alone\x1b")
	if _, line, _ := strings.Cut(out.String(), " "); line != "INFO  alone\n" {
		t.Errorf("got %q", out.String())
	}
}

func TestParseLevel(t *testing.T) {
	if level, err := telemetry.ParseLevel("debug"); err != nil || level != slog.LevelDebug {
		t.Error(level, err)
	}
	if _, err := telemetry.ParseLevel("loud"); err == nil || !strings.Contains(err.Error(), `"loud"`) {
		t.Error(err)
	}
}

// TestNamesOfMetrics checks the rules of promtool, and the prefix.
func TestNamesOfMetrics(t *testing.T) {
	text := scrape(used())
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, error %v", problems, err)
	}
	for line := range strings.Lines(text) {
		name, _, _ := strings.Cut(strings.TrimPrefix(line, "# TYPE "), " ")
		if prefix, _, _ := strings.Cut(name, "_"); strings.HasPrefix(line, "# TYPE ") && prefix != "spiced" && prefix != "go" && prefix != "process" &&
			prefix != "promhttp" {
			t.Errorf("%s lacks the prefix spiced_", name)
		}
	}
}
