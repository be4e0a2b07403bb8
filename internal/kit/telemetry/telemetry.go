// Package telemetry owns the runtime's metrics and its logger. It imports no other
// package of the module: the owners of the numbers call it.
//
//	log := telemetry.NewLogger(os.Stderr, telemetry.LogOptions{Level: slog.LevelInfo})
//	m := telemetry.New("v1.2.3")
//	m.WatchEngine(func() (running, waiting, abandoned int) { … })
//	m.ObserveHTTP("GET", "/v1/datasets", 200, took)
//	m.SetGeneration(2)
//	http.Handle("/metrics", m.Handler())
//
// Labels are bounded: a route's pattern, never a path; an error's code, never its text; a
// declared dataset's name. Each Metrics has a separate registry, so that two in one
// process are independent.
package telemetry

import (
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are the runtime's metrics. It is safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry

	httpRequests *prometheus.CounterVec
	httpDuration *prometheus.HistogramVec
	httpInFlight prometheus.Gauge
	panics       prometheus.Counter

	queries       *prometheus.CounterVec
	queryDuration *prometheus.HistogramVec
	rowsReturned  prometheus.Counter
	bytesReturned prometheus.Counter

	generation   prometheus.Gauge
	functions    prometheus.Gauge
	datasets     prometheus.Gauge
	loadProblems prometheus.Gauge
	reloads      *prometheus.CounterVec
	lastReload   prometheus.Gauge

	datasetRows    *prometheus.GaugeVec
	datasetRefresh *prometheus.GaugeVec
	refreshes      *prometheus.CounterVec
	snapshots      *prometheus.CounterVec
	lastSnapshot   *prometheus.GaugeVec

	tools     toolMetrics
	models    modelMetrics
	sandboxes sandboxMetrics

	mu           sync.Mutex
	known        map[string]bool // datasets with series
	sandboxNames []string        // that are declared
}

// New makes the metrics of a runtime of this version.
func New(version string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), known: map[string]bool{}}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.makeHTTP()
	m.makeQueries()
	m.makeRuntime()
	m.makeTools()
	m.makeModels()
	m.makeSandboxes()
	build := m.gaugeVec("build_info", "What is running; the value is 1.", "version", "goversion")
	build.WithLabelValues(version, runtime.Version()).Set(1)
	return m
}

// Register adds a collector of another package. It fails if one of the metrics is
// already registered.
func (m *Metrics) Register(c prometheus.Collector) error { return m.registry.Register(c) }

// Handler serves the metrics to Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry, EnableOpenMetrics: true})
}

func (m *Metrics) makeHTTP() {
	m.httpRequests = m.counterVec("http_requests_total", "HTTP requests that were answered.", "method", "path", "status")
	m.httpDuration = m.histogramVec("http_request_duration_seconds",
		"Time from an HTTP request to the end of the response.",
		prometheus.ExponentialBuckets(0.0005, 2.5, 14), "method", "path")
	m.httpInFlight = m.gauge("http_requests_in_flight", "HTTP requests that are being answered.")
	m.panics = m.counter("http_panics_total", "HTTP requests that failed with an internal error.")
}

func (m *Metrics) makeQueries() {
	m.queries = m.counterVec("queries_total", "Statements, by outcome: ok or an error's code.", "outcome")
	m.queryDuration = m.histogramVec("query_duration_seconds", "Time from a statement's arrival to its last row.",
		prometheus.ExponentialBuckets(0.0005, 2.5, 14), "outcome")
	m.rowsReturned = m.counter("rows_returned_total", "Rows that statements returned.")
	m.bytesReturned = m.counter("query_bytes_returned_total", "Bytes of results, as they were sent.")
}

func (m *Metrics) makeRuntime() {
	m.generation = m.gauge("generation", "The generation that new statements see.")
	m.functions = m.gauge("functions", "Functions that are registered.")
	m.datasets = m.gauge("datasets", "Datasets and views that are loaded.")
	m.loadProblems = m.gauge("load_problems", "Problems of the last load.")
	m.reloads = m.counterVec("reloads_total", "Loads of the Spicepod, by outcome.", "outcome")
	m.lastReload = m.gauge("last_reload_success_timestamp_seconds", "When the Spicepod was last loaded.")
	m.datasetRows = m.gaugeVec("dataset_rows", "Rows of an accelerated dataset.", "dataset")
	m.datasetRefresh = m.gaugeVec("dataset_last_refresh_timestamp_seconds",
		"When a dataset was last refreshed.", "dataset")
	m.snapshots = m.counterVec("dataset_snapshots_total",
		"Snapshots of a dataset, by outcome: written, unchanged, write_failed, loaded or load_failed.", "dataset", "outcome")
	m.lastSnapshot = m.gaugeVec("dataset_last_snapshot_timestamp_seconds",
		"When a snapshot of a dataset was last written.", "dataset")
	m.refreshes = m.counterVec("dataset_refreshes_total", "Refreshes of a dataset, by outcome.", "dataset", "outcome")
}

// ObserveHTTP counts an answered request. path is the route's pattern.
func (m *Metrics) ObserveHTTP(method, path string, status int, took time.Duration) {
	method = boundedMethod(method)
	m.httpRequests.WithLabelValues(method, path, strconv.Itoa(status)).Inc()
	m.httpDuration.WithLabelValues(method, path).Observe(took.Seconds())
}

// boundedMethod replaces unknown methods, which clients may invent.
func boundedMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions:
		return method
	}
	return "other"
}

// HTTPStarted counts a request as being answered, until the returned function
// is called.
func (m *Metrics) HTTPStarted() (ended func()) {
	m.httpInFlight.Inc()
	return m.httpInFlight.Dec
}

// HTTPPanicked counts a request that failed with a panic.
func (m *Metrics) HTTPPanicked() { m.panics.Inc() }

// ObserveQuery counts a statement, with its outcome (ok or an error's code) and the rows
// and bytes that were sent.
func (m *Metrics) ObserveQuery(outcome string, took time.Duration, rows, bytes int64) {
	m.queries.WithLabelValues(outcome).Inc()
	m.queryDuration.WithLabelValues(outcome).Observe(took.Seconds())
	m.rowsReturned.Add(float64(rows))
	m.bytesReturned.Add(float64(bytes))
}

// SetGeneration records what was published: the generation's number, and its numbers of
// functions, datasets and problems.
func (m *Metrics) SetGeneration(generation uint64, functions, datasets, problems int) {
	m.generation.Set(float64(generation))
	m.functions.Set(float64(functions))
	m.datasets.Set(float64(datasets))
	m.loadProblems.Set(float64(problems))
}

// Reloaded counts a load of the Spicepod. Outcomes are "ok", "refused", "unchanged" and
// others; "ok" sets the time of the last success.
func (m *Metrics) Reloaded(outcome string) {
	m.reloads.WithLabelValues(outcome).Inc()
	if outcome == "ok" {
		m.lastReload.SetToCurrentTime()
	}
}

// Refreshed counts a refresh of a dataset. After a success it records rows and time.
func (m *Metrics) Refreshed(dataset, outcome string, rows int64, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known[dataset] = true
	m.refreshes.WithLabelValues(dataset, outcome).Inc()
	if outcome == "ok" {
		m.datasetRows.WithLabelValues(dataset).Set(float64(rows))
		m.datasetRefresh.WithLabelValues(dataset).Set(float64(at.UnixMilli()) / 1000)
	}
}

// Snapshot counts a snapshot of a dataset, and records when one was written.
func (m *Metrics) Snapshot(dataset, outcome string, written time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known[dataset] = true
	m.snapshots.WithLabelValues(dataset, outcome).Inc()
	if !written.IsZero() {
		m.lastSnapshot.WithLabelValues(dataset).Set(float64(written.UnixMilli()) / 1000)
	}
}

// KeepDatasets drops the series of datasets that are no longer declared.
func (m *Metrics) KeepDatasets(names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	keep := make(map[string]bool, len(names))
	for _, name := range names {
		keep[name] = true
	}
	for name := range m.known {
		if keep[name] {
			continue
		}
		delete(m.known, name)
		m.datasetRows.DeleteLabelValues(name)
		m.datasetRefresh.DeleteLabelValues(name)
		m.lastSnapshot.DeleteLabelValues(name)
		m.refreshes.DeletePartialMatch(prometheus.Labels{"dataset": name})
		m.snapshots.DeletePartialMatch(prometheus.Labels{"dataset": name})
	}
}

// WatchEngine exports the load of the engine, which load returns. Call it once.
func (m *Metrics) WatchEngine(load func() (running, waiting, abandoned int)) {
	show := func(name, help string, pick func(running, waiting, abandoned int) int) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help},
			func() float64 { return float64(pick(load())) }))
	}
	show("engine_statements_running", "Statements that run.", func(running, _, _ int) int { return running })
	show("engine_statements_waiting", "Statements that wait for a connection.", func(_, waiting, _ int) int {
		return waiting
	})
	show("engine_statements_abandoned", "Statements that ignore their interrupt.", func(_, _, abandoned int) int {
		return abandoned
	})
}
