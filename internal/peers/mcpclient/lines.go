package mcpclient

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// lines logs what a process writes outside the protocol, at debug: one record a
// line, bounded in length and number, without control characters and secrets.
type lines struct {
	log    *slog.Logger
	redact func(string) string

	mu      sync.Mutex
	begin   time.Time // start of the second that is counted
	logged  int       // lines in that second
	dropped int       // since the last logged line
	last    string
}

// read reads lines from r until its end.
func (l *lines) read(r io.Reader, stream string) {
	in := bufio.NewReaderSize(r, maxLine)
	for {
		line, err := in.ReadSlice('\n')
		text := string(line)
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a long line
			_, err = in.ReadSlice('\n')
		}
		l.add(text, stream)
		if err != nil {
			return
		}
	}
}

func (l *lines) add(text, stream string) {
	text = truncate.Line(l.redact(text), maxLine)
	if text == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = text
	if now := time.Now(); now.Sub(l.begin) >= time.Second {
		l.begin, l.logged = now, 0
	}
	if l.logged >= maxLines {
		l.dropped++
		return
	}
	l.logged++
	attrs := []any{"stream", stream, "line", text}
	if l.dropped > 0 {
		attrs = append(attrs, "lines_not_logged", l.dropped)
		l.dropped = 0
	}
	l.log.Debug("an MCP server wrote", attrs...)
}

// said is the last line, for the error of a server that ended.
func (l *lines) said() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == "" {
		return ""
	}
	return "; the last it wrote: " + truncate.Ellipsis(strings.TrimSpace(l.last), maxReason)
}
