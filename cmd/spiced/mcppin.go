package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/spiced-sql/spiced/internal/peers/mcpclient"
	"github.com/spiced-sql/spiced/internal/peers/mcplock"
	"github.com/spiced-sql/spiced/internal/runtime"
	"github.com/spiced-sql/spiced/spicepod"
)

func newMCPPin(std streams) *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "pin [DIR|FILE]",
		Short: "Approve the tools of MCP servers as they are now",
		Long: `Connect to the MCP servers of the Spicepod in DIR, by default this folder, and write the checksums of their
tools' texts to ` + mcplock.Name + ` next to it. With pin: checksum a server's tool is served only if it matches:
read the changes, then commit the file.

Exit status: 0 success, 1 a server is not available and nothing was written, 2 usage error.`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			return pin(cmd.Context(), std, podPath(args), dryRun)
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would change and write nothing")
	return cmd
}

func pin(ctx context.Context, std streams, path string, dryRun bool) error {
	pod, err := spicepod.Load(path, runtime.Bodies...)
	if err != nil {
		return err
	}
	after, err := listTools(ctx, std, pod)
	if err != nil {
		return err
	}
	dir := pod.Dir
	before, err := mcplock.Open(dir)
	if err != nil {
		return fmt.Errorf("%w: fix it, or remove it to approve all tools again", err)
	}
	changes := mcplock.Diff(before.Servers(), after)
	for _, c := range changes {
		fmt.Fprintln(std.out, c)
	}
	switch {
	case len(changes) == 0:
		fmt.Fprintln(std.err, "nothing changed")
	case !dryRun:
		if err := mcplock.Write(dir, after); err != nil {
			return err
		}
		fmt.Fprintf(std.err, "wrote %s\n", filepath.Join(dir, mcplock.Name))
	}
	return nil
}

// listTools connects to every server and lists its current tools.
func listTools(ctx context.Context, std streams, pod *spicepod.Pod) (map[string][]mcplock.Entry, error) {
	m := mcpclient.New(mcpclient.Options{Version: version, Log: slog.New(slog.DiscardHandler)})
	defer m.Close()
	servers, problems := m.Prepare(ctx, pod)
	missing := false
	for _, s := range m.Status() {
		if s.State != mcpclient.Ready {
			fmt.Fprintf(std.err, "tool %s: %s\n", s.Name, s.Error)
			missing = true
		}
	}
	if missing || len(m.Status()) < len(servers) {
		problems.WriteText(std.err)
		return nil, shownError{errors.New("some MCP servers are not available; nothing was written")}
	}
	all := map[string][]mcplock.Entry{}
	for _, s := range servers {
		for _, t := range s.Listed() {
			all[s.Name()] = append(all[s.Name()], mcplock.Entry{Tool: t.Name, Checksum: t.Checksum, Description: t.Description})
		}
	}
	if len(servers) == 0 {
		return nil, errors.New("the Spicepod declares no MCP servers")
	}
	return all, ctx.Err()
}
