package wire

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strings"
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

// Name returns the name of a call as APIs take it: letters, digits, _ and -, at most a number of
// characters. Models invent names, such as functions.add, and an API refuses a chat that has one.
func Name(name string, most int) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	return cmp.Or(name[:min(len(name), most)], "_")
}
