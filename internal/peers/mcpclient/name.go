package mcpclient

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/spiced-sql/spiced/tools"
)

// separator separates the server and the tool in a name.
const separator = "__"

// hashDigits is the length of the hash at the end of a shortened name.
const hashDigits = 8

// escape removes the separator from the parts of a name.
var escape = strings.NewReplacer("_-_", "_--_", separator, "_-_")

// toolName is the catalog's name of a server's tool: server__tool, each part
// with _-_ written as _--_ and __ as _-_. Characters that model providers do
// not accept become _. A name longer than [tools.MaxName] is cut and ends in a
// hash of both parts, so it is the same at every load.
func toolName(server, tool string) string {
	name := escape.Replace(plain(server)) + separator + escape.Replace(plain(tool))
	if len(name) <= tools.MaxName {
		return name
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	kept := strings.TrimRight(name[:tools.MaxName-1-hashDigits], "_")
	return kept + "_" + hex.EncodeToString(sum[:])[:hashDigits]
}

func plain(part string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, part)
}
