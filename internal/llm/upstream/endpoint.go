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

	"github.com/spiced-sql/spiced/internal/kit/httpx"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// Options say where a model's provider is.
type Options struct {
	Model       string        // its name in the Spicepod, for messages
	BaseURL     string        // http or https, without a slash at its end; every request keeps its query
	Header      http.Header   // of every request, with the key
	Secrets     []string      // texts that no message may hold
	Timeout     time.Duration // until the head of an answer is there; 0: DefaultTimeout
	IdleTimeout time.Duration // between two pieces of a stream; 0: DefaultIdleTimeout
	Retries     int           // how often a request is sent again; negative: DefaultRetries
	HTTP        *http.Client  // nil: the shared one; its redirects and cookies are not used
}

// Endpoint is a provider as one model reaches it. It is safe for concurrent
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

// New returns the endpoint. A base URL that is none is reported by the first
// request.
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
		// A literal, for openai.NewClient reads OPENAI_API_KEY and others from
		// the environment.
		client: openai.Client{Options: append(
			headers(o.Header),
			option.WithBaseURL(base.String()),
			option.WithHTTPClient(client(o.HTTP)),
			option.WithMaxRetries(min(retries, MaxRetries)),
		)},
	}
}

// headers are the options for the headers of every request. What the client
// adds about itself is left out.
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

// Stream posts body to path, which begins with a slash, and yields the events
// of the answer. header is set beside, and in place of, the endpoint's own.
//
// An error is a [*chat.Error] and the last pair. The request is sent again
// only before the first event. A consumer that stops, or ctx as it ends, ends
// the request at once. The end of a stream is no error here, wherever it
// comes: only the reader of the events knows whether something is missing.
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

// events yields what an answer holds; nil also when the consumer stops.
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

// target is the path with the query of the base URL.
func (e *Endpoint) target(path string) string {
	if e.query == "" {
		return path
	}
	if strings.Contains(path, "?") {
		return path + "&" + e.query
	}
	return path + "?" + e.query
}

// Fail is an error that names the model: message says what is wrong, in one
// line. Secrets are taken out.
func (e *Endpoint) Fail(code chat.Code, message string) *chat.Error {
	// The provider's part is at most MaxMessage; ours stands around it.
	text := truncate.Line(e.redact(message), 2*MaxMessage)
	return &chat.Error{Code: code, Message: fmt.Sprintf("model %q: %s", e.model, text)}
}

// Host is the host of the base URL, without its port.
func (e *Endpoint) Host() string { return e.host }
