// Package auth knows who calls: it holds the keys of a Spicepod, hashed, and
// the limits of those who hold them.
//
//	keys, problems := auth.NewKeyring(pod)
//	p, ok := keys.Lookup(key)             // constant time in the key
//	who, err := p.Caller(asked)           // on whose behalf p may act
//	end, err := p.Begin()                 // within its rate and concurrency
//	defer end()
//	leave, err := p.Enter()               // within its concurrency alone
//
// A door that speaks SASL lets a client prove that it has a key without sending
// it:
//
//	exchange := keys.SCRAM(user, certificateHash)
//	answer, err := exchange.First(mechanism, message)
//	answer, p, err := exchange.Final(message)
//
// Without runtime.auth there is one principal, [Keyring.Anonymous], who may
// name anybody: the doors listen on loopback then, and the machine's owner is
// trusted.
package auth

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// Principal is who holds a key.
type Principal struct {
	Name       string // "" is the anonymous one
	Write      bool
	UserID     string // for whom it acts; "": for itself, under its name
	SpaceID    string
	OnBehalfOf bool // it may name another user and space

	digest  digest   // of its key
	limiter *limiter // nil: no limits
}

// Caller returns the caller that a request of the principal has: what it asked
// for as far as the principal may name it, and the principal's own user and space
// otherwise. Principal and Write are always the principal's own. The error is a
// [*DeniedError].
func (p *Principal) Caller(asked caller.Caller) (caller.Caller, error) {
	who, user := asked, cmp.Or(p.UserID, p.Name)
	who.Principal, who.Write = p.Name, p.Write
	if p.OnBehalfOf {
		who.UserID = cmp.Or(asked.UserID, user)
		who.SpaceID = cmp.Or(asked.SpaceID, p.SpaceID)
		return who, nil
	}
	if asked.UserID != "" && asked.UserID != user {
		return caller.Caller{}, &DeniedError{fmt.Sprintf(
			"principal %q acts for user %q and may not name user %q; leave user_id out, or set on_behalf_of: true on the principal",
			p.Name, user, truncate.Ellipsis(asked.UserID, maxShown))}
	}
	if asked.SpaceID != "" && asked.SpaceID != p.SpaceID {
		return caller.Caller{}, &DeniedError{fmt.Sprintf(
			"principal %q may not name space %q; leave space_id out, or set space_id or on_behalf_of: true on the principal",
			p.Name, truncate.Ellipsis(asked.SpaceID, maxShown))}
	}
	who.UserID, who.SpaceID = user, p.SpaceID
	return who, nil
}

// DeniedError is a refusal of what a principal may not do.
type DeniedError struct{ Message string }

// Error is the message.
func (e *DeniedError) Error() string { return e.Message }

// ErrDenied is the one error of a wrong key: it tells nothing else.
var ErrDenied = errors.New("the key is not known")
