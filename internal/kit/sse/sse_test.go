package sse_test

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/spiced-sql/spiced/internal/kit/sse"
)

// read returns the events of a stream as type|data, and the error that ends it.
func read(r io.Reader, most int) (events []string, err error) {
	reader := sse.NewReader(bufio.NewReaderSize(r, 16), most)
	for {
		event, err := reader.Next()
		if err != nil {
			return events, err
		}
		events = append(events, event.Type+"|"+string(event.Data))
	}
}

func TestReader(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"a longer line than the buffer": {"data: " + strings.Repeat("x", 40) + "\n\n", "|" + strings.Repeat("x", 40)},
		"CRLF":                          {"event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", "a|1 |2"},
		"comments":                      {": hello\n\n: wait\ndata: 1\n: x\n\n", "|1"},
		"no line end at the end":        {"data: 1\n\ndata: 2", "|1 |2"},
		"several lines":                 {"data: 1\ndata: 2\ndata\n\n", "|1\n2\n"},
		"one space only":                {"data:  1\n\n", "| 1"},
		"a name without data":           {"event: a\n\ndata: 1\n\n", "|1"},
		"other fields":                  {"id: 7\nretry: 3\ndata: 1\n\n", "|1"},
		"nothing":                       {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(c.body), iotest.OneByteReader(strings.NewReader(c.body))} {
				if events, err := read(r, 100); err != io.EOF || strings.Join(events, " ") != c.want {
					t.Errorf("%q %v, want %q", events, err, c.want)
				}
			}
		})
	}
}

func TestTooLong(t *testing.T) {
	for name, body := range map[string]string{
		"one line":         "data: 1\n\ndata: " + strings.Repeat("x", 100) + "\n\n",
		"several lines":    "data: 1\n\n" + strings.Repeat("data: xxxxxxxxxx\n", 10) + "\n",
		"a line of others": "data: 1\n\nid: " + strings.Repeat("x", 200) + "\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			if events, err := read(strings.NewReader(body), 100); !errors.Is(err, sse.ErrTooLong) || len(events) != 1 {
				t.Errorf("%q %v", events, err)
			}
		})
	}
}
