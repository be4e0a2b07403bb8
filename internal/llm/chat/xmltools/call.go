package xmltools

import (
	"crypto/rand"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// Unnamed is the name of a call for which the model gave no name. No such tool exists,
// so the model gets an error.
const Unnamed = "unnamed_tool_call"

// written is a call as models write it. Some write parameters for arguments.
type written struct {
	Name       string          `json:"name"`
	Arguments  json.RawMessage `json:"arguments"`
	Parameters json.RawMessage `json:"parameters"`
}

// readCall parses the text between the tags of a call; name is the one in the tag
// itself, if any. ok is false if the text is not a call.
func readCall(name, body string) (c chat.Call, ok bool) {
	c = chat.Call{ID: "call_" + rand.Text(), Name: name, Arguments: body}
	if name != "" {
		return c, true
	}
	var w written
	if json.Unmarshal([]byte(body), &w) != nil {
		return repaired(c)
	}
	if w.Arguments == nil {
		w.Arguments = w.Parameters
	}
	if w.Name == "" && w.Arguments == nil {
		return c, false
	}
	c.Name, c.Arguments = named(w.Name), arguments(w.Arguments)
	return c, true
}

func named(name string) string {
	if name == "" {
		return Unnamed
	}
	return name
}

// arguments returns the object as JSON; it may be written as a string.
func arguments(raw json.RawMessage) string {
	var text string
	switch {
	case raw == nil:
		return "{}"
	case json.Unmarshal(raw, &text) == nil && json.Valid([]byte(text)):
		return text
	}
	return string(raw)
}

// The beginnings of the two members of a call that is not valid JSON.
var (
	nameMember      = regexp.MustCompile(`^\{\s*"name"\s*:\s*"([^"\\]{1,64})"`)
	argumentsMember = regexp.MustCompile(`"(?:arguments|parameters)"\s*:\s*`)
)

// repaired extracts the name and the arguments, as written, of a call that is not valid
// JSON. They are never empty: empty arguments would be valid.
func repaired(c chat.Call) (chat.Call, bool) {
	body := c.Arguments
	name, member := nameMember.FindStringSubmatch(body), argumentsMember.FindStringIndex(body)
	if name == nil && member == nil {
		return c, false
	}
	c.Name = Unnamed
	if name != nil {
		c.Name = name[1]
	}
	if member != nil && member[1] < len(body) {
		c.Arguments = alone(body[member[1]:])
	}
	return c, true
}

// alone returns the object that text begins with if only closing braces follow it, else
// the text.
func alone(text string) string {
	var object chat.ObjectScanner
	if end := object.Write(text); end >= 0 && text[0] == '{' && strings.Trim(text[end:], "} \t\r\n") == "" {
		return text[:end]
	}
	return text
}

// jsonText scans JSON that arrives in pieces for the first < outside of a string. The
// zero value is ready to use.
type jsonText struct {
	inside, escaped bool
	found           bool
	at              int // with found
}

// bracket scans the next piece, which begins at from, and reports whether there is a <
// outside of a string.
func (t *jsonText) bracket(piece string, from int) bool {
	for i := 0; i < len(piece) && !t.found; i++ {
		switch b := piece[i]; {
		case t.escaped:
			t.escaped = false
		case t.inside:
			t.escaped, t.inside = b == '\\', b != '"'
		case b == '<':
			t.found, t.at = true, from+i
		default:
			t.inside = b == '"'
		}
	}
	return t.found
}
