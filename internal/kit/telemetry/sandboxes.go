package telemetry

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// sandboxMetrics are the metrics of the sandboxes of functions, by the name of the sandbox.
type sandboxMetrics struct {
	starts        *prometheus.CounterVec
	startDuration *prometheus.HistogramVec
	ends          *prometheus.CounterVec
	calls         *prometheus.CounterVec
	callDuration  *prometheus.HistogramVec
	rows          *prometheus.CounterVec
}

func (m *Metrics) makeSandboxes() {
	const label = "sandbox"
	m.sandboxes = sandboxMetrics{
		starts: m.counterVec("sandbox_worker_starts_total", "Starts of workers of a sandbox, by outcome: ok or failed.",
			label, "outcome"),
		startDuration: m.histogramVec("sandbox_worker_start_duration_seconds",
			"Time that a worker takes to start and to give its first reply: of loading a function, or of the first call of "+
				"a command, without the wait for that call.",
			prometheus.ExponentialBuckets(0.005, 2, 12), label),
		ends: m.counterVec("sandbox_worker_ends_total",
			"Workers of a sandbox that ended, by reason: exit, signal, cancelled, timeout, closed, cpu, memory, files, "+
				"processes, threads, damaged, no_id, load, refused.",
			label, "reason"),
		calls: m.counterVec("sandbox_calls_total",
			"Calls of workers with a batch of rows, by outcome: ok, error (of the code), cancelled or failed.", label,
			"outcome"),
		callDuration: m.histogramVec("sandbox_call_duration_seconds",
			"Time of a call with a batch of rows, with the wait for a worker.",
			prometheus.ExponentialBuckets(0.0001, 2.5, 15), label),
		rows: m.counterVec("sandbox_rows_total", "Rows of the calls.", label),
	}
}

// WorkerStarted counts a start of a worker of a sandbox.
func (m *Metrics) WorkerStarted(sandbox string, failed bool) {
	outcome := "ok"
	if failed {
		outcome = "failed"
	}
	m.sandboxes.starts.WithLabelValues(sandbox, outcome).Inc()
}

// WorkerReady observes the time that a worker took to start.
func (m *Metrics) WorkerReady(sandbox string, took time.Duration) {
	m.sandboxes.startDuration.WithLabelValues(sandbox).Observe(took.Seconds())
}

// WorkerEnded counts a worker that has ended.
func (m *Metrics) WorkerEnded(sandbox, reason string) {
	m.sandboxes.ends.WithLabelValues(sandbox, reason).Inc()
}

// SandboxCalled counts a call of a worker.
func (m *Metrics) SandboxCalled(sandbox, outcome string, rows int64, took time.Duration) {
	m.sandboxes.calls.WithLabelValues(sandbox, outcome).Inc()
	m.sandboxes.rows.WithLabelValues(sandbox).Add(float64(rows))
	m.sandboxes.callDuration.WithLabelValues(sandbox).Observe(took.Seconds())
}

// SandboxWorkers are the workers of a sandbox now.
type SandboxWorkers struct{ Idle, Busy, Waiting int }

// WatchSandboxes exports the workers of each sandbox, which workers returns. Call it once.
func (m *Metrics) WatchSandboxes(workers func() map[string]SandboxWorkers) {
	m.registry.MustRegister(&sandboxCollector{
		workers: workers,
		count: prometheus.NewDesc(namespace+"_sandbox_workers", "Workers of a sandbox, by state: idle or busy.",
			[]string{"sandbox", "state"}, nil),
		waiting: prometheus.NewDesc(namespace+"_sandbox_calls_waiting", "Calls that wait for a worker of a sandbox.",
			[]string{"sandbox"}, nil),
	})
}

// sandboxCollector reads the workers when it is asked.
type sandboxCollector struct {
	workers        func() map[string]SandboxWorkers
	count, waiting *prometheus.Desc
}

// Describe implements [prometheus.Collector].
func (c *sandboxCollector) Describe(to chan<- *prometheus.Desc) {
	to <- c.count
	to <- c.waiting
}

// Collect implements [prometheus.Collector].
func (c *sandboxCollector) Collect(to chan<- prometheus.Metric) {
	for name, w := range c.workers() {
		to <- prometheus.MustNewConstMetric(c.count, prometheus.GaugeValue, float64(w.Idle), name, "idle")
		to <- prometheus.MustNewConstMetric(c.count, prometheus.GaugeValue, float64(w.Busy), name, "busy")
		to <- prometheus.MustNewConstMetric(c.waiting, prometheus.GaugeValue, float64(w.Waiting), name)
	}
}

// KeepSandboxes drops the series of sandboxes that are no longer declared.
func (m *Metrics) KeepSandboxes(names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, gone := range m.sandboxNames {
		if slices.Contains(names, gone) {
			continue
		}
		labels := prometheus.Labels{"sandbox": gone}
		for _, vec := range []interface {
			DeletePartialMatch(prometheus.Labels) int
		}{
			m.sandboxes.starts, m.sandboxes.startDuration, m.sandboxes.ends, m.sandboxes.calls, m.sandboxes.callDuration,
			m.sandboxes.rows,
		} {
			vec.DeletePartialMatch(labels)
		}
	}
	m.sandboxNames = slices.Clone(names)
}
