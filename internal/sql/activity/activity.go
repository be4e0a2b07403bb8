// Package activity lists the work that runs for clients: statements, tool
// calls and chats. An owner sees and cancels their own work only.
//
//	var table activity.Table
//	ctx, entry := table.Begin(ctx, activity.Work{Kind: activity.Chat, Owner: owner, Protocol: "http", Name: model})
//	defer entry.End()
//	…
//	table.List(owner)       // what runs for an owner
//	table.Cancel(owner, id) // ends ctx with ErrCancelled as its cause
//
// Work that begins with the context of other work is its child: it is listed
// for the same owner, and ends with its parent.
package activity

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/fingerprint"
)

// Kind is a kind of work.
type Kind string

// The kinds.
const (
	Statement     Kind = "statement"      // of a client
	ToolStatement Kind = "tool_statement" // of a tool
	ToolCall      Kind = "tool_call"
	Chat          Kind = "chat"
)

// Work describes work. A child takes the owner, the protocol and the name that
// it leaves empty from its parent.
type Work struct {
	ID       string // "": a new UUID; work whose id a client chose may share it
	Kind     Kind
	Owner    string
	Protocol string    // by which the client asked for it
	Name     string    // of the tool or model
	SQL      string    // of a statement; listed without its literals
	Began    time.Time // set by Begin
}

// Change is work that has begun or ended.
type Change struct {
	Work
	Ended bool
}

// ErrCancelled is the cause of a context whose work was cancelled by its owner.
var ErrCancelled = engine.NewError(errcode.Cancelled, "", "the statement was cancelled by its owner")

// Table is the list of work. The zero value is ready to use. It is safe for
// concurrent use.
type Table struct {
	// Changed gets work that has begun, and that has ended. It is set before the first use, and must
	// return at once. Nil: no one gets it.
	Changed func(w Work, ended bool)

	mu      sync.Mutex
	entries map[*Entry]struct{}
}

// Entry is work in a table, until End.
type Entry struct {
	Work
	table  *Table
	cancel context.CancelCauseFunc
}

type contextKey struct{}

// Begin lists work, which must run with the context that it returns. End the
// entry when the work is over.
func (t *Table) Begin(ctx context.Context, w Work) (context.Context, *Entry) {
	if parent := of(ctx); parent != nil {
		w.Owner, w.Protocol, w.Name = cmp.Or(w.Owner, parent.Owner), cmp.Or(w.Protocol, parent.Protocol),
			cmp.Or(w.Name, parent.Name)
	}
	if w.ID == "" {
		w.ID = NewID()
	}
	w.Began = time.Now()
	e := &Entry{Work: w, table: t}
	ctx, e.cancel = context.WithCancelCause(context.WithValue(ctx, contextKey{}, e))
	t.mu.Lock()
	if t.entries == nil {
		t.entries = map[*Entry]struct{}{}
	}
	t.entries[e] = struct{}{}
	t.mu.Unlock()
	if t.Changed != nil {
		t.Changed(e.Work, false)
	}
	return ctx, e
}

func of(ctx context.Context) *Entry {
	e, _ := ctx.Value(contextKey{}).(*Entry)
	return e
}

// BeginChild lists work in the table of the work that ctx belongs to. Without
// such work, as in what several callers share, it lists nothing.
func BeginChild(ctx context.Context, w Work) (context.Context, *Entry) {
	if parent := of(ctx); parent != nil {
		return parent.table.Begin(ctx, w)
	}
	return ctx, nil
}

// Cancel ends the work's context with a cause.
func (e *Entry) Cancel(cause error) { e.cancel(cause) }

// End removes the work from its table and ends its context. The end of a nil
// entry, and a second one, do nothing.
func (e *Entry) End() {
	if e == nil {
		return
	}
	e.cancel(nil)
	t := e.table
	t.mu.Lock()
	_, runs := t.entries[e]
	delete(t.entries, e)
	t.mu.Unlock()
	if runs && t.Changed != nil {
		t.Changed(e.Work, true)
	}
}

// find returns an owner's work of an id, or all of it if id is "".
func (t *Table) find(owner, id string) []*Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	var found []*Entry
	for e := range t.entries {
		if e.Owner == owner && (id == "" || e.ID == id) {
			found = append(found, e)
		}
	}
	return found
}

// List returns an owner's work, the oldest first, with SQL as
// [fingerprint.Of] shows it.
func (t *Table) List(owner string) []Work {
	var list []Work
	for _, e := range t.find(owner, "") {
		w := e.Work
		if w.SQL != "" {
			w.SQL = fingerprint.Of(w.SQL).Text
		}
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b Work) int { return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.ID, b.ID)) })
	return list
}

// Cancel cancels an owner's work of an id and reports whether any ran.
func (t *Table) Cancel(owner, id string) bool {
	if id == "" {
		return false
	}
	found := t.find(owner, id)
	for _, e := range found {
		e.cancel(ErrCancelled)
	}
	return len(found) > 0
}

// NewID makes a UUID of version 4 (RFC 9562), the form that Spice's clients
// expect of ids.
func NewID() string {
	var raw [16]byte
	rand.Read(raw[:]) //nolint:errcheck // never fails
	raw[6], raw[8] = raw[6]&0x0f|0x40, raw[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", raw[:4], raw[4:6], raw[6:8], raw[8:10], raw[10:])
}
