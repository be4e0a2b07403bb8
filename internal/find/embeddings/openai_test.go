package embeddings_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/test/podtest"
)

func TestEmbedSendsOpenAIsRequest(t *testing.T) {
	p := newProvider(t, func(_ int, r request, w http.ResponseWriter) { answer(w, r) })
	m := p.open(t, "openai_org_id: org, openai_project_id: proj")
	if m.Dimensions() != 0 {
		t.Errorf("dimensions are known before the first call: %d", m.Dimensions())
	}
	got, usage, err := embeddings.EmbedCounted(t.Context(), m, []string{"a", "bbb", "cc"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]float32{{1, 0}, {3, 1}, {2, 2}}, got); diff != "" {
		t.Error(diff)
	}
	if usage.TotalTokens != 7 || m.Dimensions() != 2 {
		t.Errorf("usage %v, dimensions %d", usage, m.Dimensions())
	}
	r := p.sent()[0]
	if r.body != `{"model":"m","input":["a","bbb","cc"],"encoding_format":"float"}` || r.path != "POST /v1/embeddings" {
		t.Errorf("sent %s %s", r.path, r.body)
	}
	for name, want := range map[string]string{
		"Authorization": "Bearer " + key, "OpenAI-Organization": "org", "OpenAI-Project": "proj", "Content-Type": "application/json",
	} {
		if got := r.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestAnEndpointNeedsNoKey(t *testing.T) {
	p := newProvider(t, func(_ int, r request, w http.ResponseWriter) { answer(w, r) })
	pod := podtest.Load(t, "embeddings: [{name: e, from: 'openai:m', params: {endpoint: '"+p.URL+"/'}}]\n")
	m, problem := embeddings.Open(pod, 0, p.options())
	if problem != nil {
		t.Fatal(problem)
	}
	if _, err := m.Embed(t.Context(), []string{"a"}); err != nil {
		t.Fatal(err)
	}
	if r := p.sent()[0]; r.path != "POST /embeddings" || r.header.Get("Authorization") != "" {
		t.Errorf("%s with %v", r.path, r.header)
	}
}

func TestNoTextsAskNobody(t *testing.T) {
	p := newProvider(t, text(500, ""))
	got, err := p.open(t, "").Embed(t.Context(), nil)
	if err != nil || len(got) != 0 || len(p.sent()) != 0 {
		t.Errorf("%v, %v, %d requests", got, err, len(p.sent()))
	}
}

func TestTextsTravelInBatches(t *testing.T) {
	p := newProvider(t, func(_ int, r request, w http.ResponseWriter) { answer(w, r) })
	var texts []string
	for i := range 23 {
		texts = append(texts, strings.Repeat("x", i+1))
	}
	got, usage, err := embeddings.EmbedCounted(t.Context(), p.open(t, "batch_size: 5"), texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if v[0] != float32(i+1) || v[1] != float32(i%5) {
			t.Errorf("text %d has the vector %v", i, v)
		}
	}
	if n := len(p.sent()); n != 5 || usage.TotalTokens != 5*7 {
		t.Errorf("%d requests, usage %v", n, usage)
	}
}

func TestBatches(t *testing.T) {
	cases := []struct {
		texts       []string
		count, size int
		want        [][]string
	}{
		{nil, 2, 10, nil},
		{[]string{"a"}, 2, 10, [][]string{{"a"}}},
		{[]string{"a", "b", "c"}, 2, 10, [][]string{{"a", "b"}, {"c"}}},
		{[]string{"aaa", "bb", "c"}, 9, 5, [][]string{{"aaa", "bb"}, {"c"}}},
		{[]string{"aaaaaaa", "b", "c"}, 9, 5, [][]string{{"aaaaaaa"}, {"b", "c"}}},
		{[]string{"b", "aaaaaaa", "c"}, 9, 5, [][]string{{"b"}, {"aaaaaaa"}, {"c"}}},
	}
	for _, c := range cases {
		if diff := cmp.Diff(c.want, embeddings.Batches(c.texts, c.count, c.size)); diff != "" {
			t.Errorf("%v by %d texts and %d bytes: %s", c.texts, c.count, c.size, diff)
		}
	}
}

// transport is an http.RoundTripper without a network, for synctest.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestOnlySoManyRequestsAreInFlight(t *testing.T) {
	pod := podtest.Load(t, "embeddings: [{name: e, from: 'openai:m', params: {endpoint: 'http://h', batch_size: 1}}]\n")
	synctest.Test(t, func(t *testing.T) {
		var now atomic.Int64
		release := make(chan struct{})
		m, problem := embeddings.Open(pod, 0, embeddings.Options{HTTP: &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) {
			now.Add(1)
			defer now.Add(-1)
			<-release
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(`{"data":[{"embedding":[1]}]}`))}, nil
		})}})
		if problem != nil {
			t.Fatal(problem)
		}
		var calls sync.WaitGroup
		for range 2 { // two calls share the bound
			calls.Go(func() {
				if _, err := m.Embed(t.Context(), strings.Fields(strings.Repeat("a ", 2*embeddings.MaxConcurrent))); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if n := now.Load(); n != embeddings.MaxConcurrent {
			t.Errorf("%d requests at once, want %d", n, embeddings.MaxConcurrent)
		}
		close(release)
		calls.Wait()
	})
}

func TestRetries(t *testing.T) {
	for _, status := range []int{408, 409, 429, 500, 502, 503, 504} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			p := newProvider(t, func(n int, r request, w http.ResponseWriter) {
				if n < 3 {
					w.WriteHeader(status)
					return
				}
				answer(w, r)
			})
			if _, err := p.open(t, "").Embed(t.Context(), []string{"a"}); err != nil {
				t.Fatal(err)
			}
			if len(p.list) != 2 || p.list[0] < 250*time.Millisecond || p.list[0] > 500*time.Millisecond ||
				p.list[1] < 500*time.Millisecond || p.list[1] > time.Second {
				t.Errorf("pauses %v", p.list)
			}
		})
	}
}

func TestRetriesEnd(t *testing.T) {
	p := newProvider(t, text(503, `{"error":{"message":"overloaded"}}`))
	_, err := p.open(t, "").Embed(t.Context(), []string{"a"})
	e := failure(t, err)
	want := `embedding model "e": the provider answered 503 Service Unavailable: overloaded (6 attempts)`
	if e.Error() != want || e.Status != 503 || !e.Retryable || e.Attempts != 6 || len(p.sent()) != 6 {
		t.Errorf("%v after %d requests", e, len(p.sent()))
	}
	if last := p.list[len(p.list)-1]; last > 8*time.Second {
		t.Errorf("pauses %v", p.list)
	}
}

func TestNoRetries(t *testing.T) {
	p := newProvider(t, text(503, ""))
	_, err := p.open(t, "max_retries: 0").Embed(t.Context(), []string{"a"})
	if failure(t, err); len(p.sent()) != 1 {
		t.Errorf("%d requests", len(p.sent()))
	}
}

func TestRefusals(t *testing.T) {
	long := strings.Repeat("ä", 1000)
	cases := []struct {
		name   string
		status int
		body   string
		want   string
	}{
		{"OpenAI", 400, `{"error":{"message":"bad input","type":"x"}}`, "400 Bad Request: bad input"},
		{"key", 401, `{"error":{"message":"Incorrect API key ` + key + `"}}`, "401 Unauthorized: Incorrect API key ***"},
		{"text", 404, `{"error":"model \"m\" not found"}`, `404 Not Found: model "m" not found`},
		{"detail", 422, `{"detail":"too long"}`, "422 Unprocessable Entity: too long"},
		{"message", 403, `{"object":"error","message":"no"}`, "403 Forbidden: no"},
		{"HTML", 403, `<html><body>blocked</body></html>`, "403 Forbidden"},
		{"plain", 413, "much\ttoo\x00\nlarge", "413 Request Entity Too Large: much too large"},
		{"long", 400, long, "400 Bad Request: " + strings.Repeat("ä", 200) + "…"},
		{"quota", 429, `{"error":{"message":"no credit","code":"insufficient_quota"}}`, "429 Too Many Requests: no credit"},
		{"no content", 204, "", "204 No Content"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := newProvider(t, text(c.status, c.body))
			_, err := p.open(t, "").Embed(t.Context(), []string{"a"})
			e := failure(t, err)
			if want := `embedding model "e": the provider answered ` + c.want; e.Error() != want || e.Retryable || e.Status != c.status {
				t.Errorf("%v, retryable %v\nwant %s", e, e.Retryable, want)
			}
			if len(p.sent()) != 1 {
				t.Errorf("%d requests", len(p.sent()))
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	cases := []struct {
		header, value string
		least, most   time.Duration
	}{
		{"Retry-After", "7", 7 * time.Second, 7 * time.Second},
		{"Retry-After", "60", time.Minute, time.Minute},
		{"Retry-After-Ms", "1500", 1500 * time.Millisecond, 1500 * time.Millisecond},
		{"Retry-After", time.Now().Add(30 * time.Second).UTC().Format(http.TimeFormat), 20 * time.Second, 30 * time.Second},
		{"Retry-After", "0", 250 * time.Millisecond, 500 * time.Millisecond},
		{"Retry-After", "-5", 250 * time.Millisecond, 500 * time.Millisecond},
		{"Retry-After", "soon", 250 * time.Millisecond, 500 * time.Millisecond},
		{"Retry-After", "NaN", 250 * time.Millisecond, 500 * time.Millisecond},
	}
	for _, c := range cases {
		t.Run(c.header+" "+c.value, func(t *testing.T) {
			p := newProvider(t, func(n int, r request, w http.ResponseWriter) {
				if n == 1 {
					w.Header().Set(c.header, c.value)
					w.WriteHeader(429)
					return
				}
				answer(w, r)
			})
			if _, err := p.open(t, "").Embed(t.Context(), []string{"a"}); err != nil {
				t.Fatal(err)
			}
			if len(p.list) != 1 || p.list[0] < c.least || p.list[0] > c.most {
				t.Errorf("pauses %v, want %s to %s", p.list, c.least, c.most)
			}
		})
	}
}

func TestALongRetryAfterFailsAtOnce(t *testing.T) {
	for _, value := range []string{"3600", "1e300"} {
		p := newProvider(t, func(_ int, _ request, w http.ResponseWriter) {
			w.Header().Set("Retry-After", value)
			w.WriteHeader(429)
		})
		_, err := p.open(t, "").Embed(t.Context(), []string{"a"})
		e := failure(t, err)
		if !e.Retryable || !strings.Contains(e.Message, "longer than 1m0s") || len(p.sent()) != 1 || len(p.list) != 0 {
			t.Errorf("%v after %d requests", e, len(p.sent()))
		}
	}
}

func TestBrokenConnections(t *testing.T) {
	cases := map[string]func(w http.ResponseWriter){
		"closed at once": func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"cut body": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, `{"data":[`)
		},
		"cut chunks": func(w http.ResponseWriter) {
			io.WriteString(w, `{"data":[`)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		},
	}
	for name, cut := range cases {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t, func(n int, r request, w http.ResponseWriter) {
				if n == 1 {
					cut(w)
					return
				}
				answer(w, r)
			})
			if _, err := p.open(t, "").Embed(t.Context(), []string{"a"}); err != nil || len(p.list) != 1 {
				t.Errorf("%v, pauses %v", err, p.list)
			}
		})
	}
}

func TestAConnectionThatIsAlwaysCut(t *testing.T) {
	p := newProvider(t, func(int, request, http.ResponseWriter) { panic(http.ErrAbortHandler) })
	_, err := p.open(t, "max_retries: 1").Embed(t.Context(), []string{"a"})
	e := failure(t, err)
	if !errors.Is(err, io.ErrUnexpectedEOF) || e.Message != "the connection was closed before the end of the answer" || e.Attempts != 2 {
		t.Error(e)
	}
}

func TestNobodyListens(t *testing.T) {
	p := newProvider(t, nil)
	m := p.open(t, "max_retries: 2")
	p.Close()
	_, err := m.Embed(t.Context(), []string{"a"})
	if e := failure(t, err); !e.Retryable || e.Status != 0 || e.Attempts != 3 || !strings.Contains(e.Message, "refused") {
		t.Error(e)
	}
}

func TestAnEndpointFromASecretIsNotShown(t *testing.T) {
	p := newProvider(t, nil)
	p.Close()
	t.Setenv("TEST_URL", p.URL)
	pod := podtest.Load(t, "embeddings: [{name: e, from: 'openai:m', params: {endpoint: '${env:TEST_URL}', max_retries: 0}}]\n")
	m, problem := embeddings.Open(pod, 0, p.options())
	if problem != nil {
		t.Fatal(problem)
	}
	_, err := m.Embed(t.Context(), []string{"a"})
	if e := failure(t, err); strings.Contains(e.Error(), "127.0.0.1") {
		t.Error(e)
	}
}

func TestTimeout(t *testing.T) {
	release := make(chan struct{})
	p := newProvider(t, func(int, request, http.ResponseWriter) { <-release })
	defer close(release)
	_, err := p.open(t, "timeout: 20ms, max_retries: 1").Embed(t.Context(), []string{"a"})
	e := failure(t, err)
	if !errors.Is(err, context.DeadlineExceeded) || !e.Retryable || e.Attempts != 2 || !strings.Contains(e.Message, "within 20ms (params.timeout)") {
		t.Error(e)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the client has gone")
	release := make(chan struct{})
	p := newProvider(t, func(int, request, http.ResponseWriter) { cancel(cause); <-release })
	defer close(release)
	if _, err := p.open(t, "").Embed(ctx, []string{"a"}); !errors.Is(err, cause) {
		t.Error(err)
	}
	if _, err := p.open(t, "").Embed(ctx, []string{"a"}); !errors.Is(err, cause) {
		t.Error(err)
	}
	if n := len(p.sent()); n != 1 || len(p.list) != 0 {
		t.Errorf("%d requests, pauses %v", n, p.list)
	}
}

func TestCancelBetweenAttempts(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := newProvider(t, text(503, ""))
	pod := podtest.Load(t, "embeddings: [{name: e, from: 'openai:m', params: {endpoint: '"+p.URL+"'}}]\n")
	m, problem := embeddings.Open(pod, 0, embeddings.WithPause(embeddings.Options{HTTP: p.Client()}, func(ctx context.Context, _ time.Duration) error {
		cancel()
		return ctx.Err()
	}))
	if problem != nil {
		t.Fatal(problem)
	}
	if _, err := m.Embed(ctx, []string{"a"}); !errors.Is(err, context.Canceled) || len(p.sent()) != 1 {
		t.Errorf("%v after %d requests", err, len(p.sent()))
	}
}

func TestTheFirstFailedBatchEndsTheOthers(t *testing.T) {
	p := newProvider(t, func(_ int, r request, w http.ResponseWriter) {
		if r.Input[0] == "bad" {
			text(400, `{"error":"no"}`)(0, r, w)
			return
		}
		answer(w, r)
	})
	texts := append([]string{"bad"}, strings.Fields(strings.Repeat("a ", 500))...)
	_, err := p.open(t, "batch_size: 1").Embed(t.Context(), texts)
	if e := failure(t, err); e.Status != 400 || len(p.sent()) == len(texts) {
		t.Errorf("%v after %d requests", e, len(p.sent()))
	}
}

func TestBadTextsAreNotSent(t *testing.T) {
	p := newProvider(t, nil)
	m := p.open(t, "")
	for want, texts := range map[string][]string{
		"text 1 is empty":                {"a", ""},
		"text 0 has 1048577 bytes":       {strings.Repeat("a", embeddings.MaxTextBytes+1)},
		"100001 texts in one call":       make([]string, embeddings.MaxTexts+1),
		"at most 100000":                 make([]string, embeddings.MaxTexts+1),
		`embedding model "e": text 0 is`: {""},
	} {
		_, err := m.Embed(t.Context(), texts)
		if e := failure(t, err); !strings.Contains(e.Error(), want) || e.Retryable || e.Attempts != 0 {
			t.Errorf("%v, want %s", e, want)
		}
	}
	if len(p.sent()) != 0 {
		t.Errorf("%d requests", len(p.sent()))
	}
}

func TestDimensionsAreAskedForAndChecked(t *testing.T) {
	p := newProvider(t, func(_ int, r request, w http.ResponseWriter) { answer(w, r) })
	_, err := p.open(t, "dimensions: 3").Embed(t.Context(), []string{"a"})
	if e := failure(t, err); e.Message != "the provider returned 2 dimensions, not 3" {
		t.Error(e)
	}
	if got := p.sent()[0].Dimensions; got != 3 {
		t.Errorf("asked for %d", got)
	}
}

func TestDimensionsStayAsTheyWere(t *testing.T) {
	p := newProvider(t, func(n int, _ request, w http.ResponseWriter) {
		fmt.Fprintf(w, `{"data":[{"embedding":[1%s]}]}`, strings.Repeat(",0", n))
	})
	m := p.open(t, "")
	if _, err := m.Embed(t.Context(), []string{"a"}); err != nil {
		t.Fatal(err)
	}
	_, err := m.Embed(t.Context(), []string{"a"})
	if e := failure(t, err); e.Message != "the provider returned 3 dimensions, not 2" || m.Dimensions() != 2 {
		t.Error(e)
	}
}

func TestAHugeAnswerIsRefused(t *testing.T) {
	var sent atomic.Int64
	p := newProvider(t, func(_ int, _ request, w http.ResponseWriter) {
		chunk := []byte(strings.Repeat("0,", 32<<10))
		for range 1 << 10 {
			n, err := w.Write(chunk)
			if sent.Add(int64(n)); err != nil {
				return
			}
		}
	})
	_, err := p.open(t, "dimensions: 2").Embed(t.Context(), []string{"a"})
	if e := failure(t, err); !strings.Contains(e.Message, "the answer is larger than") || e.Retryable {
		t.Error(e)
	}
	p.Close() // waits for the handler
	if sent.Load() > 32<<20 {
		t.Errorf("%d bytes were read", sent.Load())
	}
}

func TestRedirects(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the other host was asked with %v", r.Header)
	}))
	defer other.Close()
	cases := []struct {
		status int
		target string
		want   string // "" for success
	}{
		{307, "/v2/embeddings", ""},
		{308, "/v2/embeddings", ""},
		{307, other.URL, "redirects to another host"},
		{302, "/v2/embeddings", "redirects as to a page"},
		{307, "/v1/embeddings", "redirects more than 3 times"},
	}
	for _, c := range cases {
		t.Run(fmt.Sprint(c.status, " ", c.want), func(t *testing.T) {
			p := newProvider(t, func(_ int, r request, w http.ResponseWriter) {
				if r.path == "POST /v2/embeddings" {
					answer(w, r)
					return
				}
				w.Header().Set("Location", c.target)
				w.WriteHeader(c.status)
			})
			_, err := p.open(t, "").Embed(t.Context(), []string{"a"})
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if e := failure(t, err); !strings.Contains(e.Message, c.want) || e.Retryable {
				t.Error(e)
			}
		})
	}
}
