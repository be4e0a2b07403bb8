package query

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/sql/fingerprint"
)

// Active is a statement that runs.
type Active struct {
	ID        string
	Door      Door
	Principal string
	User      string
	RequestID string
	SQL       string // a fingerprint's text: without literals
	Began     time.Time
}

// active are the statements that run, by id. The zero value is ready to use.
// The engine's queue bounds their number.
type active struct {
	mu   sync.Mutex
	jobs map[string]*job
}

// job is a statement that runs.
type job struct {
	Active
	sql    string
	owner  string
	table  *active
	cancel context.CancelCauseFunc
}

func (a *active) begin(req Request, began time.Time, cancel context.CancelCauseFunc) *job {
	j := &job{
		Active: Active{
			ID: newID(), Door: req.Door, Principal: req.Caller.Principal, User: req.Caller.UserID,
			RequestID: req.Caller.RequestID, Began: began,
		},
		sql: req.SQL, owner: req.Caller.Owner(), table: a, cancel: cancel,
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.jobs == nil {
		a.jobs = map[string]*job{}
	}
	a.jobs[j.ID] = j
	return j
}

// newID is a UUID of version 4 (RFC 9562), which Spice's clients ask for.
func newID() string {
	var raw [16]byte
	rand.Read(raw[:]) //nolint:errcheck // never fails
	raw[6], raw[8] = raw[6]&0x0f|0x40, raw[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", raw[:4], raw[4:6], raw[6:8], raw[8:10], raw[10:])
}

func (j *job) end() {
	j.table.mu.Lock()
	defer j.table.mu.Unlock()
	delete(j.table.jobs, j.ID)
}

// Active returns the statements of an owner (see [caller.Caller.Owner]) that run,
// the oldest first.
func (s *Service) Active(owner string) []Active {
	s.active.mu.Lock()
	var jobs []*job
	for _, j := range s.active.jobs {
		if j.owner == owner {
			jobs = append(jobs, j)
		}
	}
	s.active.mu.Unlock()
	list := make([]Active, len(jobs))
	for i, j := range jobs {
		list[i] = j.Active
		list[i].SQL = fingerprint.Of(j.sql).Text
	}
	slices.SortFunc(list, func(a, b Active) int { return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.ID, b.ID)) })
	return list
}

// Cancel ends a statement of an owner and reports whether there was one of that
// id.
func (s *Service) Cancel(owner, id string) bool {
	s.active.mu.Lock()
	defer s.active.mu.Unlock()
	j := s.active.jobs[id]
	if j == nil || j.owner != owner {
		return false
	}
	j.cancel(ErrCancelled)
	return true
}
