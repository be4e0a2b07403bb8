package auth

import (
	"encoding/base64"
	"strings"
)

// clientFirst is the client's first message (RFC 5802, 7).
type clientFirst struct {
	header  string // gs2-header: "n,,", "y,," or "p=…,,"
	binding string // its first field
	bare    string // what follows the header
	nonce   string
}

// parseFirst parses a client-first-message. As in PostgreSQL, an authzid and
// mandatory extensions are refused, and other extensions are ignored.
func parseFirst(message []byte) (clientFirst, bool) {
	if len(message) > maxMessage {
		return clientFirst{}, false
	}
	binding, rest, _ := strings.Cut(string(message), ",")
	authzid, bare, _ := strings.Cut(rest, ",")
	user, rest, _ := strings.Cut(bare, ",")
	nonce, _, _ := strings.Cut(rest, ",")
	user, named := strings.CutPrefix(user, "n=")
	nonce, nonced := strings.CutPrefix(nonce, "r=")
	ok := authzid == "" && named && nonced && validName(user) && validNonce(nonce)
	return clientFirst{header: binding + ",,", binding: binding, bare: bare, nonce: nonce}, ok
}

// validName reports whether every "=" of a saslname begins "=2C" or "=3D"; a
// server must refuse others (RFC 5802, 5.1).
func validName(name string) bool {
	return !strings.Contains(strings.NewReplacer("=2C", "", "=3D", "").Replace(name), "=")
}

// validNonce reports whether a nonce has one or more printable ASCII
// characters, except space and comma.
func validNonce(nonce string) bool {
	return nonce != "" && !strings.ContainsFunc(nonce, func(c rune) bool { return c <= ' ' || c > '~' || c == ',' })
}

// clientFinal is the client's last message (RFC 5802, 7).
type clientFinal struct {
	binding      string // base64, as received
	nonce        string
	withoutProof string // the message up to the proof
	proof        digest
}

// parseFinal parses a client-final-message. The proof is the last attribute;
// extensions before it are ignored.
func parseFinal(message []byte) (clientFinal, bool) {
	text := string(message)
	at := strings.LastIndex(text, ",p=")
	if len(text) > maxMessage || at < 0 {
		return clientFinal{}, false
	}
	final := clientFinal{withoutProof: text[:at]}
	proof, err := base64.StdEncoding.DecodeString(text[at+len(",p="):])
	if err != nil || copy(final.proof[:], proof) != len(final.proof) || len(proof) != len(final.proof) {
		return clientFinal{}, false
	}
	binding, rest, _ := strings.Cut(final.withoutProof, ",")
	nonce, _, _ := strings.Cut(rest, ",")
	var bound, nonced bool
	final.binding, bound = strings.CutPrefix(binding, "c=")
	final.nonce, nonced = strings.CutPrefix(nonce, "r=")
	return final, bound && nonced
}
