package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// modelMetrics are the metrics of language models.
type modelMetrics struct {
	chats       *prometheus.CounterVec
	rounds      *prometheus.CounterVec
	tokens      *prometheus.CounterVec
	definitions *prometheus.HistogramVec
	duration    *prometheus.HistogramVec
	firstToken  *prometheus.HistogramVec
}

func (m *Metrics) makeModels() {
	buckets := prometheus.ExponentialBuckets(0.01, 2, 14)
	m.models = modelMetrics{
		chats: m.counterVec("model_chats_total", "Chats with a model, by how they ended: ok or an error's code.",
			"model", "outcome"),
		rounds: m.counterVec("model_rounds_total", "Requests to a model's provider.", "model"),
		tokens: m.counterVec("model_tokens_total",
			"Tokens as the provider counts them: input (with those of caches), output, cache_read, cache_write.",
			"model", "kind"),
		definitions: m.histogramVec("model_definition_tokens",
			"About how many tokens the definitions of tools cost in a chat, in all of its requests to the provider.",
			prometheus.ExponentialBuckets(100, 2, 14), "model"),
		duration:   m.histogramVec("model_chat_duration_seconds", "Time of a chat, with its tools.", buckets, "model"),
		firstToken: m.histogramVec("model_first_token_seconds", "Time to a chat's first token.", buckets, "model"),
	}
}

// Chat is the outcome of a chat, for [Metrics.Chatted].
type Chat struct {
	Model, Code                          string // Code is "" or that of the error
	Rounds                               int
	Input, Output, CacheRead, CacheWrite int64         // tokens
	DefinitionTokens                     int64         // an estimate
	FirstToken, Took                     time.Duration // FirstToken is 0 when there was none
}

// Chatted counts a chat with a declared model.
func (m *Metrics) Chatted(c Chat) {
	outcome := "ok"
	if c.Code != "" {
		outcome = c.Code
	}
	m.models.chats.WithLabelValues(c.Model, outcome).Inc()
	m.models.rounds.WithLabelValues(c.Model).Add(float64(c.Rounds))
	for kind, n := range map[string]int64{
		"input": c.Input, "output": c.Output, "cache_read": c.CacheRead,
		"cache_write": c.CacheWrite,
	} {
		m.models.tokens.WithLabelValues(c.Model, kind).Add(float64(max(n, 0)))
	}
	m.models.definitions.WithLabelValues(c.Model).Observe(float64(c.DefinitionTokens))
	m.models.duration.WithLabelValues(c.Model).Observe(c.Took.Seconds())
	if c.FirstToken > 0 {
		m.models.firstToken.WithLabelValues(c.Model).Observe(c.FirstToken.Seconds())
	}
}
