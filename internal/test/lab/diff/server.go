package diff

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// deadline limits every wait for a server.
const deadline = time.Minute

// server is a running spiced.
type server struct {
	cmd  *exec.Cmd
	done chan error

	mu        sync.Mutex
	log       bytes.Buffer
	endpoints map[string]string // URLs by protocol
}

// start serves a folder and waits until it is ready.
func start(ctx context.Context, program []string, dir string) (*server, error) {
	s := &server{done: make(chan error, 1), endpoints: map[string]string{}}
	const anyPort = "127.0.0.1:0"
	args := append(program[1:len(program):len(program)], "serve", dir, "--http", anyPort, "--metrics", anyPort, "--postgres", anyPort, "--flight", anyPort,
		"--watch=false")
	s.cmd = exec.CommandContext(ctx, program[0], args...)
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	out, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go s.watch(out)
	return s, s.await(ctx)
}

// watch reads the log, which names the endpoints, until the process ends.
func (s *server) watch(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var entry struct{ Msg, Endpoint, URL string }
		s.mu.Lock()
		if json.Unmarshal(lines.Bytes(), &entry) == nil && entry.Msg == "listening" {
			s.endpoints[entry.Endpoint] = entry.URL
		}
		s.log.Write(append(lines.Bytes(), '\n'))
		s.mu.Unlock()
	}
	s.done <- s.cmd.Wait()
}

// url is the address of a protocol, "" before it listens.
func (s *server) url(protocol string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.endpoints[protocol]
}

func (s *server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if s.url("flight") != "" && s.url("postgres") != "" && s.url("http") != "" {
			if _, err := s.do(ctx, http.MethodGet, "/v1/ready", "", ""); err == nil {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			s.stop()
			return fmt.Errorf("spiced is not ready: %w\n%s", ctx.Err(), s.logged())
		case err := <-s.done:
			s.done <- err
			return fmt.Errorf("spiced ended: %w\n%s", err, s.logged())
		case <-tick.C:
		}
	}
}

func (s *server) logged() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// stop ends the server and returns an error if it ended before, or badly.
func (s *server) stop() error {
	select {
	case err := <-s.done:
		s.done <- err
		return fmt.Errorf("spiced ended by itself: %v\n%s", err, s.logged())
	default:
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	err := <-s.done
	s.done <- err
	return err
}

// do sends a request to the HTTP API and returns the body of a successful answer.
func (s *server) do(ctx context.Context, method, path, accept, body string) ([]byte, error) {
	headers := map[string]string{}
	if accept != "" {
		headers["Accept"] = accept
	}
	return s.send(ctx, method, path, body, headers)
}

// send is do with these headers.
func (s *server) send(ctx context.Context, method, path, body string, headers map[string]string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.url("http")+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode/100 != 2 {
		err = errors.New(strings.TrimSpace(string(text)))
	}
	return text, err
}
