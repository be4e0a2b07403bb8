package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/telemetry"
	"github.com/spiced-sql/spiced/internal/protocols/mcpserver"
	"github.com/spiced-sql/spiced/internal/runtime"
	"github.com/spiced-sql/spiced/tools"
)

// newMCPServer returns the MCP server of a runtime.
func newMCPServer(d *runtime.Runtime, log *slog.Logger) (*mcpserver.Server, error) {
	r, err := newResources(d)
	if err != nil {
		return nil, err
	}
	s := mcpserver.New(mcpserver.Options{
		Registry: d.Tools(), Loaded: d.Loaded(), Resources: r, Version: version, ID: d.ID(), Log: log,
		Scope: func(r *http.Request) tools.Scope { return tools.Scope{Caller: caller.From(r.Context())} },
		Settings: func() mcpserver.Settings {
			m := d.Settings().MCP
			return mcpserver.Settings{Mode: m.Mode, Pinned: m.PinnedTools}
		},
	})
	return s, nil
}

func newMCP(std streams) *cobra.Command {
	var logLevel string
	cmd := &cobra.Command{
		Use:   "mcp [DIR|FILE]",
		Short: "Serve the tools of a Spicepod to an MCP client over standard input and output",
		Long: `Load the Spicepod in DIR, by default this folder, and serve its functions and tools to an IDE, a desktop
assistant or another agent, which starts this command. Edits of the files take effect at once. The log goes to
standard error. A server over HTTP is part of spiced serve, at /v1/mcp.`,
		Example: `  spiced mcp examples/quickstart
  spiced mcp pin`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			level, err := telemetry.ParseLevel(logLevel)
			if err != nil {
				return usageError{fmt.Errorf("--log-level: %w", err)}
			}
			return serveStdio(cmd.Context(), std, podPath(args), level)
		},
	}
	cmd.Flags().StringVar(&logLevel, "log-level", "warn", "debug, info, warn or error")
	cmd.AddCommand(newMCPPin(std))
	return cmd
}

// nopCloser leaves standard output open.
type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// errClientLeft ends the runtime when the client closes its end.
var errClientLeft = errors.New("the MCP client left")

func serveStdio(ctx context.Context, std streams, path string, level slog.Level) error {
	log := telemetry.NewLogger(std.err, telemetry.LogOptions{Level: level, Format: telemetry.FormatAuto})
	a, err := assemble(ctx, options{Options: runtime.Options{Path: path, Watch: true, Log: log}, mcp: true})
	if err != nil {
		return err
	}
	defer a.close()
	group, session := errgroup.WithContext(ctx)
	group.Go(func() error { return a.Run(session) })
	group.Go(func() error {
		if err := a.mcp.Serve(session, io.NopCloser(std.in), nopCloser{std.out}); err != nil {
			return err
		}
		return errClientLeft
	})
	if err := group.Wait(); ctx.Err() == nil && !errors.Is(err, errClientLeft) {
		return err
	}
	return nil // the client left, or a signal ended the server, as clients do
}
