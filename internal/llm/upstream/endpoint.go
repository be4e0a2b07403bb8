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

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/httpx"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// Options configures an [Endpoint].
type Options struct {
	Model       string        // in the Spicepod, for messages
	BaseURL     string        // http or https, without a trailing slash; its query is sent with every request
	Header      http.Header   // sent with every request; includes the key
	Secrets     []string      // removed from messages
	Timeout     time.Duration // until the headers of an answer arrive; 0: DefaultTimeout
	IdleTimeout time.Duration // between two reads of a stream; 0: DefaultIdleTimeout; see [IdleFactor]
	Retries     int           // how often a request is sent again at most; negative: DefaultRetries
	HTTP        *http.Client  // nil: the shared one; its redirects and cookies are not used
}

// Endpoint sends the requests of one model to its provider. It is safe for concurrent
// use; requests share connections.
type Endpoint struct {
	model   string
	host    string
	query   string // of the base URL
	timeout time.Duration
	idle    time.Duration
	client  openai.Client
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
	return &Endpoint{
		model:   o.Model,
		host:    base.Hostname(),
		query:   query,
		timeout: cmp.Or(o.Timeout, DefaultTimeout),
		idle:    cmp.Or(o.IdleTimeout, DefaultIdleTimeout),
		redact:  httpx.Redaction(secrets),
		// A literal, because openai.NewClient reads OPENAI_API_KEY and others from the
		// environment.
		client: openai.Client{Options: append(
			headers(o.Header),
			option.WithBaseURL(base.String()),
			option.WithHTTPClient(client(o.HTTP)),
			option.WithMaxRetries(min(retries, MaxRetries)),
		)},
	}
}

// headers returns the options that set the headers of every request and remove those
// that identify the client.
func headers(h http.Header) []option.RequestOption {
	options := []option.RequestOption{
		option.WithHeader("User-Agent", "spiced"),
		option.WithHeader("Accept", "text/event-stream, application/json"),
	}
	for _, name := range []string{
		"Lang", "Package-Version", "OS", "Arch", "Runtime", "Runtime-Version", "Retry-Count", "Timeout",
	} {
		options = append(options, option.WithHeaderDel("X-Stainless-"+name))
	}
	return append(options, set(h)...)
}

func set(h http.Header) []option.RequestOption {
	var options []option.RequestOption
	for _, name := range slices.Sorted(maps.Keys(h)) {
		options = append(options, option.WithHeaderDel(name))
		for _, value := range h[name] {
			options = append(options, option.WithHeaderAdd(name, value))
		}
	}
	return options
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
		c := &call{endpoint: e}
		answer, failed := c.send(ctx, path, body, header)
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
	for {
		event, err := d.next()
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

// target returns the path with the query of the base URL.
func (e *Endpoint) target(path string) string {
	if e.query == "" {
		return path
	}
	if strings.Contains(path, "?") {
		return path + "&" + e.query
	}
	return path + "?" + e.query
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
