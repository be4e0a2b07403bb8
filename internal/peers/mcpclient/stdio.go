package mcpclient

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// errTooLong is the error of a message or response larger than [maxMessage].
var errTooLong = fmt.Errorf("a message has more than %d MiB", maxMessage>>20)

// stdio is the connection to a process: one message a line.
//
// It replaces the SDK's, which ends at the first line that is not a message:
// many servers print greetings or logs on stdout, which other clients skip.
type stdio struct {
	process *process
	lines   *bufio.Reader
	queue   []jsonrpc.Message // the rest of a batch
	writing chan struct{}     // holds a token during a write
	patient time.Duration     // the timeout of a write
	close   sync.Once
}

var (
	_ mcp.Connection = (*stdio)(nil)
	_ mcp.Transport  = (*stdio)(nil)
)

func newStdio(p *process, patience time.Duration) *stdio {
	return &stdio{process: p, lines: bufio.NewReaderSize(p.stdout, 64<<10), writing: make(chan struct{}, 1), patient: patience}
}

// Connect returns the connection itself: the process is already running.
func (s *stdio) Connect(context.Context) (mcp.Connection, error) { return s, nil }

// SessionID is "": a process has one session.
func (s *stdio) SessionID() string { return "" }

// Close closes both directions. The owner ends the process.
func (s *stdio) Close() error {
	s.close.Do(func() {
		s.process.stdin.Close()
		s.process.stdout.Close()
	})
	return nil
}

// Read returns the next message. Other lines are logged.
func (s *stdio) Read(context.Context) (jsonrpc.Message, error) {
	for len(s.queue) == 0 {
		line, err := s.line()
		if err != nil {
			return nil, err
		}
		if s.queue = messages(line); s.queue == nil {
			s.process.said.add(string(line[:min(len(line), maxLine)]), "stdout")
		}
	}
	next := s.queue[0]
	s.queue = s.queue[1:]
	return next, nil
}

// line returns the next line without its line break.
func (s *stdio) line() ([]byte, error) {
	line, err := s.lines.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		long := bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) {
			if len(long) > maxMessage {
				s.process.overlong.Store(true) // before the read fails: calls may see the end first
				return nil, errTooLong
			}
			line, err = s.lines.ReadSlice('\n')
			long = append(long, line...)
		}
		line = long
	}
	if err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)) {
		return nil, err
	}
	return bytes.TrimSpace(line), nil
}

// messages parses a line: one message, or a batch, which servers of revision
// 2025-03-26 may send; nil if it is neither.
func messages(line []byte) []jsonrpc.Message {
	batch := []json.RawMessage{line}
	if len(line) > 0 && line[0] == '[' {
		if batch = nil; json.Unmarshal(line, &batch) != nil {
			return nil
		}
	}
	var list []jsonrpc.Message
	for _, raw := range batch {
		if len(raw) == 0 || raw[0] != '{' {
			return nil
		}
		message, err := jsonrpc.DecodeMessage(raw)
		if err != nil {
			return nil
		}
		list = append(list, message)
	}
	return list
}

// Write sends a message. It waits for the process to read until ctx or the
// write timeout ends; a partial message ends the connection.
func (s *stdio) Write(ctx context.Context, message jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	select {
	case s.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.writing }()
	in := s.process.stdin
	_ = in.SetWriteDeadline(time.Now().Add(s.patient))
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = in.SetWriteDeadline(time.Unix(1, 0))
		close(ended)
	})
	n, err := in.Write(append(data, '\n'))
	if !stop() {
		<-ended // so that it does not affect the next write
	}
	switch {
	case err == nil:
		return nil
	case n > 0:
		_ = s.Close()
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("the server reads nothing for %s", s.patient)
	}
	return err
}
