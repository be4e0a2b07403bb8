// Package audit writes the audit log: a line for each statement, tool call,
// refused request and step of an approval, with the principal, a fingerprint instead of the text, and
// the outcome. It contains no literal of a statement and no argument of a tool.
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

// Kind is the kind of an entry.
type Kind string

// Kinds of entries.
const (
	Statement Kind = "statement"
	Tool      Kind = "tool"
	Login     Kind = "login"   // without a known key
	Request   Kind = "request" // refused, whatever it requested
	Approval  Kind = "approval"
)

// Outcomes; the others are error codes and, of approvals, asked, approved, denied and used.
const (
	OK           = "ok"
	Unauthorized = "unauthorized"      // the key is missing or unknown
	Denied       = "permission_denied" // the key does not permit it
	RateLimited  = "rate_limited"      // a limit of the principal is reached
)

// Entry is one line of the log.
type Entry struct {
	Kind        Kind
	Protocol    string // http, postgres, flight, …
	Principal   string // "" without keys
	User        string
	RequestID   string
	Remote      string // the client's address, if known
	Tool        string
	Approval    string                  // the id of an approval
	Fingerprint fingerprint.Fingerprint // of a statement, also of one in a tool's arguments
	Rows, Bytes int64
	Took        time.Duration
	Outcome     string
}

// Log writes entries. A nil Log writes nothing. It is safe for concurrent use.
type Log struct{ log *slog.Logger }

// New returns a log that writes to a logger, at level info.
func New(log *slog.Logger) *Log { return &Log{log} }

// Enabled reports whether entries are written, so that callers can avoid the
// cost of making one.
func (l *Log) Enabled() bool {
	return l != nil && l.log.Enabled(context.Background(), slog.LevelInfo)
}

// Record writes an entry.
func (l *Log) Record(ctx context.Context, e Entry) {
	if !l.Enabled() {
		return
	}
	attrs := []slog.Attr{
		slog.String("kind", string(e.Kind)), slog.String("door", e.Protocol),
		slog.String("outcome", e.Outcome),
	}
	for _, word := range [...]struct{ key, value string }{
		{"principal", e.Principal},
		{"user", e.User},
		{"tool", e.Tool},
		{"approval", e.Approval},
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
		attrs = append(attrs, slog.Int64("rows", e.Rows), slog.Int64("bytes", e.Bytes),
			slog.Duration("took", e.Took.Round(time.Microsecond)))
	}
	l.log.LogAttrs(context.WithoutCancel(ctx), slog.LevelInfo, "audit", attrs...)
}
