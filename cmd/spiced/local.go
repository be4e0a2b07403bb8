package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/spiced-sql/spiced/internal/protocols/repl"
	"github.com/spiced-sql/spiced/internal/runtime"
	"github.com/spiced-sql/spiced/sqlapi"
)

// connection holds the flags of commands that are clients: of a running server,
// or of a Spicepod that they serve to themselves.
type connection struct{ url, apiKey string }

func (c *connection) register(flags *pflag.FlagSet) {
	flags.StringVar(&c.url, "url", "", "address of a running spiced, such as "+repl.DefaultURL+" or localhost:8090")
	flags.StringVar(&c.apiKey, "api-key", os.Getenv("SPICED_API_KEY"), "key for --url (default: $SPICED_API_KEY)")
	flags.Lookup("api-key").DefValue = ""
}

// check refuses a Spicepod together with --url.
func (c *connection) check(args []string) error {
	if c.url != "" && len(args) > 0 {
		return usageError{errors.New("give a Spicepod or --url, not both")}
	}
	return nil
}

// open returns how to reach the server, and a function that closes it.
func (c *connection) open(ctx context.Context, std streams, path string) (repl.Options, func(), error) {
	return c.openIn(ctx, std, path, "")
}

// openIn is open with a state directory for a Spicepod.
func (c *connection) openIn(ctx context.Context, std streams, path, stateDir string) (repl.Options, func(), error) {
	opts := repl.Options{URL: c.url, Header: http.Header{}, In: std.in, Out: std.out, Err: std.err}
	if c.apiKey != "" {
		opts.Header.Set("X-API-Key", c.apiKey)
	}
	if c.url != "" {
		return opts, func() {}, nil
	}
	local, err := serveLocal(ctx, std, path, stateDir)
	if err != nil {
		return opts, nil, err
	}
	opts.Client, opts.URL = local.client, "http://localhost"
	return opts, local.close, nil
}

// localServer serves a Spicepod to this process alone, over a socket in a folder
// that only its user can enter.
type localServer struct {
	*app
	client *http.Client
	dir    string
	http   *http.Server
}

func serveLocal(ctx context.Context, std streams, path, stateDir string) (_ *localServer, err error) {
	s := &localServer{}
	if s.app, err = assembleLoaded(ctx, std,
		options{Options: runtime.Options{Path: path, StateDir: stateDir}, queries: true}); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.dir, err = os.MkdirTemp("", "spiced-sql-"); err != nil {
		return nil, err
	}
	socket := filepath.Join(s.dir, "sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("open a socket: %w", err)
	}
	s.http = sqlapi.NewServer(s.newAPI(sqlapi.Guard{}, false, func() map[string]string { return nil }), s.log)
	go s.http.Serve(listener) //nolint:errcheck // ends with close
	s.client = &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}
	return s, nil
}

func (s *localServer) close() {
	if s.client != nil {
		s.client.CloseIdleConnections()
	}
	if s.http != nil {
		s.http.Close()
	}
	if s.dir != "" {
		os.RemoveAll(s.dir)
	}
	s.app.close()
}
