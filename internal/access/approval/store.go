package approval

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/access/audit"
	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// Options configures [Open].
type Options struct {
	Dir   string           // "": in memory only
	Log   *slog.Logger     // nil: discarded
	Audit *audit.Log       // nil: nothing is audited
	Now   func() time.Time // nil: time.Now
	// Counted is called for each event: asked, approved, denied, used. Nil: none.
	Counted func(event string)
	// Changed gets each approval that was asked for, decided or used. It must return at once, and
	// may not call the store. Nil: no one gets them.
	Changed func(Change)
}

// Store has the approvals. It is safe for concurrent use.
type Store struct {
	opts Options

	mu      sync.Mutex
	byID    map[string]*entry
	byCall  map[string]*entry // the last one of each call
	order   []*entry          // as they were asked for
	bytes   int
	journal *journal // nil: in memory only
	fault   error    // why the last change was not stored
}

// entry is an approval with what clients do not see. Its Status is never [Expired]: that is
// a matter of time.
type entry struct {
	Approval
	Principal string `json:"principal,omitempty"`
	Peer      string `json:"peer,omitempty"` // see [Limits.PerPeer]
	Call      string `json:"call"`           // see [Call.key]

	decided chan struct{} // closed when it is not pending any more
}

func (e *entry) size() int { return len(e.Arguments) + len(e.Plan) + len(e.Note) }

func (e *entry) at(now time.Time) Status {
	if (e.Status == Pending || e.Status == Approved) && !now.Before(e.ExpiresAt) {
		return Expired
	}
	return e.Status
}

// open reports whether something may follow.
func (e *entry) open(now time.Time) bool {
	status := e.at(now)
	return status == Pending || status == Approved
}

func (e *entry) shown(now time.Time) Approval {
	a := e.Approval
	a.Status = e.at(now)
	return a
}

// Open opens the store with what an earlier run has left in the folder. Approvals that a
// key without a name has asked for are left out: its number may be another key's now. If a
// file is damaged, it is set aside with a warning, and no approval of it counts. If the folder
// cannot be written, changes fail until it can.
func Open(o Options) (*Store, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Counted == nil {
		o.Counted = func(string) {}
	}
	if o.Changed == nil {
		o.Changed = func(Change) {}
	}
	s := &Store{opts: o, byID: map[string]*entry{}, byCall: map[string]*entry{}}
	if o.Dir == "" {
		return s, nil
	}
	j, list, err := openJournal(o.Dir, o.Log)
	if err != nil {
		return nil, err
	}
	now := o.Now()
	for _, e := range list {
		if !unnamed.MatchString(e.Principal) || !e.open(now) {
			s.add(e)
		}
	}
	s.prune(now)
	s.journal = j
	if err := s.rewrite(); err != nil {
		o.Log.Warn("the approvals cannot be written; calls that need approval fail until they can", "error", err)
		j.broken = err
	}
	return s, nil
}

// unnamed matches the names that keys without a name get in a run.
var unnamed = regexp.MustCompile(`^key-[0-9]+$`)

// add adds an entry. The caller holds s.mu.
func (s *Store) add(e *entry) {
	e.decided = make(chan struct{})
	if e.Status != Pending {
		close(e.decided)
	}
	s.byID[e.ID], s.byCall[e.Call] = e, e
	s.order = append(s.order, e)
	s.bytes += e.size()
}

// prune drops entries that ended long ago, and the oldest ones beyond the limits. The
// caller holds s.mu.
func (s *Store) prune(now time.Time) {
	ended := 0
	for _, e := range s.order {
		if !e.open(now) {
			ended++
		}
	}
	s.order = slices.DeleteFunc(s.order, func(e *entry) bool {
		if e.open(now) || now.Sub(e.ExpiresAt) <= retainEnded && ended <= maxEnded && s.bytes <= maxBytes {
			return false
		}
		ended--
		s.bytes -= e.size()
		delete(s.byID, e.ID)
		if s.byCall[e.Call] == e {
			delete(s.byCall, e.Call)
		}
		return true
	})
}

// Ask returns the approval of a call: the one that there is, if it has not expired and was
// not used, or else a new one.
func (s *Store) Ask(ctx context.Context, c Call, l Limits) (Approval, error) {
	key := c.key()
	if a, ok := s.asked(key); ok {
		return a, nil
	}
	if len(c.Arguments) > MaxArguments {
		return Approval{}, &Error{
			Large: true,
			Message: fmt.Sprintf("the arguments have %d bytes; a call that needs approval may have %d", len(c.Arguments),
				MaxArguments), Hint: "ask for less",
		}
	}
	e := newEntry(c, key)
	if len(c.Plan) <= MaxPlan {
		e.Plan = c.Plan
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.opts.Now()
	if a, ok := s.of(key, now); ok { // another call has asked meanwhile
		return a, nil
	}
	s.prune(now)
	if err := s.room(e, l, now); err != nil {
		return Approval{}, err
	}
	e.AskedAt, e.ExpiresAt = now.UTC().Round(0), now.Add(l.Expiry).UTC().Round(0)
	if err := s.store(e); err != nil {
		return Approval{}, err
	}
	s.add(e)
	s.happened(ctx, e, "asked", c.Caller)
	return e.shown(now), nil
}

func newEntry(c Call, key string) *entry {
	who := c.Caller
	return &entry{
		Approval: Approval{
			ID: "apr_" + strings.ToLower(rand.Text()), Tool: c.Tool, Arguments: c.Arguments, Status: Pending,
			AskedBy: nameOf(who), Risk: c.Risk, Checksum: c.Checksum, UserID: who.UserID, SpaceID: who.SpaceID,
			Agent: who.Acting.Agent, Model: who.Acting.Model,
		},
		Principal: who.Principal, Peer: who.Share(), Call: key,
	}
}

// nameOf is what a caller is called in a record.
func nameOf(who caller.Caller) string { return cmp.Or(who.Principal, who.UserID) }

func (s *Store) asked(key string) (Approval, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of(key, s.opts.Now())
}

// of returns the approval of a call that counts. The caller holds s.mu.
func (s *Store) of(key string, now time.Time) (Approval, bool) {
	e := s.byCall[key]
	if e == nil || e.Status == Used || !now.Before(e.ExpiresAt) {
		return Approval{}, false
	}
	return e.shown(now), true
}

// room returns why there is no room for one more. The caller holds s.mu.
func (s *Store) room(e *entry, l Limits, now time.Time) error {
	all, own := 0, 0
	for _, other := range s.order {
		if other.open(now) {
			all++
			if other.Peer == e.Peer {
				own++
			}
		}
	}
	switch {
	case own >= l.PerPeer:
		return &Error{Full: true, Message: fmt.Sprintf("%d calls of this caller wait for approval; the limit is %d", own,
			l.PerPeer), Hint: "have some of them decided first; runtime.tools.max_approvals_per_caller is the limit"}
	case all >= l.Open:
		return &Error{
			Full: true, Message: fmt.Sprintf("%d calls wait for approval; the limit is %d", all, l.Open),
			Hint: "have some of them decided first; runtime.tools.max_approvals is the limit",
		}
	case s.bytes+e.size() > maxBytes:
		return &Error{
			Full: true, Message: "the calls that wait for approval have too many arguments",
			Hint: "have some of them decided first",
		}
	}
	return nil
}

// Use uses an approval, and reports whether it was approved and not used. When it returns
// true, that is stored.
func (s *Store) Use(ctx context.Context, id string, who caller.Caller) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, now := s.byID[id], s.opts.Now()
	if e == nil || e.at(now) != Approved {
		return false, nil
	}
	next := *e
	at := now.UTC().Round(0)
	next.Status, next.UsedAt = Used, &at
	if err := s.store(&next); err != nil {
		return false, err
	}
	*e = next
	s.happened(ctx, e, "used", who)
	return true, nil
}

// Decide decides about a pending approval, or denies an approved one that was not used. The
// same decision again changes nothing.
func (s *Store) Decide(ctx context.Context, keys Keys, id string, d Decision, who caller.Caller) (Approval, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, now := s.byID[id], s.opts.Now()
	if e == nil || !maySee(keys, who, e) {
		return Approval{}, unknown(id)
	}
	if err := MayDecide(keys, who, e.Principal); err != nil {
		return Approval{}, err
	}
	status := map[Verdict]Status{Approve: Approved, Deny: Denied}[d.Decision]
	is := e.at(now)
	switch {
	case is == status:
		return e.shown(now), nil
	case is != Pending && (is != Approved || status != Denied):
		return Approval{}, &Error{
			Decided: true, Message: fmt.Sprintf("the approval is %s", is),
			Hint: "the caller can repeat the call, which asks again",
		}
	}
	next := *e
	at := now.UTC().Round(0)
	next.Status, next.DecidedBy, next.DecidedAt, next.Note = status, nameOf(who), &at, d.Note
	if err := s.store(&next); err != nil {
		return Approval{}, err
	}
	s.bytes += len(next.Note) - len(e.Note)
	*e = next
	if is == Pending {
		close(e.decided)
	}
	s.happened(ctx, e, string(status), who)
	return e.shown(now), nil
}

func unknown(id string) error {
	return &Error{
		NotFound: true, Message: fmt.Sprintf("there is no approval %q", truncate.Ellipsis(id, 100)),
		Hint: "GET /v1/approvals lists those that you may see",
	}
}

// Get returns an approval that the caller may see.
func (s *Store) Get(keys Keys, id string, who caller.Caller) (Approval, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.byID[id]
	if e == nil || !maySee(keys, who, e) {
		return Approval{}, unknown(id)
	}
	return e.shown(s.opts.Now()), nil
}

// List returns the approvals that the caller may see, newest first.
func (s *Store) List(keys Keys, who caller.Caller) []Approval {
	s.mu.Lock()
	defer s.mu.Unlock()
	list, now := []Approval{}, s.opts.Now()
	for _, e := range slices.Backward(s.order) {
		if maySee(keys, who, e) {
			list = append(list, e.shown(now))
		}
	}
	return list
}

// Change is an approval as it was at one moment, for callers who may see it.
type Change struct {
	entry entry
	is    Approval
}

// For returns the approval, if the caller may see it.
func (c Change) For(keys Keys, who caller.Caller) (Approval, bool) {
	return c.is, maySee(keys, who, &c.entry)
}

// Size is about how many bytes the approval has.
func (c Change) Size() int { return 512 + c.entry.size() }

// Expired returns the approvals that have expired after a moment and until now, before they were decided or
// used. Expiry is a matter of time: no event tells it.
func (s *Store) Expired(after time.Time) (list []Change, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.opts.Now()
	for _, e := range s.order {
		if e.at(now) == Expired && e.at(after) != Expired {
			list = append(list, Change{*e, e.shown(now)})
		}
	}
	return list, now
}

// Await waits until an approval is decided or expires, at most for a time, and returns the
// approval. It ends at once with ctx.
func (s *Store) Await(ctx context.Context, id string, wait time.Duration) (Approval, error) {
	s.mu.Lock()
	e := s.byID[id]
	if e == nil {
		s.mu.Unlock()
		return Approval{}, unknown(id)
	}
	decided := e.decided
	wait = min(wait, e.ExpiresAt.Sub(s.opts.Now()))
	s.mu.Unlock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return Approval{}, ctx.Err()
	case <-timer.C:
	case <-decided:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return e.shown(s.opts.Now()), nil
}

// Pending returns how many approvals wait for a decision.
func (s *Store) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, now := 0, s.opts.Now()
	for _, e := range s.order {
		if e.at(now) == Pending {
			n++
		}
	}
	return n
}

// Fault returns why the last change could not be stored, or nil.
func (s *Store) Fault() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault
}

// Close closes the files. Later changes fail.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.journal == nil {
		return nil
	}
	return s.journal.close()
}

// store stores an entry as it will be. The caller holds s.mu.
func (s *Store) store(e *entry) error {
	if s.journal == nil {
		return nil
	}
	s.fault = nil
	if s.journal.broken != nil || s.journal.size > maxJournal {
		s.fault = s.rewrite()
	}
	if s.fault == nil {
		s.fault = s.journal.append(e)
	}
	if s.fault != nil {
		return fmt.Errorf("store the approval: %w", s.fault)
	}
	return nil
}

// rewrite writes the journal with the present entries alone. The caller holds s.mu.
func (s *Store) rewrite() error { return s.journal.rewrite(s.order) }

// happened counts and audits what happened. The caller holds s.mu.
func (s *Store) happened(ctx context.Context, e *entry, event string, who caller.Caller) {
	s.opts.Counted(event)
	s.opts.Changed(Change{*e, e.shown(s.opts.Now())})
	s.opts.Audit.Record(ctx, audit.Entry{
		Kind: audit.Approval, Protocol: string(who.Protocol), Principal: who.Principal, User: who.UserID,
		RequestID: who.RequestID,
		Tool:      e.Tool, Approval: e.ID, Outcome: event,
	})
}
