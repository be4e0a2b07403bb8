package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spiced-sql/spiced/internal/test/measure"
)

// server is a running spiced.
type server struct {
	url   string
	dir   string // of the Spicepod
	cmd   *exec.Cmd
	log   *bytes.Buffer
	done  chan error
	began time.Time
}

// deadline limits every wait for a server.
const deadline = 2 * time.Minute

var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// serve starts spiced on a Spicepod and waits until it serves.
func (e *env) serve(ctx context.Context, p pod) (*server, error) {
	dir, err := e.write(ctx, p)
	if err != nil {
		return nil, err
	}
	return e.serveFolder(ctx, dir, p.flags...)
}

// serveFolder starts spiced, with flags, on the Spicepod in a folder and waits until it
// is ready.
func (e *env) serveFolder(ctx context.Context, dir string, flags ...string) (*server, error) {
	s, err := e.launch(ctx, dir, flags...)
	if err != nil {
		return nil, err
	}
	return s, s.ready(ctx)
}

// launch starts spiced and waits until it listens.
func (e *env) launch(ctx context.Context, dir string, flags ...string) (*server, error) {
	s := &server{dir: dir, log: &bytes.Buffer{}, done: make(chan error, 1), began: time.Now()}
	args := append([]string{"serve", dir, "--http", "127.0.0.1:0", "--metrics", "127.0.0.1:0"}, flags...)
	s.cmd = exec.CommandContext(ctx, e.binary, args...)
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	out, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	found := make(chan string, 1)
	go s.watch(out, found)
	select {
	case s.url = <-found:
	case err := <-s.done:
		return nil, fmt.Errorf("spiced ended: %w\n%s", err, s.log)
	case <-time.After(deadline):
		return nil, errors.New("spiced printed no address")
	}
	return s, nil
}

// watch reads the server's log, finds its address and waits for the process to end.
func (s *server) watch(out io.Reader, found chan<- string) {
	var once sync.Once
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		s.log.Write(append(lines.Bytes(), '\n'))
		if url := address.FindString(lines.Text()); url != "" {
			once.Do(func() { found <- url })
		}
	}
	s.done <- s.cmd.Wait()
}

func (s *server) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	<-s.done
}

// ready waits until the server is ready.
func (s *server) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	for {
		_, err := s.get(ctx, "/v1/ready")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not ready: %w; last answer: %w", ctx.Err(), err)
		case err := <-s.done:
			return fmt.Errorf("spiced ended: %w\n%s", err, s.log)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (s *server) get(ctx context.Context, path string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
	if err != nil {
		return "", err
	}
	return answer(req)
}

// sql runs a statement and returns its answer as JSON.
func (s *server) sql(ctx context.Context, statement string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/v1/sql", strings.NewReader(statement))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "text/plain")
	return answer(req)
}

// answer returns the body of a successful answer.
func answer(req *http.Request) (string, error) {
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", res.StatusCode, body)
	}
	return string(body), err
}

// rss returns the resident memory of the server in bytes.
func (s *server) rss() (int64, error) { return measure.Memory(s.cmd.Process.Pid, "VmRSS") }
