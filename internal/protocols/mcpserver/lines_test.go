package mcpserver_test

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/protocols/mcpserver"
)

// lineClient is a client over stdio that writes and reads lines.
type lineClient struct {
	t      *testing.T
	to     *io.PipeWriter
	from   *bufio.Scanner
	served chan error
}

func newLineClient(t *testing.T, handshake string) *lineClient {
	f := start(t, mcpserver.Options{}, greet(t))
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
	for revision, want := range map[string]string{"2025-03-26": `[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]`, "2025-11-25": `"id":null,"error":{"code":-32600`} {
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
