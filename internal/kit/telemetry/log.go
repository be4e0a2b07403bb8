package telemetry

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"golang.org/x/term"
)

// The forms of log lines.
const (
	FormatAuto = ""     // text on a terminal, JSON elsewhere
	FormatText = "text" // for people: time, level, message, key=value
	FormatJSON = "json" // an object on each line
)

// LogOptions configures [NewLogger]. The zero value is ready to use.
type LogOptions struct {
	Level  slog.Leveler // nil: info
	Format string       // FormatAuto, FormatText or FormatJSON
}

// NewLogger makes a logger that writes to w.
func NewLogger(w io.Writer, o LogOptions) *slog.Logger {
	options := &slog.HandlerOptions{Level: o.Level, ReplaceAttr: readable}
	if o.Format == FormatJSON || o.Format == FormatAuto && !isTerminal(w) {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(newConsole(w, options))
}

// readable writes a duration as "12.3ms", in JSON too.
func readable(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(shortDuration(a.Value.Duration()).String())
	}
	return a
}

// shortDuration rounds to at least three significant digits.
func shortDuration(d time.Duration) time.Duration {
	for unit := time.Second; unit >= time.Microsecond; unit /= 1000 {
		if d.Abs() >= unit {
			return d.Round(unit / 1000)
		}
	}
	return d
}

// ParseLevel parses debug, info, warn or error.
func ParseLevel(s string) (slog.Level, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(s)); err != nil {
		return 0, fmt.Errorf("log level %q: want debug, info, warn or error", s)
	}
	return level, nil
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
