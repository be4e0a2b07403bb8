// Package caller owns the identity of whoever makes a request. SQL, tools and
// protocols take it from the context.
//
//	ctx = caller.With(ctx, caller.Caller{UserID: "ann", Protocol: caller.HTTP})
//	who := caller.From(ctx)
//	results := store.List(who.Owner())
package caller

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Caller is who makes a request and on whose behalf. Every field may be empty.
type Caller struct {
	UserID    string `json:"user_id,omitempty"`
	SpaceID   string `json:"space_id,omitempty"` // "": across spaces
	RequestID string `json:"request_id,omitempty"`
	SessionID string `json:"session_id,omitempty"`
	Agent     string `json:"agent,omitempty"` // the agent that calls, if any
	Model     string `json:"model,omitempty"` // the model that calls, if any
	// Acting is who makes the request inside the runtime, which alone sets it: unlike Agent
	// and Model, no client can name it.
	Acting Acting `json:"-"`
	// Principal is the name of the key's holder; "" without keys.
	Principal string `json:"-"`
	Address   string `json:"-"` // see [Address]; "" where it is not known
	Weight    int    `json:"-"` // of its share; 0: 1
	Write     bool   `json:"-"` // may change data
	// Delegate: it may name any user and space, as everyone without keys may.
	Delegate bool     `json:"-"`
	Protocol Protocol `json:"-"`
	Trace    Trace    `json:"-"`
	Hops     int      `json:"-"` // runtimes that the call has passed before this one
}

// Acting is an agent and a model that the runtime runs; "": none.
type Acting struct{ Agent, Model string }

// Owner identifies whose statements, results and requests the caller's are.
func (c Caller) Owner() string { return c.Principal + "\x00" + c.UserID + "\x00" + c.SpaceID }

// Share identifies with whom the caller shares the slots of the runtime: callers
// with one key or, without keys, of one address.
func (c Caller) Share() string { return cmp.Or(c.Principal, c.Address) }

// Address returns the network address in a client's address and port, for
// [Caller.Address]. For IPv6 it is that of the network, which one client owns.
func Address(remote string) string {
	addrPort, err := netip.ParseAddrPort(remote)
	if err != nil {
		return remote
	}
	addr := addrPort.Addr().Unmap().WithZone("")
	if addr.Is6() {
		network, _ := addr.Prefix(64) // at most 128: it cannot fail
		return network.String()
	}
	return addr.String()
}

// Protocol is how a call arrived.
type Protocol string

// The protocols.
const (
	HTTP Protocol = "http"
	SQL  Protocol = "sql"
	Chat Protocol = "chat"
	MCP  Protocol = "mcp"
	CLI  Protocol = "cli"
	// Preselect is of the searches by which the runtime selects tools for a model's chat.
	Preselect Protocol = "preselect"
)

// Trace is the position of a call in the caller's flow. It is returned with the
// result.
type Trace struct {
	FlowID string `json:"flow_id,omitempty"`
	StepID string `json:"step_id,omitempty"`
}

type contextKey struct{}

// With returns a context that carries the caller.
func With(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, contextKey{}, c)
}

// From returns the caller that the context carries, or the zero Caller.
func From(ctx context.Context) Caller {
	c, _ := ctx.Value(contextKey{}).(Caller)
	return c
}

// MaxWord is the largest size in bytes of each text of a [Caller].
const MaxWord = 128

// CheckWord returns why a text cannot be part of a [Caller], or nil: these texts
// are written to logs and tables.
func CheckWord(word string) error {
	switch {
	case len(word) > MaxWord:
		return fmt.Errorf("has %d bytes; the limit is %d", len(word), MaxWord)
	case !utf8.ValidString(word) || strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("%q has characters that do not print; use letters, digits, spaces and signs", word)
	}
	return nil
}
