package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spiced-sql/spiced/internal/kit/httpx"
	"github.com/spiced-sql/spiced/internal/protocols/repl"
)

// readyTimeout bounds the wait for an answer about readiness.
const readyTimeout = 4 * time.Second

// newReady is the health check of a container without a shell.
func newReady(std streams) *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use:   "ready",
		Short: "Check whether a running spiced is ready",
		Long:  "Ask a running spiced for /v1/ready, as health checks do.\nExit status: 0 ready, 1 not ready or no answer, 2 usage error.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := readiness(cmd.Context(), address)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(std.out, text)
			return err
		},
	}
	cmd.Flags().StringVar(&address, "url", repl.DefaultURL, "address of the running spiced")
	return cmd
}

// readiness returns what the server answers; an error unless it is ready.
func readiness(ctx context.Context, address string) (string, error) {
	u, err := repl.ServerURL(address)
	if err != nil {
		return "", usageError{err}
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.JoinPath("v1", "ready").String(), nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", fmt.Errorf("no answer from %s: %w (start it with spiced serve, or correct --url)", req.URL, httpx.Cause(err))
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	text := strings.TrimSpace(string(body))
	if err != nil || resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s: %s", req.URL, resp.Status, text)
	}
	return text, nil
}
