package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/tools"
)

// Serve serves one client over a pair of streams, one message a line, until the
// client closes in, ctx ends or the server is closed. It closes both streams.
// Closing in must interrupt a pending read.
func (s *Server) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	open := s.sessions.open()
	sess := s.sessions.session(tools.Scope{}, "")
	defer sess.end()
	to := &lineWriter{WriteCloser: out}
	from := newLines(in, to, func() bool { return batches(s.sessions.sdkOf(sess)) })
	sdk, err := s.sdk.Connect(sess.in(ctx), &mcp.IOTransport{Reader: from, Writer: to, MaxLineLength: -1}, nil)
	if err != nil {
		return fmt.Errorf("begin an MCP session: %w", err)
	}
	if err := s.admitSession(sess, sdk); err != nil {
		_ = sdk.Close() // it has not begun
		if open && errors.Is(err, errClosed) {
			return nil // as from Wait
		}
		return err
	}
	defer s.sessions.remove(sess)
	stop := context.AfterFunc(ctx, func() {
		sess.end()
		_ = sdk.Close() // Wait returns how it ended
	})
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- sdk.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		select {
		case err = <-ended:
		case <-time.After(stopPatience):
		}
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil, sess.ended.Err() != nil, errors.Is(err, io.EOF):
		return nil
	}
	return fmt.Errorf("MCP session: %w", err)
}

// stopPatience is how long the end of ctx waits for a client that does not read what is written
// to it.
const stopPatience = 2 * time.Second

// batches reports whether a client may send batches: its revision was not chosen yet, or is one
// before 2025-06-18, which removed them.
func batches(sdk *mcp.ServerSession) bool {
	if sdk == nil || sdk.InitializeParams() == nil {
		return true
	}
	revision := sdk.InitializeParams().ProtocolVersion
	return slices.Contains(revisions, revision) && revision < "2025-06-18"
}
