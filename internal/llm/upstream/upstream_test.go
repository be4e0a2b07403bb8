package upstream_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/upstream"
)

const key = "sk-very-secret"

// serve starts a provider and returns an endpoint for it.
func serve(t *testing.T, h http.HandlerFunc, change ...func(*upstream.Options)) *upstream.Endpoint {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	o := upstream.Options{
		Model: "m", KeyParam: "openai_api_key", BaseURL: server.URL + "/v1", Retries: 1, Secrets: []string{key},
		Header: http.Header{"Authorization": {"Bearer " + key}},
		HTTP:   &http.Client{Transport: &http.Transport{DisableCompression: true}},
	}
	t.Cleanup(o.HTTP.CloseIdleConnections)
	for _, c := range change {
		c(&o)
	}
	return upstream.New(o)
}

// all reads a stream; each event is "type|data".
func all(ctx context.Context, e *upstream.Endpoint) ([]string, *chat.Error) {
	var events []string
	for event, err := range e.Stream(ctx, "/chat/completions", []byte(`{"b":1, "a":2}`), nil) {
		if err != nil {
			return events, chat.AsError(err)
		}
		events = append(events, event.Type+"|"+string(event.Data))
	}
	return events, nil
}

func answer(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, body)
	}
}

func TestEvents(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	for name, c := range map[string]struct{ body, want string }{
		"plain":                     {"data: 1\n\ndata: 2\n\n", "|1 |2"},
		"CRLF":                      {"event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", "a|1 |2"},
		"comments":                  {": hello\n\n: wait\ndata: 1\n: x\n\n", "|1"},
		"no empty line at the end":  {"data: 1\n\ndata: 2", "|1 |2"},
		"one line end at the end":   {"data: 1\n\ndata: 2\n", "|1 |2"},
		"several lines of data":     {"data: 1\ndata: 2\ndata\n\n", "|1\n2\n"},
		"no space after the colon":  {"event:a\ndata:1\n\n", "a|1"},
		"one space only is removed": {"data:  1\n\n", "| 1"},
		"a name without data":       {"event: a\n\ndata: 1\n\n", "|1"},
		"the same name twice":       {"event: a\ndata: 1\n\nevent: a\ndata: 2\n\n", "a|1 a|2"},
		"unknown fields":            {"id: 7\nretry: 3\ndata: 1\n\n", "|1"},
		"byte order mark":           {"\uFEFFdata: 1\n\n", "|1"},
		"lines to begin with":       {"\n\n\ndata: 1\n\n", "|1"},
		"nothing":                   {"", ""},
		"a long line":               {"data: " + long + "\n\ndata: 2\n\n", "|" + long + " |2"},
		"nothing follows the last":  {"data: [DONE]\n\ndata: 2\n\n", "|[DONE]"},
		"JSON in place of a stream": {" \n{\"a\":\n1}\n", "json|{\"a\":\n1}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			events, err := all(t.Context(), serve(t, answer(c.body)))
			if got := strings.Join(events, " "); err != nil || got != c.want {
				t.Errorf("%.80q %v, want %.80q", got, err, c.want)
			}
		})
	}
}

func TestTooLongAnEvent(t *testing.T) {
	piece := strings.Repeat("x", 1<<20)
	for name, between := range map[string]string{"one line": "", "several lines": "\ndata: "} {
		t.Run(name, func(t *testing.T) {
			_, err := all(t.Context(), serve(t, answer("data: "+strings.Repeat(piece+between, 33)+"\n\n")))
			if err == nil || err.Code != errcode.StreamBroken || !strings.Contains(err.Message, "too long") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestRequest(t *testing.T) {
	var got *http.Request
	var body string
	e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got, body = r, string(b)
		io.WriteString(w, "data: 1\n\n")
	}, func(o *upstream.Options) {
		o.BaseURL += "?api-version=2026-01-01"
		o.Header.Set("Anthropic-Version", "2023-06-01")
	})
	header := http.Header{"Anthropic-Version": {"2099-01-01"}, "X-Beta": {"a", "b"}}
	for _, err := range e.Stream(t.Context(), "/messages?beta=true", []byte(`{"b":1, "a":2}`), header) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if want := "/v1/messages?beta=true&api-version=2026-01-01"; got.URL.String() != want {
		t.Errorf("URL %s, want %s", got.URL, want)
	}
	if body != `{"b":1, "a":2}` {
		t.Errorf("body %s", body)
	}
	want := map[string]string{
		"Authorization": "Bearer " + key, "User-Agent": "spiced", "Content-Type": "application/json",
		"Anthropic-Version": "2099-01-01", "X-Beta": "a,b", "Content-Length": "14",
		"Accept": "text/event-stream, application/json", "Accept-Encoding": "",
	}
	for name, value := range got.Header {
		if w, ok := want[name]; !ok || w != strings.Join(value, ",") {
			t.Errorf("header %s: %q, want %q", name, value, w)
		}
	}
}

func TestEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "from-the-environment")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
	e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "data: "+r.Header.Get("Authorization")+"\n\n")
	}, func(o *upstream.Options) { o.Header = nil })
	if events, err := all(t.Context(), e); err != nil || events[0] != "|" {
		t.Errorf("%q %v", events, err)
	}
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		status   int
		header   http.Header
		body     string
		code     errcode.Code
		attempts int32
		after    time.Duration
		message  string
	}{
		"key": {
			status: 401, body: `{"error":{"message":"bad key sk-ve****cret\nsorry","code":"invalid_api_key"}}`, code: errcode.ProviderRefused,
			attempts: 1, message: `model "m": the provider rejected the API key (401 invalid_api_key Unauthorized); check params.openai_api_key of the model`,
		},
		"model": {
			status: 404, body: `{"error":"no such model"}`, code: errcode.ProviderRefused, attempts: 1,
			message: `has no such model or path (404): no such model; check from`,
		},
		"wrong":         {status: 400, body: `{"detail":"temperature is 9"}`, code: errcode.InvalidRequest, attempts: 1, message: "(400): temperature is 9"},
		"not processed": {status: 422, body: `{"message":"no"}`, code: errcode.InvalidRequest, attempts: 1, message: "(422): no"},
		"in a list": {
			status: 400, body: `[{"error":{"code":400,"message":"Gemini says no"}}]`, code: errcode.InvalidRequest, attempts: 1,
			message: "Gemini says no",
		},
		"too large": {status: 413, body: "", code: errcode.RequestTooLarge, attempts: 1, message: "too large"},
		"unpaid": {
			status: 402, body: `{"error":{"message":"insufficient balance"}}`, code: errcode.ProviderRefused, attempts: 1,
			message: "insufficient balance",
		},
		"busy": {
			status: 429, header: http.Header{"Retry-After-Ms": {"1"}}, body: `{}`, code: errcode.RateLimited, attempts: 2, after: time.Millisecond,
			message: "(429 Too Many Requests)",
		},
		"busy for long": {status: 429, header: http.Header{"Retry-After": {"90"}}, code: errcode.RateLimited, attempts: 1, after: 90 * time.Second},
		"busy forever":  {status: 429, header: http.Header{"Retry-After": {"1e300"}}, code: errcode.RateLimited, attempts: 1, after: 24 * time.Hour},
		"no quota": {
			status: 429, header: http.Header{"Retry-After-Ms": {"1"}}, body: `{"error":{"message":"pay","code":"insufficient_quota"}}`,
			code: errcode.RateLimited, attempts: 1, after: time.Millisecond, message: "pay",
		},
		"page": {
			status: 500, header: http.Header{"Retry-After-Ms": {"1"}}, body: "<html>oops</html>", code: errcode.ProviderError, attempts: 2,
			after: time.Millisecond, message: "(500 Internal Server Error)",
		},
		"overloaded": {
			status: 529, header: http.Header{"Retry-After-Ms": {"1"}},
			body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, code: errcode.ProviderError, attempts: 2, after: time.Millisecond,
			message: "(529): Overloaded",
		},
		"no retry":     {status: 500, header: http.Header{"X-Should-Retry": {"false"}}, code: errcode.ProviderError, attempts: 1},
		"not modified": {status: 304, code: errcode.ProviderError, attempts: 1},
		"endless":      {status: 400, body: "a" + strings.Repeat("b", 1<<20), code: errcode.InvalidRequest, attempts: 1, message: "ab"},
	} {
		t.Run(name, func(t *testing.T) {
			var attempts atomic.Int32
			e := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				attempts.Add(1)
				for k, v := range c.header {
					w.Header()[k] = v
				}
				w.WriteHeader(c.status)
				io.WriteString(w, c.body)
			})
			events, err := all(t.Context(), e)
			if err == nil || len(events) > 0 {
				t.Fatalf("%q, no error", events)
			}
			if err.Code != c.code || attempts.Load() != c.attempts || err.RetryAfter != c.after || err.Retried != (c.attempts > 1) {
				t.Errorf("code %s, %d attempts, retry after %s, retried %v", err.Code, attempts.Load(), err.RetryAfter, err.Retried)
			}
			if !strings.Contains(err.Message, c.message) || !strings.Contains(err.Message, `"m"`) || len(err.Message) > 3<<10 {
				t.Errorf("%s", err.Message)
			}
			if leaks(err) {
				t.Errorf("the key is in %v", err)
			}
		})
	}
}

func leaks(err error) bool {
	return strings.Contains(fmt.Sprintf("%v %+v %v", err, err, errors.Unwrap(err)), key)
}

func TestHalfASecretIsNotShown(t *testing.T) {
	e := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(400)
		io.WriteString(w, strings.Repeat("x", upstream.MaxMessage-5)+key)
	})
	if _, err := all(t.Context(), e); strings.Contains(err.Message, key[:4]) {
		t.Errorf("%s", err.Message[upstream.MaxMessage-20:])
	}
}

func TestSucceedsAfterFailures(t *testing.T) {
	var n atomic.Int32
	e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); string(body) != `{"b":1, "a":2}` {
			t.Errorf("attempt %d has the body %s", n.Load(), body)
		}
		w.Header().Set("Retry-After-Ms", "1")
		switch n.Add(1) {
		case 1:
			w.WriteHeader(503)
		case 2:
			w.WriteHeader(429)
		default:
			io.WriteString(w, "data: 1\n\n")
		}
	}, func(o *upstream.Options) { o.Retries = 2 })
	if events, err := all(t.Context(), e); err != nil || len(events) != 1 {
		t.Errorf("%q %v", events, err)
	}
}

func TestBreaksInTheMiddle(t *testing.T) {
	var n atomic.Int32
	e := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		n.Add(1)
		io.WriteString(w, "data: 1\n\ndata: 2")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	events, err := all(t.Context(), e)
	if err == nil || err.Code != errcode.StreamBroken || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", err)
	}
	if len(events) != 1 || n.Load() != 1 {
		t.Errorf("%q after %d attempts: half an event was yielded, or the request sent again", events, n.Load())
	}
}

func TestUnreachable(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	e := upstream.New(upstream.Options{Model: "m", BaseURL: "http://user:" + key + "@" + address, Retries: 1})
	_, failed := all(t.Context(), e)
	if failed == nil || failed.Code != errcode.ProviderError || !failed.Retried || leaks(failed) {
		t.Errorf("%v", failed)
	}
	for _, base := range []string{"", "://", "ftp://127.0.0.1", "http://[::1"} {
		if _, failed := all(t.Context(), upstream.New(upstream.Options{Model: "m", BaseURL: base})); failed == nil {
			t.Errorf("base URL %q: no error", base)
		}
	}
}

// hang sends body and then nothing until the client leaves, which it signals.
func hang(body string) (http.HandlerFunc, <-chan struct{}) {
	left := make(chan struct{}, 8)
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if body != "" {
			io.WriteString(w, body)
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
		left <- struct{}{}
	}, left
}

func TestHangs(t *testing.T) {
	for name, c := range map[string]struct {
		body   string
		events int
		says   string
	}{
		"before the head": {"", 0, "did not begin to answer within 5m0s"},
		"in the middle":   {"data: 1\n\n", 1, "nothing for 4m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, left := hang(c.body)
				e := upstream.New(upstream.Options{
					Model: "m", BaseURL: "http://provider/v1", Retries: 1, Timeout: 5 * time.Minute, IdleTimeout: 4 * time.Minute,
					HTTP: &http.Client{Transport: inBubble(t, h)},
				})
				events, err := all(t.Context(), e)
				if len(events) != c.events || err == nil || err.Code != errcode.ProviderTimeout || err.Retried || !strings.Contains(err.Message, c.says) {
					t.Errorf("%q %+v", events, err)
				}
				<-left
			})
		})
	}
}

// inBubble starts a provider in a synctest bubble, which has no network, and returns a
// transport to it.
func inBubble(t *testing.T, h http.Handler) *http.Transport {
	l := make(pipes)
	server := &http.Server{Handler: h}
	go server.Serve(l)
	transport := &http.Transport{DisableCompression: true, DialContext: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		l <- there
		return here, nil
	}}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
	})
	return transport
}

// pipes is a listener of in-memory connections.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, open := <-p
	if !open {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p pipes) Close() error {
	close(p)
	return nil
}

func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func TestIdleTimeIsTheProvidersOnly(t *testing.T) {
	body := "data: 1\n\n" + strings.Repeat(": pad\n", 20_000) + "data: 2\n\n"
	synctest.Test(t, func(t *testing.T) {
		e := upstream.New(upstream.Options{
			Model: "m", BaseURL: "http://127.0.0.1", Timeout: time.Minute, IdleTimeout: time.Second,
			HTTP: &http.Client{Transport: fixed(func() io.Reader { return strings.NewReader(body) })},
		})
		n := 0
		for _, err := range e.Stream(t.Context(), "/x", nil, nil) {
			if err != nil {
				t.Fatal(err)
			}
			n++
			time.Sleep(time.Hour) // of the bubble: a slow reader
		}
		if n != 2 {
			t.Errorf("%d events", n)
		}
	})
}

func TestLeavingEndsTheRequest(t *testing.T) {
	t.Run("the consumer stops", func(t *testing.T) {
		h, left := hang("data: 1\n\n")
		for range serve(t, h).Stream(t.Context(), "/x", nil, nil) {
			break
		}
		<-left
	})
	t.Run("the context ends", func(t *testing.T) {
		h, left := hang("data: 1\n\n")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var last error
		for _, err := range serve(t, h).Stream(ctx, "/x", nil, nil) {
			last = err
			cancel()
		}
		if chat.AsError(last).Code != errcode.Cancelled || !errors.Is(last, context.Canceled) {
			t.Errorf("%v", last)
		}
		<-left
	})
	t.Run("the context ends before the head", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		e := serve(t, func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			cancel()
			<-r.Context().Done()
		})
		if _, err := all(ctx, e); err.Code != errcode.Cancelled {
			t.Errorf("%v", err)
		}
	})
	t.Run("the context ends between attempts", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		e := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "50")
			w.WriteHeader(429)
			cancel()
		})
		if _, err := all(ctx, e); err.Code != errcode.Cancelled {
			t.Errorf("%v", err)
		}
	})
}

func TestNoGoroutineIsLeft(t *testing.T) {
	h, left := hang("data: 1\n\n")
	e := serve(t, h)
	before := runtime.NumGoroutine()
	for range 20 {
		for range e.Stream(t.Context(), "/x", []byte("{}"), nil) {
			break
		}
		<-left
	}
	deadline := time.Now().Add(5 * time.Second)
	for runtime.NumGoroutine() > before+3 {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
		runtime.Gosched()
	}
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	var opened atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		io.WriteString(w, "data: [DONE]\n\n")
		w.(http.Flusher).Flush()
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	e := upstream.New(upstream.Options{Model: "m", BaseURL: server.URL})
	for range 20 {
		for event, err := range e.Stream(t.Context(), "/x", nil, nil) {
			if err != nil {
				t.Fatal(err)
			}
			if string(event.Data) == "[DONE]" {
				break
			}
		}
	}
	if opened.Load() != 1 {
		t.Errorf("%d connections for 20 requests", opened.Load())
	}
}

func TestRedirects(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the other host was asked") }))
	defer other.Close()
	for name, c := range map[string]struct {
		status int
		target string
		says   string
	}{
		"same host":  {307, "/v2/x", ""},
		"other host": {307, other.URL, "another host"},
		"as a page":  {302, "/v2/x", "as to a page"},
		"cycle":      {307, "/v1/x", "more than 3 times"},
		"to nowhere": {307, "", "307"},
	} {
		t.Run(name, func(t *testing.T) {
			e := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/v2/x" {
					body, _ := io.ReadAll(r.Body)
					fmt.Fprintf(w, "data: %s\n\n", body)
					return
				}
				if c.target != "" {
					w.Header().Set("Location", c.target)
				}
				w.WriteHeader(c.status)
			})
			events, err := all(t.Context(), e)
			switch {
			case c.says == "" && (err != nil || len(events) != 1 || events[0] != `|{"b":1, "a":2}`):
				t.Errorf("%q %v", events, err)
			case c.says != "" && (err == nil || err.Retried || !strings.Contains(err.Message, c.says)):
				t.Errorf("%v", err)
			}
		})
	}
}

func TestPageInPlaceOfAStream(t *testing.T) {
	_, err := all(t.Context(), serve(t, answer("<!doctype html>")))
	if err == nil || err.Code != errcode.StreamBroken || !strings.Contains(err.Message, "params.endpoint") {
		t.Errorf("%v", err)
	}
}

func TestFailNamesTheModelAndHidesSecrets(t *testing.T) {
	e := upstream.New(upstream.Options{Model: "m", Secrets: []string{"", "abc", "abcdef"}})
	failed := e.Fail(errcode.StreamBroken, "abcdef said\n%s and %s of abcde", "abcdef", errors.New("abc"))
	if failed.Code != errcode.StreamBroken || failed.Message != `model "m": abcdef said *** and *** of abcde` {
		t.Errorf("%+v", failed)
	}
}

func TestTLS(t *testing.T) {
	server := httptest.NewTLSServer(answer("data: 1\n\n"))
	defer server.Close()
	o := upstream.Options{Model: "m", BaseURL: server.URL, HTTP: server.Client(), Retries: 1}
	if events, err := all(t.Context(), upstream.New(o)); err != nil || len(events) != 1 {
		t.Errorf("%q %v", events, err)
	}
	o.HTTP = nil
	if _, err := all(t.Context(), upstream.New(o)); err == nil || err.Retried || !strings.Contains(err.Message, "certificate") {
		t.Errorf("a certificate of an unknown authority: %v", err)
	}
}

// fixed answers with bytes, without a network.
type fixed func() io.Reader

func (f fixed) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(f())}, nil
}

func FuzzEvents(f *testing.F) {
	f.Add("event: a\r\ndata: 1\r\n\r\n: c\ndata:2\ndata\n\ndata: [DONE]")
	f.Add("\uFEFF {\"a\":1}")
	f.Add("<html>")
	f.Add("data\n\n\n\nevent\ndata:\r\n\r")
	f.Fuzz(func(t *testing.T, body string) {
		read := func(r func() io.Reader) string {
			e := upstream.New(upstream.Options{Model: "m", BaseURL: "http://127.0.0.1", HTTP: &http.Client{Transport: fixed(r)}})
			events, err := all(t.Context(), e)
			if err != nil && err.Code != errcode.StreamBroken {
				t.Fatalf("%v", err)
			}
			return fmt.Sprintf("%q %v", events, err)
		}
		whole := read(func() io.Reader { return strings.NewReader(body) })
		if pieces := read(func() io.Reader { return iotest.OneByteReader(strings.NewReader(body)) }); pieces != whole {
			t.Errorf("byte by byte %s\nat once %s", pieces, whole)
		}
	})
}
