package telemetry

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"
)

// console is a handler for people:
//
//	15:04:05 INFO  dataset is ready  dataset=flights took=19.6ms
type console struct {
	attributes slog.Handler // writes key=value to line
	shared     *consoleOutput
}

// consoleOutput is what the loggers made from one console share.
type consoleOutput struct {
	mu   sync.Mutex
	w    io.Writer
	line bytes.Buffer
}

func newConsole(w io.Writer, o *slog.HandlerOptions) *console {
	out := &consoleOutput{w: w}
	replace := func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
			return slog.Attr{} // written by Handle
		}
		return o.ReplaceAttr(groups, a)
	}
	return &console{slog.NewTextHandler(&out.line, &slog.HandlerOptions{Level: o.Level, ReplaceAttr: replace}), out}
}

// Enabled reports whether records of this level are written.
func (c *console) Enabled(ctx context.Context, level slog.Level) bool {
	return c.attributes.Enabled(ctx, level)
}

// Handle writes a record on one line.
func (c *console) Handle(ctx context.Context, r slog.Record) error {
	c.shared.mu.Lock()
	defer c.shared.mu.Unlock()
	line := &c.shared.line
	line.Reset()
	level := r.Level.String()
	line.WriteString(r.Time.Format(time.TimeOnly) + " " + level + strings.Repeat(" ", max(6-len(level), 1)) +
		visible(r.Message) + "  ")
	if err := c.attributes.Handle(ctx, r); err != nil {
		return err
	}
	_, err := c.shared.w.Write(append(bytes.TrimRight(line.Bytes(), " \n"), '\n'))
	return err
}

// WithAttrs returns a handler that adds attributes.
func (c *console) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &console{c.attributes.WithAttrs(attrs), c.shared}
}

// WithGroup returns a handler that adds a group.
func (c *console) WithGroup(name string) slog.Handler {
	return &console{c.attributes.WithGroup(name), c.shared}
}

// visible replaces control characters, which a terminal would obey.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}
