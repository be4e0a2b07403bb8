package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/url"
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
		Long: "Ask a running spiced for /v1/ready, as health checks do.\nExit status: 0 ready, 1 not ready or no answer, " +
			"2 usage error.",
		Args: cobra.NoArgs,
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

// readiness returns what the server answers; an error unless it is ready. A server of this
// machine that serves TLS is asked over TLS, whatever its certificate: the health check of an
// image does not know the name in it, and the request has nothing secret.
func readiness(ctx context.Context, address string) (string, error) {
	u, err := repl.ServerURL(address)
	if err != nil {
		return "", usageError{err}
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	status, text, err := askReady(ctx, u)
	if err == nil && status == http.StatusBadRequest && u.Scheme == "http" && isLoopback(u.Hostname()) {
		u.Scheme = "https"
		status, text, err = askReady(ctx, u)
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("no answer from %s: %w (start it with spiced serve, or correct --url)",
			u.JoinPath("v1", "ready"), httpx.Cause(err))
	case status != http.StatusOK:
		return "", fmt.Errorf("%s: %d %s: %s", u.JoinPath("v1", "ready"), status, http.StatusText(status), text)
	}
	return text, nil
}

// askReady returns the status and the beginning of the text that a server answers.
func askReady(ctx context.Context, u *url.URL) (status int, text string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.JoinPath("v1", "ready").String(), nil)
	if err != nil {
		return 0, "", err
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	if isLoopback(u.Hostname()) {
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	return resp.StatusCode, strings.TrimSpace(string(body)), err
}
