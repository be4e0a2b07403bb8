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
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/spiced-sql/spiced/daemon"
	"github.com/spiced-sql/spiced/repl"
	"github.com/spiced-sql/spiced/sqlapi"
)

// sqlFlags are the flags of `spiced sql`.
type sqlFlags struct {
	url, command, output string
	apiKey               string
	timing               bool
}

func newSQL(std streams) *cobra.Command {
	var f sqlFlags
	cmd := &cobra.Command{
		Use:   "sql [DIR|FILE]",
		Short: "Query a Spicepod from a terminal or a script",
		Long:  "Load the Spicepod in DIR, by default this folder, or connect to a running spiced with --url.\nStatements come from the terminal, from -c, or from standard input. \\? lists the commands of the terminal.",
		Args:  atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf("output", f.output, "table", "csv", "json", "ndjson"); err != nil {
				return err
			}
			if f.url != "" && len(args) > 0 {
				return usageError{errors.New("give a Spicepod or --url, not both")}
			}
			return runSQL(cmd.Context(), std, podPath(args), f, cmd.Flags().Changed("command"))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.url, "url", "", "address of a running spiced, such as "+repl.DefaultURL)
	flags.StringVarP(&f.command, "command", "c", "", "run these statements and exit")
	flags.StringVarP(&f.output, "output", "o", "table", "table, csv, json or ndjson")
	flags.StringVar(&f.apiKey, "api-key", os.Getenv("SPICED_API_KEY"), "key for --url (default: $SPICED_API_KEY)")
	flags.BoolVar(&f.timing, "timing", false, "print how long each statement took")
	flags.Lookup("api-key").DefValue = ""
	return cmd
}

func runSQL(ctx context.Context, std streams, path string, f sqlFlags, once bool) error {
	opts := repl.Options{
		URL: f.url, Header: http.Header{}, In: std.in, Out: std.out, Err: std.err,
		Format: f.output, Timing: f.timing,
	}
	if f.apiKey != "" {
		opts.Header.Set("X-API-Key", f.apiKey)
	}
	if f.url == "" {
		local, err := serveLocal(ctx, std, path)
		if err != nil {
			return err
		}
		defer local.close()
		opts.Client, opts.URL = local.client, "http://localhost"
	}
	var err error
	if once {
		err = repl.Exec(ctx, opts, f.command)
	} else {
		err = runInput(ctx, std, opts)
	}
	var failed *repl.StatementError
	if errors.As(err, &failed) {
		failed.WriteText(std.err)
		return shownError{err}
	}
	return err
}

// runInput reads a terminal or a script. On a terminal Ctrl-C ends the
// statement, not the program.
func runInput(ctx context.Context, std streams, opts repl.Options) error {
	in, ok := std.in.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return repl.Run(ctx, opts)
	}
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM)
	defer stop()
	opts.Interactive = true
	if home, err := os.UserHomeDir(); err == nil {
		opts.History = filepath.Join(home, ".spiced_history")
	}
	return repl.Run(ctx, opts)
}

// localServer is a Spicepod served to this process alone, over a socket in a
// folder that nobody else may enter.
type localServer struct {
	client *http.Client
	dir    string
	daemon *daemon.Daemon
	http   *http.Server
}

func serveLocal(ctx context.Context, std streams, path string) (*localServer, error) {
	log := slog.New(slog.DiscardHandler)
	d, err := daemon.New(ctx, daemon.Options{Path: path, Log: log, Progress: progress(std.err)})
	if err != nil {
		return nil, err
	}
	s := &localServer{daemon: d}
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
		Querier: d.DB(), Inventory: inventory{d, func() map[string]string { return nil }, &drainer{}}, Tools: d.Tools(), Chats: chats{d}, Log: log, Version: version,
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
	s.daemon.Close()
}
