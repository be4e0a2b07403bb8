// Package audit writes who did what: a line for each statement, call of a tool
// and request that is not let through, with the principal, a fingerprint in
// place of the text, and the outcome. No literal of a statement and no argument
// of a tool gets into it.
//
//	log := audit.New(logger) // nil writes nothing
//	log.Record(ctx, audit.Entry{Kind: audit.Statement, Principal: "bi", Fingerprint: f, Outcome: audit.OK})
package audit

import (
	"context"
	"log/slog"
	"time"

	"github.com/spiced-sql/spiced/internal/sql/fingerprint"
)

// Kind is what was done.
type Kind string

// What is recorded.
const (
	Statement Kind = "statement"
	Tool      Kind = "tool"
	Login     Kind = "login"   // without a key that is known
	Request   Kind = "request" // not let through, whatever it asked for
)

// Outcomes; the others are codes of errors.
const (
	OK           = "ok"
	Unauthorized = "unauthorized"      // the key is missing or not known
	Denied       = "permission_denied" // the key does not permit it
	RateLimited  = "rate_limited"      // the principal's limits are reached
)

// Entry is one line.
type Entry struct {
	Kind        Kind
	Door        string // http, postgres, flight, …
	Principal   string // "" without keys
	User        string
	RequestID   string
	Remote      string // the client's address, where it is known
	Tool        string
	Fingerprint fingerprint.Fingerprint // of a statement, also of one that a tool was given
	Rows, Bytes int64
	Took        time.Duration
	Outcome     string
}

// Log takes entries. A nil Log writes nothing. It is safe for concurrent use.
type Log struct{ log *slog.Logger }

// New makes a log that writes to a logger, at level info.
func New(log *slog.Logger) *Log { return &Log{log} }

// Enabled reports whether entries are written, for callers to whom making one
// has a cost.
func (l *Log) Enabled() bool {
	return l != nil && l.log.Enabled(context.Background(), slog.LevelInfo)
}

// Record writes an entry.
func (l *Log) Record(ctx context.Context, e Entry) {
	if !l.Enabled() {
		return
	}
	attrs := []slog.Attr{slog.String("kind", string(e.Kind)), slog.String("door", e.Door), slog.String("outcome", e.Outcome)}
	for _, word := range [...]struct{ key, value string }{
		{"principal", e.Principal},
		{"user", e.User},
		{"tool", e.Tool},
		{"fingerprint", e.Fingerprint.ID},
		{"sql", e.Fingerprint.Text},
		{"request_id", e.RequestID},
		{"remote", e.Remote},
	} {
		if word.value != "" {
			attrs = append(attrs, slog.String(word.key, word.value))
		}
	}
	if e.Kind == Statement || e.Kind == Tool {
		attrs = append(attrs, slog.Int64("rows", e.Rows), slog.Int64("bytes", e.Bytes), slog.Duration("took", e.Took.Round(time.Microsecond)))
	}
	l.log.LogAttrs(context.WithoutCancel(ctx), slog.LevelInfo, "audit", attrs...)
}
