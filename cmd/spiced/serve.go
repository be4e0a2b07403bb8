package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/spiced-sql/spiced/internal/access/audit"
	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/kit/telemetry"
	"github.com/spiced-sql/spiced/internal/protocols/mcpserver"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire"
	"github.com/spiced-sql/spiced/internal/runtime"
	"github.com/spiced-sql/spiced/internal/sql/query"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/sqlapi"
)

// serveFlags are the flags of `spiced serve`.
type serveFlags struct {
	http, metrics        string
	postgres, flight     string
	stateDir             string
	logLevel, logFormat  string
	strict, watch        bool
	allowUnauthenticated bool
	tls                  tlsFlags
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
	flags.StringVar(&f.postgres, "postgres", "", "address of the PostgreSQL protocol, such as 127.0.0.1:5432 (default: closed)")
	flags.StringVar(&f.flight, "flight", "", "address of Arrow Flight SQL, such as 127.0.0.1:50051 (default: closed)")
	flags.BoolVar(&f.tls.enabled, "tls-enabled", false, "encrypt every door with the certificate of runtime.tls or the next flags")
	flags.StringVar(&f.tls.certificateFile, "tls-certificate-file", "", "file of the certificate, as PEM; encrypts every door")
	flags.StringVar(&f.tls.keyFile, "tls-key-file", "", "file of the certificate's key, as PEM")
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
	flags   serveFlags
	log     *slog.Logger
	runtime *runtime.Runtime
	metrics *telemetry.Metrics
	err     io.Writer // for the log
	audits  io.Closer // the file of the audit log, if there is one
	drainer drainer
	queries *query.Service
	jobs    *query.Jobs
	api     *sqlapi.API
	mcp     *mcpserver.Server
	tls     *certificates // nil: the doors are not encrypted
	doors   []door
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
		flags:   f,
		err:     std.err,
		log:     telemetry.NewLogger(std.err, telemetry.LogOptions{Level: level, Format: f.logFormat}),
		metrics: telemetry.New(version),
	}
	// While it starts and while it ends, the signal does not end the process.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	defer s.close()
	workers, err := worker()
	if err != nil {
		return err
	}
	if s.runtime, err = runtime.New(ctx, runtime.Options{
		Path: path, StateDir: f.stateDir, Strict: f.strict, Watch: f.watch, Log: s.log, Metrics: s.metrics, Audit: s.openAudit,
		Progress: progress(std.err), Version: version, Worker: workers, Postgres: f.postgres != "",
	}); err != nil {
		return err
	}
	if err := s.listen(); err != nil {
		return err
	}
	return s.run(ctx, hangups)
}

// openAudit opens the log of what is done. It is written whatever the level of
// the log is.
func (s *server) openAudit(a spicepod.Audit, keys bool) (*audit.Log, error) {
	if a.Mode == spicepod.AuditOff || a.Mode == spicepod.AuditAuto && !keys {
		return nil, nil
	}
	if a.File == "" {
		return audit.New(telemetry.NewLogger(s.err, telemetry.LogOptions{Level: slog.LevelInfo, Format: s.flags.logFormat})), nil
	}
	file, err := os.OpenFile(a.File, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("runtime.audit.file: %w", err)
	}
	s.audits = file
	return audit.New(telemetry.NewLogger(file, telemetry.LogOptions{Level: slog.LevelInfo, Format: telemetry.FormatJSON})), nil
}

// listen opens the doors.
func (s *server) listen() error {
	s.metrics.WatchEngine(func() (running, waiting, abandoned int) {
		st := s.runtime.DB().Stats()
		return st.Running, st.Waiting, st.Abandoned
	})
	if t := s.flags.tls.settings(s.runtime.Settings().TLS); t != nil {
		s.tls = &certificates{}
		if err := s.tls.load(t); err != nil {
			return err
		}
	}
	s.queries = query.New(query.Options{
		DB: s.runtime.DB(), Usage: s.runtime.Tools(), Metrics: s.metrics, Audit: s.runtime.Audit(),
		Isolate: s.runtime.Isolates, Refuse: s.drainer.refuse,
	})
	s.jobs = query.NewJobs(query.JobsOptions{
		Service: s.queries, Results: s.runtime.Results(), KeepFor: s.runtime.Settings().Results.TTL,
	})
	if err := s.openAPI(); err != nil {
		return err
	}
	if err := errors.Join(s.openPostgres(), s.openFlight()); err != nil {
		return err
	}
	if s.flags.metrics == "" {
		return nil
	}
	guard := s.guard()
	// On this machine Prometheus needs no key.
	if host, _, _ := net.SplitHostPort(s.flags.metrics); isLoopback(host) {
		guard.Keys = nil
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.metrics.Handler())
	mux.Handle("GET /", s.metrics.Handler())
	return s.openHTTP("metrics", "--metrics", s.flags.metrics, guard.Protect(mux))
}

// guard is what stands before the doors of HTTP.
func (s *server) guard() sqlapi.Guard {
	settings := s.runtime.Settings()
	return sqlapi.Guard{
		Keys: s.runtime.Keys, Audit: s.runtime.Audit(),
		AllowedHosts: settings.MCP.AllowedHosts, AllowedOrigins: settings.CORS.Origins(),
	}
}

// openAPI opens the HTTP API, with the MCP server in it.
func (s *server) openAPI() (err error) {
	if s.mcp, err = newMCPServer(s.runtime, s.log); err != nil {
		return err
	}
	guard := s.guard()
	if slices.Contains(guard.AllowedOrigins, "*") && !s.runtime.Keys().Enabled() {
		s.log.Warn("any web page that a browser on this machine opens may call the API: runtime.cors allows every site, and there are no keys")
	}
	s.api = sqlapi.New(sqlapi.Options{
		MCP: s.mcp, Queries: s.queries, Guard: guard,
		Cache:     func() spicepod.ResultCache { return s.runtime.Settings().Caching.SQLResults },
		Inventory: inventory{s.runtime, s.endpoints, &s.drainer}, Refresher: refresher{s.runtime},
		Jobs: s.jobs, Results: s.runtime.Results(),
		Tools: s.runtime.Tools(), Embeddings: s.embeddings, Chats: chats{s.runtime},
		Reloader: reloader{s.runtime}, Metrics: s.metrics, Log: s.log, Version: version,
		TLS: s.tls != nil,
	})
	return s.openHTTP("http", "--http", s.flags.http, s.drainer.count(s.api))
}

// run serves until ctx ends, then drains.
func (s *server) run(ctx context.Context, hangups <-chan os.Signal) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, d := range s.doors {
		s.log.Info("listening", "door", d.name, "url", d.scheme+"://"+d.listener.Addr().String())
		group.Go(func() error {
			if err := d.serve(d.listener); err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, pgwire.ErrServerClosed) {
				return fmt.Errorf("%s: %w", d.name, err)
			}
			return nil
		})
	}
	group.Go(func() error { return s.runtime.Run(ctx) })
	group.Go(func() error { s.reloads(ctx, hangups); return nil })
	group.Go(func() error {
		<-ctx.Done()
		return s.drain()
	})
	return group.Wait()
}

// reloads reloads at each SIGHUP: the Spicepod, and the certificate.
func (s *server) reloads(ctx context.Context, hangups <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
			if _, err := s.runtime.Reload(ctx, "signal"); err != nil && ctx.Err() == nil {
				s.log.Error("reload failed", "error", err)
			}
			s.renewCertificate()
		}
	}
}

// renewCertificate reads the certificate again. When that fails, the last one
// serves on.
func (s *server) renewCertificate() {
	if s.tls == nil {
		return
	}
	t := s.flags.tls.settings(s.runtime.Settings().TLS)
	if t == nil {
		s.log.Warn("encryption ends at the next start: runtime.tls was taken out")
		return
	}
	if err := s.tls.load(t); err != nil {
		s.log.Error("the certificate was not replaced", "error", err)
		return
	}
	s.log.Info("the certificate was replaced")
}

func (s *server) close() {
	for _, d := range s.doors {
		d.close()
		d.listener.Close()
	}
	if s.mcp != nil {
		s.mcp.Close()
	}
	if s.api != nil {
		s.api.Close()
	}
	if s.jobs != nil {
		s.jobs.Close()
	}
	if s.runtime != nil {
		s.runtime.Close()
	}
	if s.audits != nil {
		s.audits.Close()
	}
}

// embeddings are the models of the generation that serves.
func (s *server) embeddings() *embeddings.Set {
	if g := s.runtime.Current(); g != nil {
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
