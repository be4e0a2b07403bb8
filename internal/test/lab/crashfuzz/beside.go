package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Keys of besidePod.
const (
	hostileKey = "hostile-key-0123456789"
	honestKey  = "honest-key-0123456789"
	writerKey  = "writer-key-0123456789"
)

// besidePod is a Spicepod at default settings with two callers who may read.
const besidePod = `version: v1
kind: Spicepod
name: beside
runtime:
  functions: { enabled: true }
  auth: { api-key: { principals: [{ name: hostile, key: ` + hostileKey + ` }, { name: honest, key: ` + honestKey + ` }] } }
functions:
  - { name: next, from: sql, signature: { args: [{ name: x, type: int64 }], returns: int64 }, body: x + 1 }
`

const (
	honestEvery = 10 * time.Millisecond // a request of each honest client
	honestMost  = 30 * time.Second      // for its answer
	hostileMost = 2 * time.Second       // after which a hostile client leaves
	startMost   = time.Minute
	unsafeTurns = 20 // of a function that is listed, for one of another
)

// load is what the clients of a runtime saw.
type load struct {
	over    bool      // see over.go
	found   []finding // with over
	mu      sync.Mutex
	took    map[string][]time.Duration // of honest requests, by kind
	failed  []error                    // honest requests
	answers map[string]int             // to hostile statements, by kind
	left    []string                   // hostile statements whose client left, before the first failure
}

// clientLeft is the kind of a statement without an answer.
const clientLeft = "ran until their client left"

// beside runs hostile statements against a spiced, whose binary is given, and honest
// requests of another caller next to them. It returns an error if the process ends or an
// honest request fails.
func beside(ctx context.Context, o options, binary string) error {
	s, err := startServer(ctx, binary, o.over)
	if err != nil {
		return err
	}
	defer s.stop()
	db, err := openDB(ctx, 1)
	if err != nil {
		return err
	}
	defer db.Close()
	functions, err := loadFunctions(ctx, db)
	if err != nil {
		return err
	}
	w := &work{o: o, result: &result{}}
	for _, f := range append(functions, append(constructs(), statements()...)...) {
		if len(o.only) > 0 && !slices.ContainsFunc(o.only, f.is) {
			continue
		}
		turns := 1
		if len(db.Builtins().Unsafe(f.name)) > 0 {
			turns = unsafeTurns
		}
		for n := range turns {
			w.queue = append(w.queue, &subject{generator: newGenerator(f, o.seed+uint64(n)), found: map[string]bool{}})
		}
	}
	rand.New(rand.NewPCG(o.seed, 0)).Shuffle(len(w.queue), func(i, k int) { w.queue[i], w.queue[k] = w.queue[k], w.queue[i] })
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(o.time, 10*time.Minute))
	defer cancel()
	l := &load{over: o.over, took: map[string][]time.Duration{}, answers: map[string]int{}}
	var clients sync.WaitGroup
	for range o.children {
		clients.Go(func() { l.attack(ctx, s, w) })
	}
	for kind, request := range s.requests(honestKey) {
		clients.Go(func() { l.visit(ctx, kind, request) })
	}
	clients.Wait()
	return l.report(o.out, s)
}

// attack sends hostile statements until ctx ends: a turn of each function, after a
// statement that ends its worker.
func (l *load) attack(ctx context.Context, s *server, w *work) {
	for f := w.take(); f != nil; f = w.take() {
		// With an alias of its own: a statement that crashed twice is refused.
		sql := fmt.Sprintf("SELECT json_structure(repeat('[', 100000) || repeat(']', 100000)) AS a%d", rand.Uint64())
		for i := range turn {
			var kind, class string
			if l.over {
				var key string
				sql, key = over(i, sql)
				kind, class = s.watched(ctx, key, sql)
			} else {
				kind = s.attack(ctx, hostileKey, sql)
			}
			if ctx.Err() != nil {
				return
			}
			l.mu.Lock()
			l.answers[kind]++
			if class != "" {
				l.found = append(l.found, finding{f.f.name, class, fmt.Sprintf("%.*s", mostShown, sql)})
			}
			if kind == clientLeft && len(l.failed) == 0 {
				l.left = append(l.left, sql)
			}
			l.mu.Unlock()
			if f.done(true) {
				break
			}
			sql = f.next().sql
		}
		w.giveBack(f)
	}
}

// visit repeats an honest request until ctx ends.
func (l *load) visit(ctx context.Context, kind string, request func(context.Context) error) {
	next := time.NewTicker(honestEvery)
	defer next.Stop()
	for ctx.Err() == nil {
		began := time.Now()
		one, cancel := context.WithTimeout(context.WithoutCancel(ctx), honestMost)
		err := request(one)
		cancel()
		l.mu.Lock()
		l.took[kind] = append(l.took[kind], time.Since(began))
		if err != nil {
			l.failed = append(l.failed, fmt.Errorf("%s after %s: %w", kind, time.Since(began), err))
		}
		l.mu.Unlock()
		select {
		case <-next.C:
		case <-ctx.Done():
		}
	}
}

// report prints the times of honest requests and the answers to hostile statements.
func (l *load) report(out io.Writer, s *server) error {
	for _, kind := range slices.Sorted(maps.Keys(l.took)) {
		took := l.took[kind]
		slices.Sort(took)
		at := func(q float64) time.Duration {
			return took[int(q*float64(len(took)-1))].Round(100 * time.Microsecond)
		}
		fmt.Fprintf(out, "honest %s: %d requests, p50 %s, p95 %s, p99 %s, longest %s\n", kind, len(took), at(.5), at(.95), at(.99), at(1))
	}
	for _, kind := range slices.Sorted(maps.Keys(l.answers)) {
		fmt.Fprintf(out, "hostile statements: %d %s\n", l.answers[kind], kind)
	}
	for _, f := range l.found {
		fmt.Fprint(out, f)
	}
	for _, err := range l.failed[:min(10, len(l.failed))] {
		fmt.Fprintln(out, "failed:", err)
	}
	if len(l.failed) > 0 {
		for _, sql := range l.left[max(0, len(l.left)-10):] {
			fmt.Fprintf(out, "%s before: %.500s\n", clientLeft, sql)
		}
	}
	select {
	case <-s.ended:
		return fmt.Errorf("spiced ended: %w\n%s", s.err, s.log.text())
	default:
	}
	if len(l.failed) > 0 {
		return fmt.Errorf("%d honest requests failed", len(l.failed))
	}
	return overResult(l.found)
}

// server is a spiced that runs until stop.
type server struct {
	url, postgres string
	pid           int
	log           startOf
	ended         chan struct{}
	err           error // set before ended is closed
	stop          func()
}

func startServer(ctx context.Context, binary string, over bool) (*server, error) {
	dir, err := os.MkdirTemp("", "crashfuzz-")
	if err != nil {
		return nil, err
	}
	pod := besidePod
	if over {
		if err := makeTable(ctx, dir); err != nil {
			return nil, err
		}
		pod = strings.Replace(pod, "principals: [", "principals: [{ name: writer, key: '"+writerKey+":rw' }, ", 1) + overTables
	}
	if err := os.WriteFile(filepath.Join(dir, "spicepod.yaml"), []byte(pod), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, binary, "serve", dir, "--http", "127.0.0.1:0", "--postgres", "127.0.0.1:0", "--metrics", "", "--watch=false",
		"--log-level", "info")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = startMost
	pipe, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{pid: cmd.Process.Pid, ended: make(chan struct{})}
	s.stop = func() {
		_ = cmd.Process.Signal(os.Interrupt)
		<-s.ended
		os.RemoveAll(dir)
	}
	endpoints := make(chan [2]string, 8)
	go func() {
		s.follow(pipe, endpoints)
		s.err = cmd.Wait()
		close(s.ended)
	}()
	for late := time.After(startMost); s.url == "" || s.postgres == "" || !s.ready(ctx); {
		select {
		case e := <-endpoints:
			switch e[0] {
			case "http":
				s.url = e[1]
			case "postgres":
				_, s.postgres, _ = strings.Cut(e[1], "://")
			}
		case <-time.After(10 * time.Millisecond):
		case <-s.ended:
			return nil, fmt.Errorf("spiced ended: %w\n%s", s.err, s.log.text())
		case <-late:
			s.stop()
			return nil, fmt.Errorf("spiced did not serve within %s", startMost)
		}
	}
	return s, nil
}

// follow reads the log and sends the endpoints in it, by name and URL.
func (s *server) follow(log io.Reader, endpoints chan<- [2]string) {
	for lines := bufio.NewScanner(log); lines.Scan(); {
		_, _ = s.log.Write(append(lines.Bytes(), '\n'))
		var entry struct{ Msg, Endpoint, URL string }
		if json.Unmarshal(lines.Bytes(), &entry) == nil && entry.Msg == "listening" {
			endpoints <- [2]string{entry.Endpoint, entry.URL}
		}
	}
}

func (s *server) ready(ctx context.Context) bool {
	_, status, err := s.send(ctx, "GET", "/v1/ready", "", "")
	return err == nil && status == http.StatusOK
}

func (s *server) send(ctx context.Context, method, path, key, body string) (string, int, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		return "", 0, err
	}
	r.Header.Set("X-API-Key", key)
	r.Header.Set("Cache-Control", "no-cache")
	if strings.HasPrefix(body, "{") {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return string(text), resp.StatusCode, err
}

// attack sends a hostile statement and returns the kind of the answer.
func (s *server) attack(ctx context.Context, key, sql string) string {
	ctx, cancel := context.WithTimeout(ctx, hostileMost)
	defer cancel()
	text, status, err := s.send(ctx, "POST", "/v1/sql", key, sql)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return clientLeft
	case err != nil:
		return "lost their connection"
	case strings.Contains(text, "ended its worker"):
		return "ended their worker"
	default:
		return fmt.Sprintf("answered with status %d", status)
	}
}

// requests are the honest requests of a caller, by kind.
func (s *server) requests(key string) map[string]func(context.Context) error {
	wanted := func(path, body, want string) func(context.Context) error {
		return func(ctx context.Context) error {
			text, status, err := s.send(ctx, "POST", path, key, body)
			if err == nil && (status != http.StatusOK || !strings.Contains(text, want)) {
				err = fmt.Errorf("status %d: %.200s", status, text)
			}
			return err
		}
	}
	var conn *pgx.Conn
	return map[string]func(context.Context) error{
		"http":     wanted("/v1/sql", "SELECT next(41) AS x", `[{"x":42}]`),
		"tool":     wanted("/v1/tools/sql:invoke", `{"args": {"query": "SELECT next(41) AS x"}}`, `"x":42`),
		"function": wanted("/v1/tools/next:invoke", `{"args": {"x": 41}}`, "42"),
		"postgres": func(ctx context.Context) (err error) {
			if conn == nil {
				if conn, err = pgx.Connect(ctx, fmt.Sprintf("postgres://honest:%s@%s/spice?sslmode=disable", key, s.postgres)); err != nil {
					return err
				}
			}
			var x int
			if err := conn.QueryRow(ctx, "SELECT next(41) AS x").Scan(&x); err != nil || x != 42 {
				return fmt.Errorf("%d: %w", x, err)
			}
			return nil
		},
	}
}
