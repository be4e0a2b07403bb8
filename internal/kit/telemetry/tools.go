package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// toolMetrics are the metrics of the tool registry.
type toolMetrics struct {
	count          prometheus.Gauge
	calls          *prometheus.CounterVec
	unavailable    *prometheus.CounterVec
	callDuration   *prometheus.HistogramVec
	searches       *prometheus.CounterVec
	searchDuration *prometheus.HistogramVec
	embeddingUp    *prometheus.GaugeVec
	approvals      *prometheus.CounterVec
}

func (m *Metrics) makeTools() {
	m.tools = toolMetrics{
		count: m.gauge("tools", "Tools in the catalog."),
		calls: m.counterVec("tool_calls_total", "Calls of a tool, by protocol and outcome: ok or an error's code.",
			"tool", "surface", "outcome"),
		unavailable: m.counterVec("tool_unavailable_calls_total",
			"Calls of a tool by callers to whom it is not available.",
			"tool"),
		callDuration: m.histogramVec("tool_call_duration_seconds", "Time of a tool call.",
			prometheus.ExponentialBuckets(0.0001, 2.5, 14), "surface"),
		searches: m.counterVec("tool_searches_total", "Searches for tools, by mode and whether a good match was found.",
			"mode", "match"),
		searchDuration: m.histogramVec("tool_search_duration_seconds", "Time of a search for tools.",
			prometheus.ExponentialBuckets(0.0001, 2.5, 14), "mode"),
		embeddingUp: m.gaugeVec("embedding_model_up",
			"Whether tool searches use an embedding model: 0 after a failure, until a probe succeeds.", "model"),
		approvals: m.counterVec("approvals_total", "Steps of approvals of calls: asked, approved, denied, used.", "event"),
	}
}

// SetTools sets the number of tools in the catalog.
func (m *Metrics) SetTools(n int) { m.tools.count.Set(float64(n)) }

// ToolCall counts a call of a tool. tool is a name of the catalog or a common name for
// all others; code is "" or that of the error.
func (m *Metrics) ToolCall(tool, surface, code string, took time.Duration) {
	outcome := "ok"
	if code != "" {
		outcome = code
	}
	m.tools.calls.WithLabelValues(tool, surface, outcome).Inc()
	m.tools.callDuration.WithLabelValues(surface).Observe(took.Seconds())
}

// ToolUnavailable counts a call of a tool of the catalog that was not available to its caller.
func (m *Metrics) ToolUnavailable(tool string) { m.tools.unavailable.WithLabelValues(tool).Inc() }

// ToolSearch counts a search for tools.
func (m *Metrics) ToolSearch(mode string, noGoodMatch bool, took time.Duration) {
	match := "good"
	if noGoodMatch {
		match = "none"
	}
	m.tools.searches.WithLabelValues(mode, match).Inc()
	m.tools.searchDuration.WithLabelValues(mode).Observe(took.Seconds())
}

// EmbeddingModel records whether tool searches use an embedding model.
func (m *Metrics) EmbeddingModel(model string, up bool) {
	value := 0.0
	if up {
		value = 1
	}
	m.tools.embeddingUp.WithLabelValues(model).Set(value)
}

// Approval counts a step of an approval: asked, approved, denied or used.
func (m *Metrics) Approval(event string) { m.tools.approvals.WithLabelValues(event).Inc() }

// WatchApprovals exports how many approvals wait for a decision. Call it once.
func (m *Metrics) WatchApprovals(pending func() int) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: namespace, Name: "approvals_pending", Help: "Calls that wait for the approval of a person.",
	}, func() float64 { return float64(pending()) }))
}

// WatchToolCache exports the cached results of tools, which stats returns. Call it once.
func (m *Metrics) WatchToolCache(stats func() (entries, bytes int64, hits, misses uint64)) {
	show := func(name, help string, pick func(entries, bytes int64, hits, misses uint64) float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help},
			func() float64 { return pick(stats()) }))
	}
	show("tool_cache_entries", "Cached results of tools.", func(n, _ int64, _, _ uint64) float64 { return float64(n) })
	show("tool_cache_bytes", "Memory used by cached results.", func(_, n int64, _, _ uint64) float64 { return float64(n) })
	counts := func(name, help string, pick func(hits, misses uint64) float64) {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Namespace: namespace, Name: name,
			Help: help,
		}, func() float64 {
			_, _, hits, misses := stats()
			return pick(hits, misses)
		}))
	}
	counts("tool_cache_hits_total", "Calls answered by a cached result.", func(hits, _ uint64) float64 {
		return float64(hits)
	})
	counts("tool_cache_misses_total", "Calls whose result was not cached.", func(_, misses uint64) float64 {
		return float64(misses)
	})
}
