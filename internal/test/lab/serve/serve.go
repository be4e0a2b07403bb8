// Package serve starts spiced for the programs of this module.
//
//	s, err := serve.Start(ctx, []string{"spiced"}, dir)
//	defer s.Stop()
package serve

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

// Deadline limits every wait for a server.
const Deadline = time.Minute

// Server is a running spiced.
type Server struct {
	cmd  *exec.Cmd
	done chan error

	mu        sync.Mutex
	log       bytes.Buffer
	endpoints map[string]string // URLs by protocol
}

// Start serves a folder, with further flags, and waits until it is ready.
func Start(ctx context.Context, program []string, dir string, flags ...string) (*Server, error) {
	s := &Server{done: make(chan error, 1), endpoints: map[string]string{}}
	const anyPort = "127.0.0.1:0"
	args := append(program[1:len(program):len(program)], "serve", dir, "--http", anyPort, "--metrics", anyPort, "--postgres", anyPort, "--flight", anyPort,
		"--watch=false")
	args = append(args, flags...)
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
func (s *Server) watch(out io.Reader) {
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

// URL is the address of a protocol, "" before it listens.
func (s *Server) URL(protocol string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.endpoints[protocol]
}

func (s *Server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, Deadline)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if s.URL("flight") != "" && s.URL("postgres") != "" && s.URL("http") != "" {
			if _, err := s.Do(ctx, http.MethodGet, "/v1/ready", "", ""); err == nil {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			s.Stop()
			return fmt.Errorf("spiced is not ready: %w\n%s", ctx.Err(), s.Logged())
		case err := <-s.done:
			s.done <- err
			return fmt.Errorf("spiced ended: %w\n%s", err, s.Logged())
		case <-tick.C:
		}
	}
}

// Logged is the log until now.
func (s *Server) Logged() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// Ended gets the error of a process that ends by itself.
func (s *Server) Ended() <-chan error { return s.done }

// Stop ends the server and returns an error if it ended before, or badly.
func (s *Server) Stop() error {
	select {
	case err := <-s.done:
		s.done <- err
		return fmt.Errorf("spiced ended by itself: %v\n%s", err, s.Logged())
	default:
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	err := <-s.done
	s.done <- err
	return err
}

// Do sends a request to the HTTP API and returns the body of a successful answer.
func (s *Server) Do(ctx context.Context, method, path, accept, body string) ([]byte, error) {
	headers := map[string]string{}
	if accept != "" {
		headers["Accept"] = accept
	}
	return s.Send(ctx, method, path, body, headers)
}

// Send is Do with these headers.
func (s *Server) Send(ctx context.Context, method, path, body string, headers map[string]string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.URL("http")+path, strings.NewReader(body))
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
