package dbproxy

import (
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// CommitLimit is how long a COMMIT may take, which no caller can cancel.
const CommitLimit = 30 * time.Second

// The states of connections that ended, before and during a COMMIT.
const (
	StateEnded   = "08006" // connection_failure
	StateUnknown = "08007" // transaction_resolution_unknown
)

// StateError returns an error with an SQLSTATE.
func StateError(code errcode.Code, state, hint, format string, args ...any) *engine.Error {
	e := engine.NewError(code, hint, format, args...)
	e.State = state
	return e
}

const maxReturned = 64 << 20 // bytes of the rows of RETURNING

// Returned returns what adds rows to those that a change returns.
func Returned(r *engine.RowChange, changed *engine.Changed) func(row []*string) error {
	size := 0
	return func(row []*string) error {
		for _, v := range row {
			if v != nil {
				size += len(*v)
			}
		}
		changed.Rows = append(changed.Rows, row)
		switch {
		case int64(len(changed.Rows)) > r.MaxRows:
			return engine.TooManyReturned(r.MaxRows)
		case size > maxReturned:
			return engine.NewError(errcode.Limit, "change fewer rows at once, or leave RETURNING out",
				"the rows of RETURNING take more than %d bytes; nothing was written", maxReturned)
		}
		return nil
	}
}

// Written knows the servers that datasets write to: what is read from one of them may change
// with a statement.
type Written struct {
	mu      sync.Mutex
	servers map[string]bool // by id
}

// Share sets the sources of the Spicepod. Those that write have a method WritesTo, which
// returns the id of the server, or "".
func (w *Written) Share(sources []source.Source) {
	servers := map[string]bool{}
	for _, src := range sources {
		if s, ok := src.(interface{ WritesTo() string }); ok && s.WritesTo() != "" {
			servers[s.WritesTo()] = true
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.servers = servers
}

// Changes reports whether a dataset writes to a server.
func (w *Written) Changes(server string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.servers[server]
}
