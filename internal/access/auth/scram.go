package auth

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"slices"
)

// Mechanisms of SASL (RFC 7677; the name of the second is RFC 5802's for
// channel binding).
const (
	mechanism     = "SCRAM-SHA-256"
	mechanismPlus = "SCRAM-SHA-256-PLUS"
)

// SCRAM is the server side of one SCRAM-SHA-256 exchange (RFC 5802, RFC 7677)
// in the PostgreSQL protocol: two messages of the client, each with a response.
// Every failure is [ErrDenied] and ends the exchange.
//
// All keys share one salt, so that the proof of a client that names no
// principal can be checked against each key.
type SCRAM struct {
	keys    *Keyring
	user    string
	channel []byte
	nonce   string // the server's part
	step    step

	// From the first messages, for the last one.
	first  clientFirst
	answer string
}

type step int

const (
	stepFirst step = iota
	stepFinal
	stepOver
)

// SCRAM begins an exchange for the user name of the startup message; as in
// PostgreSQL, the name in the client's first message is ignored. channel is the
// data of tls-server-end-point (RFC 5929), nil without TLS.
func (k *Keyring) SCRAM(user string, channel []byte) *SCRAM {
	nonce := make([]byte, nonceBytes)
	rand.Read(nonce) // never fails
	return &SCRAM{keys: k, user: user, channel: slices.Clone(channel), nonce: base64.StdEncoding.EncodeToString(nonce)}
}

// Mechanisms are the offered SASL mechanisms, best first.
func (s *SCRAM) Mechanisms() []string {
	if len(s.channel) == 0 {
		return []string{mechanism}
	}
	return []string{mechanismPlus, mechanism}
}

// First answers the client's first message with the nonce, the salt and the
// iteration count. mechanism is the client's choice.
func (s *SCRAM) First(mechanism string, message []byte) (answer []byte, err error) {
	first, ok := parseFirst(message)
	if s.step != stepFirst || !ok || !s.admits(mechanism, first.binding) {
		s.step = stepOver
		return nil, ErrDenied
	}
	s.step, s.first = stepFinal, first
	s.answer = fmt.Sprintf("r=%s%s,s=%s,i=%d", first.nonce, s.nonce, base64.StdEncoding.EncodeToString(s.keys.salt),
		iterations)
	return []byte(s.answer), nil
}

// admits reports whether the client's channel binding flag matches the
// mechanism (RFC 5802, 6). "y" means that the client saw no offer of channel
// binding; if there was one, an attacker removed it.
func (s *SCRAM) admits(chosen, binding string) bool {
	offered := len(s.channel) > 0
	switch binding {
	case "p=tls-server-end-point":
		return chosen == mechanismPlus && offered
	case "y":
		return chosen == mechanism && !offered
	case "n":
		return chosen == mechanism
	}
	return false
}

// Final answers the client's last message and returns the principal.
func (s *SCRAM) Final(message []byte) (answer []byte, p *Principal, err error) {
	final, ok := parseFinal(message)
	ok = ok && s.step == stepFinal && final.binding == s.boundTo() && final.nonce == s.first.nonce+s.nonce
	s.step = stepOver
	if !ok {
		return nil, nil, ErrDenied
	}
	conversation := s.first.bare + "," + s.answer + "," + final.withoutProof
	c := s.keys.find(s.user, func(c *credential) int { return c.verifier.proves(conversation, final.proof) })
	if c == nil {
		return nil, nil, ErrDenied
	}
	signature := sum(c.verifier.serverKey[:], conversation)
	return []byte("v=" + base64.StdEncoding.EncodeToString(signature[:])), c.principal, nil
}

// boundTo is the channel data that the client must have signed: its header,
// which proves that it is unmodified, and with binding the server's
// certificate.
func (s *SCRAM) boundTo() string {
	bound := []byte(s.first.header)
	if s.first.binding[0] == 'p' {
		bound = append(bound, s.channel...)
	}
	return base64.StdEncoding.EncodeToString(bound)
}
