package telemetry

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/spiced-sql/spiced/internal/test/golden"
)

const metricsHead = `# Metrics

<!-- Written by internal/kit/telemetry/docs_test.go. Do not edit: change the metrics
     and run: make docs -->

` + "`GET /metrics`" + ` of the HTTP API has the metrics in the formats of Prometheus; with keys it
needs one. ` + "`spiced serve --metrics 127.0.0.1:9091`" + ` serves them on a second address, which needs
none on the same machine. In addition to these there are the metrics of Go (` + "`go_…`" + `) and of the process
(` + "`process_…`" + `). ` + "`outcome`" + ` is ` + "`ok`" + ` or a code of [errors.md](errors.md). Calls of tools that
were not available to their callers are ` + "`spiced_tool_unavailable_calls_total`" + `: models are sent the tools that are
available, so that it stays 0 unless they guess names.

| metric | type | labels | |
|---|---|---|---|
`

// describedMetric matches the text of a [prometheus.Desc], which has no other form.
var describedMetric = regexp.MustCompile(`fqName: "(spiced_[a-z_]+)", help: "(.*?)"(?:, unit: ".*?")?, constLabels: {}, variableLabels: {+(.*?)}+$`)

// TestDocsOfMetrics compares docs/metrics.md with the metrics that are registered.
func TestDocsOfMetrics(t *testing.T) {
	m := New("v1")
	m.ObserveHTTP("GET", "/v1/sql", 200, 0)
	m.ObserveQuery("ok", 0, 0, 0)
	m.Reloaded("ok")
	m.Refreshed("orders", "ok", 1, time.Unix(1, 0))
	m.Snapshot("orders", "written", time.Unix(1, 0))
	m.ToolCall("f", "http", "", 0)
	m.ToolUnavailable("f")
	m.ToolSearch("lexical_rrf", false, 0)
	m.EmbeddingModel("local", true)
	m.Approval("asked")
	m.WatchApprovals(func() int { return 0 })
	m.Chatted(Chat{Model: "m", FirstToken: 1})
	m.WatchEngine(func() (int, int, int) { return 0, 0, 0 })
	m.WatchToolCache(func() (int64, int64, uint64, uint64) { return 0, 0, 0, 0 })
	m.WorkerStarted("analytics", false)
	m.WorkerReady("analytics", 1)
	m.WorkerEnded("analytics", "memory")
	m.SandboxCalled("analytics", "ok", 1, 1)
	m.WatchSandboxes(func() map[string]SandboxWorkers { return map[string]SandboxWorkers{"analytics": {Idle: 1}} })
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := promlint.NewWithMetricFamilies(families).Lint()
	for _, p := range wrong {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]string{}
	for _, f := range families {
		types[f.GetName()] = strings.ToLower(f.GetType().String())
	}
	descriptions := make(chan *prometheus.Desc, 1000)
	m.registry.Describe(descriptions)
	close(descriptions)
	rows := map[string]string{}
	for d := range descriptions {
		parts := describedMetric.FindStringSubmatch(d.String())
		if parts == nil {
			continue
		}
		if types[parts[1]] == "" {
			t.Errorf("%s has no series here: observe it", parts[1])
		}
		labels := ""
		if parts[3] != "" {
			labels = "`" + strings.ReplaceAll(parts[3], ",", "`, `") + "`"
		}
		rows[parts[1]] = fmt.Sprintf("| `%s` | %s | %s | %s |\n", parts[1], types[parts[1]], labels, parts[2])
	}
	var page strings.Builder
	page.WriteString(metricsHead)
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		page.WriteString(rows[name])
	}
	golden.Equal(t, "../../../docs/metrics.md", page.String())
}
