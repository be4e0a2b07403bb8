// Package auth knows who calls: it holds the keys of a Spicepod, hashed, and
// the limits of those who hold them.
//
//	keys, problems := auth.NewKeyring(pod)
//	p, ok := keys.Lookup(key)             // constant time in the key
//	scope, err := p.Scope(asked)          // on whose behalf p may act
//	end, err := p.Begin()                 // within its rate and concurrency
//	defer end()
//
// Without runtime.auth there is one principal, [Anonymous], who may name
// anybody: the doors listen on loopback then, and the machine's owner is
// trusted.
package auth

import (
	"context"
	"errors"

	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// Principal is who holds a key.
type Principal struct {
	Name       string // "" is the anonymous one
	Write      bool
	UserID     string // for whom it acts
	SpaceID    string
	OnBehalfOf bool // it may name another user and space
}

// Keyring holds the keys. It is safe for concurrent use.
type Keyring struct{}

// NewKeyring reads runtime.auth.
func NewKeyring(pod *spicepod.Pod) (*Keyring, spicepod.Problems) { return &Keyring{}, nil }

// Enabled reports whether callers need a key.
func (k *Keyring) Enabled() bool { return false }

// Anonymous is the principal of callers when no keys are needed.
func (k *Keyring) Anonymous() *Principal { return &Principal{OnBehalfOf: true, Write: true} }

// Lookup returns who holds a key.
func (k *Keyring) Lookup(key string) (*Principal, bool) { return nil, false }

// LookupFor is Lookup for a user name that a client gives beside the key: one
// that is a principal's must be that of the key.
func (k *Keyring) LookupFor(user, key string) (*Principal, bool) { return nil, false }

// Scope is on whose behalf the principal acts: what asked says as far as it
// may say so, and its own user and space otherwise. The error is a
// [*DeniedError].
func (p *Principal) Scope(asked tools.Scope) (tools.Scope, error) { return asked, nil }

// DeniedError is a refusal of what a principal may not do.
type DeniedError struct{ Message string }

func (e *DeniedError) Error() string { return e.Message }

// Begin takes a place within the principal's rate and concurrency; end gives
// it back. The error is a [*LimitError].
func (p *Principal) Begin() (end func(), err error) { return func() {}, nil }

// LimitError is a refusal of one request too many.
type LimitError struct {
	Message    string
	RetryAfter float64 // seconds
}

func (e *LimitError) Error() string { return e.Message }

// SCRAM is one exchange of SCRAM-SHA-256 (RFC 5802, RFC 7677) on the server's
// side, as the PostgreSQL protocol has it: two messages of the client, each
// with its answer.
type SCRAM struct{}

// SCRAM begins an exchange for the user name of the startup message. channel
// is the data of tls-server-end-point (RFC 5929), nil without TLS.
func (k *Keyring) SCRAM(user string, channel []byte) *SCRAM { return &SCRAM{} }

// Mechanisms are the names of SASL that the server offers, best first.
func (s *SCRAM) Mechanisms() []string { return nil }

// First answers the client's first message.
func (s *SCRAM) First(mechanism string, message []byte) (answer []byte, err error) {
	return nil, ErrDenied
}

// Final answers the client's last message and returns who it is.
func (s *SCRAM) Final(message []byte) (answer []byte, p *Principal, err error) {
	return nil, nil, ErrDenied
}

// ErrDenied is the one error of a wrong key: it tells nothing else.
var ErrDenied = errors.New("the key is not known")

type principalKey struct{}

// With says who calls.
func With(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// Of is who calls, or nil.
func Of(ctx context.Context) *Principal {
	p, _ := ctx.Value(principalKey{}).(*Principal)
	return p
}
