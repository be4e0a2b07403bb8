package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/spiced-sql/spiced/internal/protocols/repl"
	"github.com/spiced-sql/spiced/internal/runtime"
	"github.com/spiced-sql/spiced/internal/sql/query"
	"github.com/spiced-sql/spiced/sqlapi"
)

// connection are the flags of commands that are clients of a server: of one
// that runs, or of a Spicepod that is served to the command alone.
type connection struct{ url, apiKey string }

func (c *connection) register(flags *pflag.FlagSet) {
	flags.StringVar(&c.url, "url", "", "address of a running spiced, such as "+repl.DefaultURL)
	flags.StringVar(&c.apiKey, "api-key", os.Getenv("SPICED_API_KEY"), "key for --url (default: $SPICED_API_KEY)")
	flags.Lookup("api-key").DefValue = ""
}

// check refuses a Spicepod beside --url.
func (c *connection) check(args []string) error {
	if c.url != "" && len(args) > 0 {
		return usageError{errors.New("give a Spicepod or --url, not both")}
	}
	return nil
}

// open returns how the server is reached, and what ends the connection.
func (c *connection) open(ctx context.Context, std streams, path string) (repl.Options, func(), error) {
	opts := repl.Options{URL: c.url, Header: http.Header{}, In: std.in, Out: std.out, Err: std.err}
	if c.apiKey != "" {
		opts.Header.Set("X-API-Key", c.apiKey)
	}
	if c.url != "" {
		return opts, func() {}, nil
	}
	local, err := serveLocal(ctx, std, path)
	if err != nil {
		return opts, nil, err
	}
	opts.Client, opts.URL = local.client, "http://localhost"
	return opts, local.close, nil
}

// localServer is a Spicepod served to this process alone, over a socket in a
// folder that nobody else may enter.
type localServer struct {
	client  *http.Client
	dir     string
	runtime *runtime.Runtime
	http    *http.Server
}

func serveLocal(ctx context.Context, std streams, path string) (*localServer, error) {
	log := slog.New(slog.DiscardHandler)
	workers, err := worker()
	if err != nil {
		return nil, err
	}
	d, err := runtime.New(ctx, runtime.Options{Path: path, Log: log, Progress: progress(std.err), Worker: workers})
	if err != nil {
		return nil, err
	}
	s := &localServer{runtime: d}
	report := d.Load(ctx, "start")
	report.Problems.WriteText(std.err)
	if !report.Accepted {
		s.close()
		return nil, shownError{errors.New("the Spicepod was refused")}
	}
	if s.dir, err = os.MkdirTemp("", "spiced-sql-"); err != nil {
		s.close()
		return nil, err
	}
	socket := filepath.Join(s.dir, "sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		s.close()
		return nil, fmt.Errorf("open a socket: %w", err)
	}
	s.http = sqlapi.NewServer(sqlapi.New(sqlapi.Options{
		Queries: query.New(query.Options{DB: d.DB(), Usage: d.Tools(), Isolate: d.Isolates}), Inventory: inventory{d, func() map[string]string { return nil }, &drainer{}}, Tools: d.Tools(), Chats: chats{d}, Log: log, Version: version,
	}), log)
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
	s.runtime.Close()
}
