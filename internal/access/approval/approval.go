// Package approval keeps the approvals of calls: what a caller wants to do, and what a
// person decided about it.
//
//	store, err := approval.Open(approval.Options{Dir: dir})
//	a, err := store.Ask(ctx, call, limits)                // pending, or what was decided
//	a, err = store.Decide(ctx, keys, a.ID, decision, who) // a person
//	used, err := store.Use(ctx, a.ID, who)                // once, before the call runs
//
// An approval is for one call: of one caller, of one tool with one checksum, with
// arguments whose canonical JSON is the same. It can be used once, until it expires.
package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/spicepod"
)

// Status is what has become of an approval.
type Status string

// The statuses. Of one that is denied, used or expired nothing follows.
const (
	Pending  Status = "pending"
	Approved Status = "approved" // and not used
	Denied   Status = "denied"
	Used     Status = "used"
	Expired  Status = "expired" // before it was decided or used
)

// Approval is a call that was asked for. The zero times are absent.
type Approval struct {
	ID        string          `json:"id"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments" type:"object" doc:"As the tool would get them: repaired, and with defaults."`
	Status    Status          `json:"status" enum:"pending,approved,denied,used,expired"`
	AskedBy   string          `json:"asked_by" doc:"The principal that made the call; without keys the user that it named, or empty."`
	ExpiresAt time.Time       `json:"expires_at" doc:"Until when it can be approved and used."`
	AskedAt   time.Time       `json:"asked_at"`
	Risk      spicepod.Risk   `json:"risk" enum:"read,write,destructive" doc:"Of the tool."`
	Checksum  string          `json:"checksum" doc:"Of the tool. The approval is for this version of it."`
	UserID    string          `json:"user_id,omitempty" doc:"For whom the call was made."`
	SpaceID   string          `json:"space_id,omitempty"`
	Agent     string          `json:"agent,omitempty" doc:"The agent of the runtime that made the call."`
	Model     string          `json:"model,omitempty" doc:"The model that made the call."`
	Plan      json.RawMessage `json:"plan,omitempty" type:"object" doc:"What the call would run, if the tool has a plan."`
	DecidedBy string          `json:"decided_by,omitempty" doc:"The approver; without keys the user that the request named, or empty."`
	DecidedAt *time.Time      `json:"decided_at,omitempty"`
	UsedAt    *time.Time      `json:"used_at,omitempty"`
	Note      string          `json:"note,omitempty" doc:"What the approver wrote."`
}

// Call is a call that needs approval.
type Call struct {
	Tool      string
	Checksum  string
	Risk      spicepod.Risk
	Arguments json.RawMessage // canonical JSON
	Caller    caller.Caller
	Plan      json.RawMessage // what the call would run, or nil
}

// key identifies equal calls of equal callers.
func (c *Call) key() string {
	h := sha256.New()
	for _, part := range []string{
		c.Caller.Principal, c.Caller.UserID, c.Caller.SpaceID, c.Tool, c.Checksum,
		string(c.Arguments),
	} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Limits bound what is kept.
type Limits struct {
	Expiry  time.Duration // of a new approval
	Open    int           // approvals that are pending, or approved and not used
	PerPeer int           // of these, asked for by one key or, without keys, one address
}

// LimitsOf returns the limits of a Spicepod. An expiry of 0 is the default.
func LimitsOf(t spicepod.RuntimeTools) Limits {
	if t.ApprovalExpiry <= 0 {
		t.ApprovalExpiry = spicepod.Defaults[spicepod.RuntimeTools]().ApprovalExpiry
	}
	return Limits{Expiry: t.ApprovalExpiry, Open: t.MaxApprovals, PerPeer: t.MaxApprovalsPerCaller}
}

// Decision is what a person decides.
type Decision struct {
	Decision Verdict `json:"decision" required:"true" enum:"approve,deny"`
	Note     string  `json:"note,omitempty" doc:"Why, for the caller and the record."`
}

// Verdict is a decision without its reason.
type Verdict string

// The verdicts.
const (
	Approve Verdict = "approve"
	Deny    Verdict = "deny"
)

// Keys says who may decide; [*auth.Keyring] does.
type Keys interface {
	Enabled() bool
	Approver(principal string) bool
}

// maySee reports whether a caller may see an approval: all of them an approver and, without
// keys, everyone; others those that they have asked for.
func maySee(keys Keys, who caller.Caller, e *entry) bool {
	return MayDecideSome(keys, who) ||
		e.Principal == who.Principal && e.UserID == who.UserID && e.SpaceID == who.SpaceID
}

// MayDecideSome reports whether the caller decides about calls at all: of others, with keys.
func MayDecideSome(keys Keys, who caller.Caller) bool {
	return !keys.Enabled() || keys.Approver(who.Principal)
}

// MayDecide returns why the caller may not decide about calls of the principal, or nil.
func MayDecide(keys Keys, who caller.Caller, principal string) error {
	switch {
	case !keys.Enabled():
		return nil
	case !keys.Approver(who.Principal):
		return &Error{
			Denied: true, Message: "the key is not that of an approver",
			Hint: "runtime.auth.approvers lists who decides",
		}
	case who.Principal == principal:
		return &Error{
			Denied: true, Message: "an approver cannot decide about calls of the same principal",
			Hint: "ask another approver",
		}
	}
	return nil
}

// Error is why an approval cannot be asked for, decided or found.
type Error struct {
	Denied, NotFound, Decided, Full, Large bool
	Message, Hint                          string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }
