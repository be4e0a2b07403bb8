package mcpserver_test

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/protocols/mcpserver"
	"github.com/spiced-sql/spiced/tools"
)

// lineClient is a client over stdio that writes and reads lines.
type lineClient struct {
	t      *testing.T
	to     *io.PipeWriter
	from   *bufio.Scanner
	served chan error
}

func newLineClient(t *testing.T, handshake string, more ...tools.Tool) *lineClient {
	f := start(t, mcpserver.Options{}, append(more, greet(t))...)
	in, to := io.Pipe()
	from, out := io.Pipe()
	c := &lineClient{t, to, bufio.NewScanner(from), make(chan error, 1)}
	c.from.Buffer(nil, 1<<20)
	go func() { c.served <- f.server.Serve(t.Context(), in, out) }()
	c.write(handshake)
	if answer := c.read(); !strings.Contains(answer, `"serverInfo"`) {
		t.Fatal(answer)
	}
	return c
}

func (c *lineClient) write(line string) { fmt.Fprintln(c.to, line) }

func (c *lineClient) read() string {
	if !c.from.Scan() {
		c.t.Fatalf("the session ended: %v", <-c.served)
	}
	return c.from.Text()
}

// leave ends the session.
func (c *lineClient) leave() {
	c.to.Close()
	if err := <-c.served; err != nil {
		c.t.Error(err)
	}
}

// TestStdioLinesThatAreNoMessages sends such a line, then a request, which is answered.
func TestStdioLinesThatAreNoMessages(t *testing.T) {
	for line, want := range map[string]string{
		"hello":                              `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the line is not JSON; a message is one line"}}`,
		`{"jsonrpc":"2.0","id":4,`:           `"id":null,"error":{"code":-32700`,
		"{\"jsonrpc\":\"2.0\",\"id\":\"\x00": `"id":null,"error":{"code":-32700`,
		`{"a":1}{"b":2}`:                     `"id":null,"error":{"code":-32700`,
		"7":                                  `"id":null,"error":{"code":-32600`,
		"null":                               `"id":null,"error":{"code":-32600`,
		`"text"`:                             `"id":null,"error":{"code":-32600`,
		"{}":                                 `"id":null,"error":{"code":-32600`,
		`{"jsonrpc":"1.0","id":5,"method":"ping"}`:       `"id":5,"error":{"code":-32600`,
		`{"jsonrpc":"2.0","id":"six","method":6}`:        `"id":"six","error":{"code":-32600`,
		`{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`: `"id":null,"error":{"code":-32600`,
		"[]":  `"id":null,"error":{"code":-32600`,
		"[7]": `"id":null,"error":{"code":-32600`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":1,"method":"ping"}]`: `"id":null,"error":{"code":-32600,"message":"the batch has two requests of one id"`,
		strings.Repeat("x", 33<<20): `"id":null,"error":{"code":-32600,"message":"the message has more than 33554432 bytes"`,
	} {
		t.Run(line[:min(len(line), 50)], func(t *testing.T) {
			c := newLineClient(t, strings.Replace(handshake, "2025-11-25", "2025-03-26", 1))
			c.write("\n  ")
			c.write(line)
			if answer := c.read(); !strings.Contains(answer, want) {
				t.Errorf("%s, want %s", answer, want)
			}
			c.write(`{"jsonrpc":"2.0","id":9,"method":"ping"}` + "\r")
			if answer := c.read(); !strings.Contains(answer, `"id":9,"result"`) {
				t.Error(answer)
			}
			c.leave()
		})
	}
}

func TestStdioBatches(t *testing.T) {
	const batch = `[{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/y"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`
	for revision, want := range map[string]string{
		"2025-03-26": `[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]`,
		"2025-11-25": `"id":null,"error":{"code":-32600`,
	} {
		c := newLineClient(t, strings.Replace(handshake, "2025-11-25", revision, 1))
		c.write(batch)
		if answer := c.read(); !strings.Contains(answer, want) {
			t.Errorf("%s: %s, want %s", revision, answer, want)
		}
		c.write(`{"jsonrpc":"2.0","id":9,"method":"ping"}`)
		if answer := c.read(); !strings.Contains(answer, `"id":9,"result"`) {
			t.Error(answer)
		}
		c.leave()
	}
}

// TestStdioCancelledRequestsAreNotAnswered, as openai/codex#20925 asks.
func TestStdioCancelledRequestsAreNotAnswered(t *testing.T) {
	for _, id := range []string{`1`, `"a"`, `1764208000000000001`, `"\ud800"`} {
		wait, begun, ended := waiter(t)
		c := newLineClient(t, handshake, wait)
		c.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"never sent"}}`)
		c.write(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"wait"}}`)
		<-begun
		c.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"enough"}}`)
		<-ended
		c.write(`{"jsonrpc":"2.0","id":"next","method":"ping"}`)
		if answer := c.read(); answer != `{"jsonrpc":"2.0","id":"next","result":{}}` {
			t.Errorf("%s: %s", id, answer)
		}
		c.to.Close()
		for c.from.Scan() { // until the session has ended, which waits for its calls
			t.Errorf("%s: answered %s", id, c.from.Text())
		}
		if err := <-c.served; err != nil {
			t.Error(err)
		}
	}
}
