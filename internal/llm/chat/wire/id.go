package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"unicode/utf8"
)

// maxID is how many characters OpenAI's APIs take of the id of a call, and of a user.
const maxID = 64

// ID returns an id as OpenAI's APIs take it: the SHA-256 of a longer one. Other providers'
// ids of calls, and Claude Code's of users, have more characters.
func ID(id string) string {
	if utf8.RuneCountInString(id) <= maxID {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}
