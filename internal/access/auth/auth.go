// Package auth authenticates callers: it holds the hashed keys of a Spicepod
// and the limits of their principals.
//
//	keys, problems := auth.NewKeyring(pod, nil)
//	p, ok := keys.Lookup(key)             // constant time in the key
//	who, err := p.Caller(asked)           // on whose behalf p may act
//	end, err := p.Begin()                 // within its rate and concurrency
//	defer end()
//	leave, err := p.Enter()               // within its concurrency alone
//	err = p.Spend()                       // within its rate alone
//
//	delay := keys.Failed(remoteAddress)   // before the answer to a wrong key
//
// With SASL, a client proves that it has a key without sending it:
//
//	exchange := keys.SCRAM(user, certificateHash)
//	answer, err := exchange.First(mechanism, message)
//	answer, p, err := exchange.Final(message)
//
// Without runtime.auth there is one principal, [Keyring.Anonymous], who may act
// for any user: the listeners are then on loopback, and local users are
// trusted.
package auth

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// Principal is the holder of a key.
type Principal struct {
	Name       string // "" is the anonymous principal
	Write      bool
	UserID     string // the user for whom it acts; "": itself, by name
	SpaceID    string
	OnBehalfOf bool // it may act for another user and space
	Weight     int  // of its share of the slots; 0: 1

	digest  digest   // digest of the key
	limiter *limiter // nil: no limits
}

// Caller returns the caller of a request: what the request asks for if the
// principal may act for others, else the principal's user and space. Principal,
// Write and Weight are always those of the principal. The error is a [*DeniedError].
func (p *Principal) Caller(asked caller.Caller) (caller.Caller, error) {
	who, user := asked, cmp.Or(p.UserID, p.Name)
	who.Principal, who.Write, who.Weight, who.Delegate = p.Name, p.Write, p.Weight, p.OnBehalfOf
	if p.OnBehalfOf {
		who.UserID = cmp.Or(asked.UserID, user)
		who.SpaceID = cmp.Or(asked.SpaceID, p.SpaceID)
		return who, nil
	}
	if asked.UserID != "" && asked.UserID != user {
		return caller.Caller{}, &DeniedError{fmt.Sprintf(
			"principal %q acts for user %q and may not name user %q; leave user_id out, or set on_behalf_of: true "+
				"on the principal",
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

// DeniedError means that a principal lacks a permission.
type DeniedError struct{ Message string }

// Error returns the message.
func (e *DeniedError) Error() string { return e.Message }

// ErrDenied is the only error for a wrong key: it contains no details.
var ErrDenied = errors.New("the key is not known")
