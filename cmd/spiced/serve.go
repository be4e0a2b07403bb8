package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/spiced-sql/spiced/daemon"
	"github.com/spiced-sql/spiced/embeddings"
	"github.com/spiced-sql/spiced/engine"
	mcpserver "github.com/spiced-sql/spiced/mcp/server"
	"github.com/spiced-sql/spiced/sqlapi"
	"github.com/spiced-sql/spiced/telemetry"
)

// serveFlags are the flags of `spiced serve`.
type serveFlags struct {
	http, metrics        string
	stateDir             string
	logLevel, logFormat  string
	strict, watch        bool
	allowUnauthenticated bool
}

func newServe(std streams) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve [DIR|FILE]",
		Short: "Serve a Spicepod over HTTP",
		Long:  "Serve the Spicepod in DIR, by default this folder, until SIGTERM or Ctrl-C. An edit of its files is live at once;\none with a fault is shown and the last good version goes on serving.",
		Args:  atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			return serve(cmd.Context(), std, podPath(args), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.http, "http", "127.0.0.1:8090", "address of the HTTP API; port 0 picks a free one")
	flags.StringVar(&f.metrics, "metrics", "127.0.0.1:9090", "address of the Prometheus metrics; empty turns them off")
	flags.StringVar(&f.stateDir, "state-dir", "", "folder for what outlives a run: fetched files and accelerated data (default: none does)")
	flags.BoolVar(&f.strict, "strict", false, "refuse a Spicepod in which any component has a fault")
	flags.BoolVar(&f.watch, "watch", true, "reload when a file of the Spicepod changes")
	flags.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	flags.StringVar(&f.logFormat, "log-format", telemetry.FormatAuto, "text or json (default: text on a terminal)")
	flags.BoolVar(&f.allowUnauthenticated, "allow-unauthenticated", false, "listen on addresses that other machines reach, without keys")
	return cmd
}

// server is a running `spiced serve`.
type server struct {
	log     *slog.Logger
	daemon  *daemon.Daemon
	metrics *telemetry.Metrics
	drainer drainer
	mcp     *mcpserver.Server
	doors   []door
}

// door is a listener with what answers there.
type door struct {
	name     string
	listener net.Listener
	http     *http.Server
}

func serve(ctx context.Context, std streams, path string, f serveFlags) error {
	level, err := telemetry.ParseLevel(f.logLevel)
	if err != nil {
		return usageError{fmt.Errorf("--log-level: %w", err)}
	}
	if err := oneOf("log-format", f.logFormat, telemetry.FormatAuto, telemetry.FormatText, telemetry.FormatJSON); err != nil {
		return err
	}
	s := &server{
		log:     telemetry.NewLogger(std.err, telemetry.LogOptions{Level: level, Format: f.logFormat}),
		metrics: telemetry.New(version),
	}
	defer s.close()
	if s.daemon, err = daemon.New(ctx, daemon.Options{
		Path: path, StateDir: f.stateDir, Strict: f.strict, Watch: f.watch,
		Log: s.log, Metrics: s.metrics, Progress: progress(std.err), Version: version,
	}); err != nil {
		return err
	}
	if err := s.listen(f); err != nil {
		return err
	}
	return s.run(ctx)
}

// listen opens the doors. Addresses that other machines reach need keys, which
// are not served yet, or the word of the one who starts it.
func (s *server) listen(f serveFlags) error {
	s.metrics.WatchEngine(func() (running, waiting, abandoned int) {
		st := s.daemon.DB().Stats()
		return st.Running, st.Waiting, st.Abandoned
	})
	var err error
	if s.mcp, err = newMCPServer(s.daemon, s.log); err != nil {
		return err
	}
	api := sqlapi.New(sqlapi.Options{
		MCP:       s.mcp,
		Querier:   drainable{s.daemon.DB(), &s.drainer},
		Inventory: inventory{s.daemon, s.endpoints, &s.drainer}, Refresher: refresher{s.daemon},
		Tools: s.daemon.Tools(), Embeddings: s.embeddings, Chats: chats{s.daemon},
		Reloader: reloader{s.daemon}, Metrics: s.metrics, Log: s.log, Version: version,
	})
	if err := s.open("http", "--http", f.http, s.drainer.count(api), f.allowUnauthenticated); err != nil {
		return err
	}
	if f.metrics == "" {
		return nil
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.metrics.Handler())
	mux.Handle("GET /", s.metrics.Handler())
	return s.open("metrics", "--metrics", f.metrics, mux, f.allowUnauthenticated)
}

func (s *server) open(name, flag, address string, handler http.Handler, anyAddress bool) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return usageError{fmt.Errorf("%s takes host:port, not %q: %w", flag, address, err)}
	}
	if !anyAddress && !isLoopback(host) {
		return fmt.Errorf("%s %s can be reached from other machines and no keys are configured: listen on 127.0.0.1, or add --allow-unauthenticated", flag, address)
	}
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s: %s is in use: choose another address, or port 0 for any", flag, address)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	s.doors = append(s.doors, door{name, listener, sqlapi.NewServer(handler, s.log)})
	return nil
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// run serves until ctx ends, then drains.
func (s *server) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, d := range s.doors {
		s.log.Info("listening", "door", d.name, "url", "http://"+d.listener.Addr().String())
		group.Go(func() error {
			if err := d.http.Serve(d.listener); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("%s: %w", d.name, err)
			}
			return nil
		})
	}
	group.Go(func() error { return s.daemon.Run(ctx) })
	group.Go(func() error { s.hangups(ctx); return nil })
	group.Go(func() error {
		<-ctx.Done()
		return s.drain()
	})
	return group.Wait()
}

// hangups reloads at SIGHUP.
func (s *server) hangups(ctx context.Context) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	defer signal.Stop(signals)
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
			if _, err := s.daemon.Reload(ctx, "signal"); err != nil && ctx.Err() == nil {
				s.log.Error("reload failed", "error", err)
			}
		}
	}
}

func (s *server) close() {
	for _, d := range s.doors {
		d.listener.Close()
	}
	if s.mcp != nil {
		s.mcp.Close()
	}
	if s.daemon != nil {
		s.daemon.Close()
	}
}

// embeddings are the models of the generation that serves.
func (s *server) embeddings() *embeddings.Set {
	if g := s.daemon.Current(); g != nil {
		return g.Embeddings
	}
	return nil
}

// endpoints are the doors, for /v1/status.
func (s *server) endpoints() map[string]string {
	all := map[string]string{}
	for _, d := range s.doors {
		all[d.name] = d.listener.Addr().String()
	}
	return all
}

var _ sqlapi.Querier = (*engine.DB)(nil)
