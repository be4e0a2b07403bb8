// Package githubtest has a stand-in for GitHub's API, in the forms of its answers: GraphQL
// for the lists of repositories, and REST for their files. It does not have GitHub's
// schema: a query may ask for the fields that the repositories of a test have.
//
//	server := githubtest.Start(t, "token")
//	server.Repository("acme/shop", `{"issues": [{"number": 1, …}]}`, map[string]string{"README.md": "…"})
package githubtest

import (
	"crypto/sha1"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Server is the stand-in, at URL.
type Server struct {
	*httptest.Server

	t     testing.TB
	token string

	mu       sync.Mutex
	repos    map[string]*repository
	next     []http.HandlerFunc
	requests []string
	always   http.HandlerFunc
}

type repository struct {
	data  map[string]any    // a list is a connection
	files map[string]string // by path
}

// Start starts a server that ends with the test. Requests need the token.
func Start(t testing.TB, token string) *Server {
	t.Helper()
	s := &Server{t: t, token: token, repos: map[string]*repository{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	return s
}

// Repository replaces a repository: its fields as GraphQL has them, where a list is a
// connection, and its files. Without data it is removed.
func (s *Server) Repository(name, data string, files map[string]string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.repos, name)
	if data == "" {
		return
	}
	r := &repository{files: files}
	if err := json.Unmarshal([]byte(data), &r.data); err != nil {
		s.t.Error(err)
	}
	s.repos[name] = r
}

// Next answers the next requests with handlers, one each.
func (s *Server) Next(handlers ...http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = append(s.next, handlers...)
}

// Always answers every request with a handler, until it is nil.
func (s *Server) Always(handler http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.always = handler
}

// Requests returns the requests since the last call, such as "POST /graphql".
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.requests
	s.requests = nil
	return all
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r.Method+" "+r.URL.EscapedPath())
	handle := s.always
	if len(s.next) > 0 {
		handle, s.next = s.next[0], s.next[1:]
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	switch {
	case handle != nil:
		handle(w, r)
	case r.Header.Get("Authorization") != "Bearer "+s.token:
		Answer(401, `{"message": "Bad credentials", "documentation_url": "https://docs.github.com/rest", "status": "401"}`)(w, r)
	case r.Method == http.MethodPost && r.URL.Path == "/graphql":
		s.graphQL(w, r)
	default:
		s.git(w, r)
	}
}

// Answer returns a handler that sends a status, headers of the form "Name: value", and a
// body.
func Answer(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

func (s *Server) repository(name string) *repository {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.repos[strings.ToLower(name)]
}

func (s *Server) graphQL(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Query     string
		Variables map[string]any
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		Answer(400, `{"message": "Problems parsing JSON"}`)(w, r)
		return
	}
	name := fmt.Sprint(request.Variables["owner"], "/", request.Variables["name"])
	repo := s.repository(name)
	if repo == nil {
		fmt.Fprintf(w, `{"data": {"repository": null}, "errors": [{"type": "NOT_FOUND", "path": ["repository"], "message": "Could not resolve to a Repository with the name '%s'."}]}`, name)
		return
	}
	data, err := evaluate(request.Query, request.Variables, map[string]any{"repository": repo.data})
	if err != nil {
		encoded, _ := json.Marshal(err.Error())
		fmt.Fprintf(w, `{"errors": [{"type": "undefinedField", "message": %s}]}`, encoded)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
}

// branches are those of each repository.
var branches = []string{"main", "trunk", "release/1"}

// git answers git/trees/REF and git/blobs/SHA of a repository.
func (s *Server) git(w http.ResponseWriter, r *http.Request) {
	parts := strings.SplitN(strings.TrimPrefix(r.URL.Path, "/repos/"), "/", 5)
	notFound := Answer(404, `{"message": "Not Found", "documentation_url": "https://docs.github.com/rest", "status": "404"}`)
	if len(parts) < 5 {
		notFound(w, r)
		return
	}
	repo := s.repository(parts[0] + "/" + parts[1])
	if repo == nil {
		notFound(w, r)
		return
	}
	type entry struct {
		Path string `json:"path"`
		Mode string `json:"mode"`
		Type string `json:"type"`
		SHA  string `json:"sha"`
		Size int    `json:"size,omitempty"`
		URL  string `json:"url"`
	}
	tree := []entry{}
	for path, text := range repo.files {
		sha := fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(text), text)))
		if parts[3] == "blobs" && parts[4] == sha && r.Header.Get("Accept") == "application/vnd.github.raw+json" {
			fmt.Fprint(w, text)
			return
		}
		tree = append(tree, entry{path, "100644", "blob", sha, len(text), s.URL + "/repos/" + parts[0] + "/" + parts[1] + "/git/blobs/" + sha})
		if folder, _, ok := strings.Cut(path, "/"); ok && !slices.ContainsFunc(tree, func(e entry) bool { return e.Path == folder }) {
			tree = append(tree, entry{Path: folder, Mode: "040000", Type: "tree", SHA: strings.Repeat("0", 40)})
		}
	}
	if parts[3] != "trees" || !slices.Contains(branches, parts[4]) || r.URL.Query().Get("recursive") == "" {
		notFound(w, r)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"sha": strings.Repeat("1", 40), "tree": tree, "truncated": false})
}
