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

// stdio is the connection to a process: one message a line.
//
// It replaces the SDK's, which ends at the first line that is not a message:
// many servers print greetings or logs on stdout, which other clients skip.
type stdio struct {
	process  *process
	exchange *exchange
	lines    *bufio.Reader
	queue    []jsonrpc.Message // the rest of a batch
	writing  chan struct{}     // holds a token during a write
	patient  time.Duration     // the timeout of a write
	close    sync.Once
}

var (
	_ mcp.Connection = (*stdio)(nil)
	_ mcp.Transport  = (*stdio)(nil)
)

func newStdio(p *process, x *exchange, patience time.Duration) *stdio {
	return &stdio{
		process: p, exchange: x, lines: bufio.NewReaderSize(p.stdout, 64<<10), writing: make(chan struct{}, 1),
		patient: patience,
	}
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

// Read returns the next message. Of other lines, one with the id of a request fails that; the rest,
// such as greetings, is logged and noted.
func (s *stdio) Read(context.Context) (jsonrpc.Message, error) {
	for len(s.queue) == 0 {
		line, err := s.line()
		if err != nil {
			return nil, err
		}
		if s.queue = append(s.queue, messages(line, s.exchange.receive)...); len(s.queue) == 0 {
			s.other(line)
		}
	}
	next := s.queue[0]
	s.queue = s.queue[1:]
	return next, nil
}

// other takes a line without a message that somebody waits for.
func (s *stdio) other(line []byte) {
	text := string(line[:min(len(line), maxLine)])
	defer s.process.said.add(text, "stdout")
	if len(line) == 0 || json.Valid(line) {
		return
	}
	var broken skim
	_, _ = broken.Write(line) // never fails
	s.exchange.note("a line that is not a JSON-RPC message: " + text)
	s.fail(broken.answers(), errJunk)
}

// fail queues an error for the request of an id, if there is one.
func (s *stdio) fail(id string, why error) {
	if failed := s.exchange.fail(id, why); failed != nil {
		message, _ := jsonrpc.DecodeMessage(failed) // fail encoded it
		s.queue = append(s.queue, message)
	}
}

// line returns the next line without its line break. An answer that is too long is an empty line,
// and an error for the request in the queue.
func (s *stdio) line() ([]byte, error) {
	line, err := s.lines.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		long := bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) {
			if len(long) > maxMessage {
				return s.skip(long)
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

// skip reads the rest of a line that is too long.
func (s *stdio) skip(begin []byte) ([]byte, error) {
	var long skim
	_, _ = long.Write(begin) // never fails
	for skipped := 0; ; {
		part, err := s.lines.ReadSlice('\n')
		_, _ = long.Write(part) // never fails
		skipped += len(part)
		switch {
		case err == nil:
			s.fail(long.answers(), errTooLong)
			return nil, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case skipped > maxSkipped:
			return nil, errTooLong
		}
	}
}

// messages parses a line: one message, or a batch, which servers of revision
// 2025-03-26 may send; nil if it is neither. What receive does not take is left out.
func messages(line []byte, receive func(message []byte, of string) []byte) []jsonrpc.Message {
	batch := []json.RawMessage{line}
	if len(line) > 0 && line[0] == '[' {
		if batch = nil; json.Unmarshal(line, &batch) != nil {
			return nil
		}
	}
	var list []jsonrpc.Message
	for _, raw := range batch {
		message, err := jsonrpc.DecodeMessage(receive(raw, ""))
		if err == nil {
			list = append(list, message)
		}
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
	data, _ = s.exchange.send(ctx, data)
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
