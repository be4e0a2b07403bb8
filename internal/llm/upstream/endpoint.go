package upstream

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/httpx"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// Options configures an [Endpoint].
type Options struct {
	Model       string        // in the Spicepod, for messages
	KeyParam    string        // the param with the key, for messages
	BaseURL     string        // http or https, without a trailing slash; its query is sent with every request
	Header      http.Header   // sent with every request; includes the key
	Secrets     []string      // removed from messages
	Timeout     time.Duration // until the headers of an answer arrive; 0: DefaultTimeout
	IdleTimeout time.Duration // between two reads of a stream; 0: DefaultIdleTimeout; see [IdleFactor]
	Retries     int           // how often a request is sent again at most; negative: DefaultRetries
	HTTP        *http.Client  // nil: the shared one; its redirects and cookies are not used
	Lines       bool          // answers are JSON documents, one a line, instead of server-sent events
}

// Endpoint sends the requests of one model to its provider. It is safe for concurrent
// use; requests share connections.
type Endpoint struct {
	model   string
	key     string // the param with the key
	base    string // URL without a trailing slash and query
	host    string // of base, "" if it is invalid
	lines   bool   // see Options
	query   string // of the base URL
	header  http.Header
	timeout time.Duration
	idle    time.Duration
	retry   httpx.Retry
	client  *http.Client
	redact  func(string) string
}

// New returns an endpoint. The first request reports an invalid base URL.
func New(o Options) *Endpoint {
	secrets := slices.Clone(o.Secrets)
	base, err := url.Parse(o.BaseURL)
	if err != nil {
		base = &url.URL{}
	}
	if password, ok := base.User.Password(); ok {
		secrets = append(secrets, password)
	}
	query := base.RawQuery
	base.RawQuery, base.Fragment = "", ""
	retries := o.Retries
	if retries < 0 {
		retries = DefaultRetries
	}
	header := http.Header{
		"Content-Type": {"application/json"},
		"Accept":       {"text/event-stream, application/json"},
		"User-Agent":   {"spiced"},
	}
	maps.Copy(header, o.Header)
	return &Endpoint{
		model:   o.Model,
		key:     o.KeyParam,
		base:    strings.TrimRight(base.String(), "/"),
		host:    base.Hostname(),
		query:   query,
		header:  header,
		timeout: cmp.Or(o.Timeout, DefaultTimeout),
		idle:    cmp.Or(o.IdleTimeout, DefaultIdleTimeout),
		retry:   httpx.Providers(min(retries, MaxRetries)),
		client:  client(o.HTTP),
		lines:   o.Lines,
		redact:  httpx.Redaction(secrets),
	}
}

// Stream posts body to path, which begins with a slash, and yields the events of the
// answer. header overrides the endpoint's own headers.
//
// An error is a [*chat.Error] in the last pair. The request is retried only before the
// first event. The request ends as soon as the consumer stops or ctx ends. A stream
// that ends early is not an error here: only the reader of the events knows whether
// something is missing.
func (e *Endpoint) Stream(ctx context.Context, path string, body []byte, header http.Header) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		answer, failed := e.send(ctx, path, body, header)
		if failed != nil {
			yield(Event{}, failed)
			return
		}
		defer answer.Close()
		if failed := e.events(ctx, answer, yield); failed != nil {
			yield(Event{}, failed)
		}
	}
}

// events yields the events of an answer; it returns nil if the consumer stops.
func (e *Endpoint) events(ctx context.Context, answer *answer, yield func(Event, error) bool) *chat.Error {
	d := newDecoder(answer)
	d.lines = e.lines
	for {
		event, err := d.next(ctx)
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return e.broken(ctx, answer, err)
		}
		event.progressed = answer.progressed
		end := event.last()
		more := yield(event, nil)
		if end {
			answer.drain()
		}
		if end || !more {
			return nil
		}
	}
}

// target returns the URL of a path, with the query of the base URL.
func (e *Endpoint) target(path string) string {
	switch {
	case e.query == "":
		return e.base + path
	case strings.Contains(path, "?"):
		return e.base + path + "&" + e.query
	}
	return e.base + path + "?" + e.query
}

// Fail returns an error that names the model; the message says in one line what is wrong.
// Secrets are removed from its arguments.
func (e *Endpoint) Fail(code errcode.Code, format string, args ...any) *chat.Error {
	// The provider's part is at most MaxMessage; leave room for ours.
	text := truncate.Line(httpx.Redactf(e.redact, format, args...), 2*MaxMessage)
	return &chat.Error{Code: code, Message: fmt.Sprintf("model %q: %s", e.model, text)}
}

// Host returns the host of the base URL, without the port.
func (e *Endpoint) Host() string { return e.host }
