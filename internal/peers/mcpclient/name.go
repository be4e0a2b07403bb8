package mcpclient

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"github.com/spiced-sql/spiced/tools"
)

// separator separates the server and the tool in a name.
const separator = "__"

// hashDigits is the length of the hash at the end of some names.
const hashDigits = 8

// toolName is the catalog's name of a server's tool: server__tool as they are, if that is exact
// (see [exact]); else what is readable of both, cut to [tools.MaxName], and a hash.
//
// A caller may know a name for hours while the server adds, removes and renames tools, so a name
// must never come to mean another tool. That is why it depends on nothing but the two names,
// not on the other tools of the list or their order, and why no two tools share one: the first
// separator of an exact name is after the server, the rest is the tool; and no exact name looks
// as if it had a hash. Two names with hashes are equal by chance only (2^-32); such tools are
// left out, see [maker.known].
func toolName(server, tool string) string {
	if name := server + separator + tool; exact(server, tool) && tools.ValidName(name) && !hashed(name) {
		return name
	}
	const most = tools.MaxName - 1 - hashDigits
	head := strings.TrimRight(runs.ReplaceAllString(server, "_-_"), "_") + separator
	body := plain(tool)
	if room := max(most-len(head), 0); len(body) > room {
		body = strings.TrimRight(body[:room], "_")
	}
	name := head + body
	return name[:min(len(name), most)] + "_" + hashOf(server+"\x00"+tool)
}

// exact reports whether server__tool can be taken apart in one way only.
func exact(server, tool string) bool {
	return tool != "" && server != "" && !strings.Contains(server, separator) && !strings.HasSuffix(server, "_")
}

// runs match what would be a separator within the server's part.
var runs = regexp.MustCompile("__+")

// hashed reports whether a name ends as those with a hash: see [hashOf].
func hashed(name string) bool {
	at := len(name) - hashDigits
	return at > 0 && name[at-1] == '_' && strings.Trim(name[at:], "0123456789abcdef") == "" &&
		strings.ContainsAny(name[at:], "abcdef")
}

// hashOf is a hash with at least one letter, so that a name may end in a date.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	digits := hex.EncodeToString(sum[:])[:hashDigits]
	if strings.ContainsAny(digits, "abcdef") {
		return digits
	}
	return "a" + digits[1:]
}

// plain replaces the characters that model providers do not accept.
func plain(part string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, part)
}
