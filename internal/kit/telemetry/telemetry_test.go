package telemetry_test

import (
	"bytes"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/telemetry"
)

func scrape(m *telemetry.Metrics) string {
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

func TestMetrics(t *testing.T) {
	m := telemetry.New("v1")
	other := telemetry.New("v1") // a second registry does not clash
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
	got := scrape(m)
	for _, want := range []string{
		`http_requests_total{method="GET",path="/v1/datasets",status="200"} 1`,
		`http_requests_total{method="other",path="unmatched",status="404"} 1`,
		`queries_total{outcome="ok"} 1`, `queries_total{outcome="timeout"} 1`,
		"rows_returned_total 7", "generation 3", "functions_count 5", "datasets_count 2", "load_problems 1",
		`reloads_total{outcome="ok"} 1`, `dataset_rows{dataset="trips"} 42`,
		`dataset_last_refresh_timestamp_seconds{dataset="trips"} 1000`,
		"engine_statements_running 4", "engine_statements_waiting 5", "engine_statements_abandoned 6",
		"http_panics_total 1", "go_goroutines", "process_resident_memory_bytes", `build_info{`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(got, `"gone"`) || strings.Contains(got, "EVIL") {
		t.Error("series that should not be there")
	}
	if strings.Contains(scrape(other), "rows_returned_total 7") {
		t.Error("two registries share numbers")
	}
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
	telemetry.NewLogger(&out, telemetry.LogOptions{Format: telemetry.FormatText}).Info("as text")
	if !strings.Contains(out.String(), `msg="as text"`) {
		t.Errorf("got %s", out.String())
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
