package chattest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// Limits of a server.
const (
	MaxBodyBytes = chat.MaxRequestBytes + 1<<20 // of a request; the runtime may add tools to a client's
	MaxRecorded  = 10_000                       // recorded requests; later ones are only answered
)

// Server is a model provider. Its methods are safe for concurrent use.
type Server struct {
	URL string // http://127.0.0.1:port; the paths are below /v1

	http   *http.Server
	served chan struct{}      // closed when no more requests are accepted
	leave  context.CancelFunc // ends answers that wait or hang

	mu       sync.Mutex
	closed   bool
	n        int
	script   func(Request) Answer
	requests []Request
	busy     sync.WaitGroup

	strictness Strictness // about tools
}

// Start starts a server on a free port. Until it has a script, it answers every request
// with an error.
func Start() (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start a model provider: %w", err)
	}
	ctx, leave := context.WithCancel(context.Background())
	s := &Server{
		URL: "http://" + listener.Addr().String(), served: make(chan struct{}),
		leave: leave, script: InTurn(),
	}
	s.http = &http.Server{Handler: s, BaseContext: func(net.Listener) context.Context { return ctx }}
	go func() {
		defer close(s.served)
		s.http.Serve(listener) //nolint:errcheck // ends with Close
	}()
	return s, nil
}

// Close ends the running answers and waits for them.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.leave()
	s.http.Close() //nolint:errcheck // closes only the listener
	<-s.served
	s.busy.Wait()
}

// enter counts an answer that Close waits for.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.busy.Add(1)
	}
	return !s.closed
}

// Script sets the answers from now on. The function may be called concurrently.
func (s *Server) Script(answer func(Request) Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = answer
}

// Requests returns the requests so far, in order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// forms are the paths of the APIs, after any prefix.
var forms = []struct {
	path string
	form chat.Form
}{
	{"/chat/completions", chat.FormOpenAI},
	{"/responses", chat.FormResponses},
	{"/messages", chat.FormAnthropic},
}

func formOf(path string) chat.Form {
	for _, f := range forms {
		if strings.HasSuffix(path, f.path) {
			return f.form
		}
	}
	return ""
}

// ServeHTTP answers a request as scripted.
func (s *Server) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	if !s.enter() {
		return
	}
	defer s.busy.Done()
	r := Request{Form: formOf(hr.URL.Path), Path: hr.URL.RequestURI(), Header: hr.Header.Clone()}
	if r.Form == "" || hr.Method != http.MethodPost {
		http.Error(w, hr.Method+" "+hr.URL.Path+" is not served: POST /v1/chat/completions, /v1/responses, /v1/messages", http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, hr.Body, MaxBodyBytes))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	r.Body = body
	r.decode()
	script := s.record(&r)
	answer, refused := s.judged(r)
	if !refused {
		answer = script(r)
	}
	e := &exchange{ctx: hr.Context(), w: w, request: r, answer: answer}
	if err := e.run(); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// record numbers the request and returns the script for it.
func (s *Server) record(r *Request) func(Request) Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	r.N = s.n
	if len(s.requests) < MaxRecorded {
		s.requests = append(s.requests, *r)
	}
	return s.script
}
