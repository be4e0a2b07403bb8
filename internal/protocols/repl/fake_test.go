package repl

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a fake of POST /v1/sql: it answers each statement by its own text,
// or as its answers say, and notes the requests.
type server struct {
	*httptest.Server
	answers map[string]http.HandlerFunc // by the start of the statement

	mu       sync.Mutex
	received []string
	last     http.Header
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{answers: map[string]http.HandlerFunc{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if r.Method != http.MethodPost || r.URL.Path != "/v1/sql" {
		http.NotFound(w, r)
		return
	}
	s.mu.Lock()
	s.received = append(s.received, string(body))
	s.last = r.Header.Clone()
	s.mu.Unlock()
	for start, answer := range s.answers {
		if strings.HasPrefix(string(body), start) {
			answer(w, r)
			return
		}
	}
	fmt.Fprintf(w, "<%s>", body)
}

func (s *server) statements() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.received...)
}

func (s *server) header() http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// fail answers like the server does when a statement fails.
func fail(line, column int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"code":"not_found","message":"no column \"x\"","hint":"did you mean \"y\"?","line":%d,"column":%d}`, line, column)
	}
}

func answer(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) }
}

// run runs a script against s.
func run(t *testing.T, s *server, o Options, script string) (out, notes string, err error) {
	t.Helper()
	var outBuf, errBuf bytes.Buffer
	o.URL, o.In, o.Out, o.Err, o.Client = s.URL, strings.NewReader(script), &outBuf, &errBuf, s.Client()
	err = Run(context.Background(), o)
	return outBuf.String(), errBuf.String(), err
}

// typed is a terminal with its lines typed in advance. A line of ^C is Ctrl-C.
type typed struct {
	lines      []string
	prompts    []string
	remembered []string
}

func (t *typed) ReadLine(_ context.Context, prompt string) (string, error) {
	t.prompts = append(t.prompts, prompt)
	if len(t.lines) == 0 {
		return "", io.EOF
	}
	line := t.lines[0]
	t.lines = t.lines[1:]
	if line == "^C" {
		return "", errAborted
	}
	return line, nil
}

func (t *typed) Remember(text string) { t.remembered = append(t.remembered, text) }

// interact types lines at s.
func interact(t *testing.T, s *server, lines ...string) (terminal *typed, out, notes string) {
	t.Helper()
	var outBuf, errBuf bytes.Buffer
	session, err := newSession(Options{URL: s.URL, Out: &outBuf, Err: &errBuf, Client: s.Client()})
	if err != nil {
		t.Fatal(err)
	}
	terminal = &typed{lines: lines}
	if err := session.interact(context.Background(), terminal); err != nil {
		t.Fatal(err)
	}
	return terminal, outBuf.String(), errBuf.String()
}
