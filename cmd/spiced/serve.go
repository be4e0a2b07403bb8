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
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/spiced-sql/spiced/internal/access/audit"
	"github.com/spiced-sql/spiced/internal/kit/memory"
	"github.com/spiced-sql/spiced/internal/kit/telemetry"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire"
	"github.com/spiced-sql/spiced/internal/runtime"
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
		Long: "Serve the Spicepod in DIR, by default this folder, until SIGTERM or Ctrl-C. Edits of the files take effect " +
			"at once;\nan edit with a fault is reported and the last good version stays in service.",
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			return serve(cmd.Context(), std, podPath(args), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.http, "http", "127.0.0.1:8090", "address of the HTTP API; port 0 picks a free one")
	flags.StringVar(&f.metrics, "metrics", "",
		"second address of the Prometheus metrics, such as 127.0.0.1:9091 (default: only /metrics of the HTTP API)")
	flags.StringVar(&f.postgres, "postgres",
		"", "address of the PostgreSQL protocol, such as 127.0.0.1:5432 (default: not served)")
	flags.StringVar(&f.flight, "flight", "", "address of Arrow Flight SQL, such as 127.0.0.1:50051 (default: not served)")
	flags.BoolVar(&f.tls.enabled, "tls-enabled", false,
		"encrypt every endpoint with the certificate of runtime.tls or of the next flags")
	flags.StringVar(&f.tls.certificateFile, "tls-certificate-file", "",
		"PEM file of the certificate; encrypts every endpoint")
	flags.StringVar(&f.tls.keyFile, "tls-key-file", "", "PEM file of the certificate's key")
	flags.StringVar(&f.stateDir, "state-dir",
		"", "folder that keeps fetched files, accelerated data and usage counts between runs; one that cannot be used is "+
			"replaced by a temporary folder, with a warning (default: nothing is kept)")
	flags.BoolVar(&f.strict, "strict", false, "refuse a Spicepod if any component has a fault")
	flags.BoolVar(&f.watch, "watch", true, "reload when a file of the Spicepod changes")
	flags.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	flags.StringVar(&f.logFormat, "log-format", telemetry.FormatAuto, "text or json (default: text on a terminal)")
	flags.BoolVar(&f.allowUnauthenticated, "allow-unauthenticated", false,
		"listen on addresses that other machines can reach, without keys")
	return cmd
}

// server is a running `spiced serve`.
type server struct {
	*app
	flags     serveFlags
	err       io.Writer  // for the log
	auditFile *auditFile // nil if the audit log goes to the log
	metrics   *telemetry.Metrics
	running   running
	tls       *certificates // nil: endpoints are not encrypted
	endpoints []endpoint
}

func serve(ctx context.Context, std streams, path string, f serveFlags) error {
	level, err := telemetry.ParseLevel(f.logLevel)
	if err != nil {
		return usageError{fmt.Errorf("--log-level: %w", err)}
	}
	if err := oneOf("log-format", f.logFormat, telemetry.FormatAuto, telemetry.FormatText,
		telemetry.FormatJSON); err != nil {
		return err
	}
	// During start and shutdown as well, SIGHUP must not end the process.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	log := telemetry.NewLogger(std.err, telemetry.LogOptions{Level: level, Format: f.logFormat})
	limitHeap()
	s := &server{flags: f, err: std.err, metrics: telemetry.New(version)}
	defer s.close()
	if s.app, err = assemble(ctx, options{queries: true, mcp: true, pg: f.postgres != "", Options: runtime.Options{
		Path: path, StateDir: f.stateDir, Serves: true, Strict: f.strict, Watch: f.watch,
		Log:     log,
		Metrics: s.metrics, Audit: s.openAudit, Progress: progress(std.err, log),
	}}); err != nil {
		return err
	}
	if s.auditFile != nil {
		_, _ = s.auditFile.Write(nil) // creates the file
	}
	if err := s.listen(); err != nil {
		if errors.As(err, new(*tlsFault)) {
			s.Load(ctx, "start") // the log has the other faults
		}
		return err
	}
	return s.run(ctx, hangups)
}

// limitHeap has Go return memory to the system that large requests have taken, which it would
// keep for minutes while workers and DuckDB need it.
func limitHeap() {
	if available := memory.Available(); available > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(available / 2)
	}
}

// openAudit opens the audit log. It is written at every level of the log.
func (s *server) openAudit(a spicepod.Audit, keys bool) (*audit.Log, error) {
	if a.Mode == spicepod.AuditOff || a.Mode == spicepod.AuditAuto && !keys {
		return nil, nil
	}
	if a.File == "" {
		return audit.New(telemetry.NewLogger(s.err, telemetry.LogOptions{Level: slog.LevelInfo, Format: s.flags.logFormat})),
			nil
	}
	file := &auditFile{path: a.File, log: s.err, report: s.auditFailed}
	s.auditFile = file
	return audit.New(telemetry.NewLogger(file, telemetry.LogOptions{Level: slog.LevelInfo, Format: telemetry.FormatJSON})),
		nil
}

// auditFailed reports that records go to the log, or with nil that they go to their file
// again.
func (s *server) auditFailed(err error) {
	s.SetFault("audit", err)
	if err == nil {
		s.log.Info("audit records are written to their file again")
		return
	}
	s.log.Warn("audit records go to the log: runtime.audit.file cannot be written", "error", err)
}

// listen opens the endpoints.
func (s *server) listen() error {
	if t := s.flags.tls.settings(s.Settings().TLS); t != nil {
		s.tls = &certificates{}
		if err := s.tls.load(t); err != nil {
			return err
		}
	}
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
	err := s.openHTTP("metrics", "--metrics", s.flags.metrics, guard.Protect(mux))
	if errors.As(err, new(takenError)) {
		s.log.Warn("metrics are served by the HTTP API only until a restart", "error", err)
		s.SetFault("metrics", err)
		return nil
	}
	return err
}

// guard returns the checks before HTTP endpoints.
func (s *server) guard() sqlapi.Guard {
	settings := s.Settings()
	return sqlapi.Guard{
		Keys: s.Keys, Audit: s.Audit(),
		AllowedHosts: settings.MCP.AllowedHosts, AllowedOrigins: settings.CORS.Origins(),
	}
}

// openAPI opens the HTTP API, which includes the MCP server.
func (s *server) openAPI() error {
	guard := s.guard()
	if slices.Contains(guard.AllowedOrigins, "*") && !s.Keys().Enabled() {
		s.log.Warn("any web page open in a browser on this machine can call the API: runtime.cors allows every site, and " +
			"there are no keys")
	}
	return s.openHTTP("http", "--http", s.flags.http, s.running.count(s.newAPI(guard, s.tls != nil, s.addresses)))
}

// run serves until ctx ends, then drains.
func (s *server) run(ctx context.Context, hangups <-chan os.Signal) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, e := range s.endpoints {
		s.log.Info("listening", "endpoint", e.name, "url", e.scheme+"://"+e.listener.Addr().String())
		group.Go(func() error {
			if err := e.serve(e.listener); err != nil && !errors.Is(err, http.ErrServerClosed) &&
				!errors.Is(err, pgwire.ErrServerClosed) {
				return fmt.Errorf("%s: %w", e.name, err)
			}
			return nil
		})
	}
	group.Go(func() error { return s.Run(ctx) })
	group.Go(func() error { s.reloads(ctx, hangups); return nil })
	group.Go(func() error { s.release(ctx); return nil })
	group.Go(func() error {
		<-ctx.Done()
		return s.drain()
	})
	return group.Wait()
}

// idleAfter is how long after the first generation, or the start of a worker, memory is
// returned: clients that waited are served first.
const idleAfter = time.Second

// release returns the memory that only the start needed.
func (s *server) release(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-s.Loaded():
	}
	select {
	case <-ctx.Done():
	case <-time.After(idleAfter):
		releaseStartup()
	}
}

// reloads reloads the Spicepod and the certificate at each SIGHUP.
func (s *server) reloads(ctx context.Context, hangups <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
			if _, err := s.Reload(ctx, "signal"); err != nil && ctx.Err() == nil {
				s.log.Error("reload failed", "error", err)
			}
			s.renewCertificate()
		}
	}
}

// renewCertificate reads the certificate again. On failure the last one stays in
// use.
func (s *server) renewCertificate() {
	if s.tls == nil {
		return
	}
	t := s.flags.tls.settings(s.Settings().TLS)
	if t == nil {
		s.log.Warn("encryption ends at the next start: runtime.tls was removed")
		return
	}
	if err := s.tls.load(t); err != nil {
		s.log.Error("the certificate was not replaced", "error", err)
		return
	}
	s.log.Info("the certificate was replaced")
}

func (s *server) close() {
	for _, e := range s.endpoints {
		e.close()
		e.listener.Close()
	}
	if s.app != nil {
		s.app.close()
	}
	if s.auditFile != nil {
		s.auditFile.Close()
	}
}

// addresses returns the addresses of the endpoints, by name.
func (s *server) addresses() map[string]string {
	all := map[string]string{}
	for _, e := range s.endpoints {
		all[e.name] = e.listener.Addr().String()
	}
	return all
}
