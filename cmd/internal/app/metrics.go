package app

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics is everything /metrics shows. Label values are closed sets (classes,
// typed reasons, states): a name from an event never becomes a label, because
// whoever sends events could then fill the memory.
type metrics struct {
	registry *prometheus.Registry

	events      *prometheus.CounterVec
	deadLetters *prometheus.CounterVec
	ingest      *prometheus.CounterVec
	dropped     prometheus.Counter
	captures    *prometheus.CounterVec
	waits       *prometheus.CounterVec
	slack       *prometheus.CounterVec
	requests    *prometheus.CounterVec
	stage       *prometheus.HistogramVec
	toCapture   prometheus.Histogram
	queueLag    prometheus.Histogram
}

// fast are buckets for what should take milliseconds.
var fast = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

func newMetrics(version string) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "snapflame_events_total",
			Help: "Events handled, once each, by class and what was decided.",
		}, []string{"class", "decision"}),
		deadLetters: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "snapflame_dead_letters_total",
			Help: "Messages or parts of them that could not be read, by reason.",
		}, []string{"reason"}),
		ingest: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "snapflame_ingest_requests_total",
			Help: "HTTP ingest requests by path and status.",
		}, []string{"path", "status"}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "snapflame_tail_dropped_total",
			Help: "Events that Tail Workers said they had to drop, about.",
		}),
		captures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "snapflame_captures_total",
			Help: "Captures by type and how they ended: stored, or the kind of failure.",
		}, []string{"type", "result"}),
		waits: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "snapflame_capture_waits_total",
			Help: "How often a capture had to wait, by cause.",
		}, []string{"cause"}),
		slack: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "snapflame_slack_messages_total",
			Help: "Messages to Slack by kind and result.",
		}, []string{"kind", "result"}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "snapflame_slack_requests_total",
			Help: "What people asked in Slack, by kind and result.",
		}, []string{"kind", "result"}),
		stage: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "snapflame_stage_seconds",
			Help: "Time per stage of a report.", Buckets: fast,
		}, []string{"stage"}),
		toCapture: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "snapflame_event_to_capture_seconds",
			Help: "From the stream's having the opening event to the request to the profiling API, for captures that did not wait.", Buckets: fast,
		}),
		queueLag: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "snapflame_event_lag_seconds",
			Help: "From the stream's having an event to its decision.", Buckets: fast,
		}),
	}
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "snapflame_build_info", Help: "Always 1; the version is the label."}, []string{"version"})
	info.WithLabelValues(version).Set(1)
	m.registry.MustRegister(m.events, m.deadLetters, m.ingest, m.dropped, m.captures, m.waits, m.slack, m.requests, m.stage, m.toCapture, m.queueLag, info,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second})
}

func (m *metrics) ingested(path string, status, _ int) {
	m.ingest.WithLabelValues(path, strconv.Itoa(status)).Inc()
}

// tailDropped counts what never arrived, as its senders say.
func (m *metrics) tailDropped(n int) { m.dropped.Add(float64(n)) }

func (m *metrics) measured(stage string, took time.Duration) {
	m.stage.WithLabelValues(stage).Observe(took.Seconds())
}
