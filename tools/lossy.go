package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// Losses says what decoding a JSON text would drop without a word, or "": all but the last of
// members with the same name (RFC 8259, 4: the names should be unique), and what is no Unicode
// text, for which encoding/json takes U+FFFD. Of a text that is not JSON it may say anything.
func Losses(text []byte) string {
	if !utf8.Valid(text) {
		return "is not UTF-8"
	}
	var open []members // objects and lists around the position, the innermost last
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{':
			open = append(open, members{object: true, key: true})
		case '[':
			open = append(open, members{})
		case '}', ']', ':', ',':
			if len(open) == 0 {
				return "" // it is not JSON
			}
			in := &open[len(open)-1]
			switch text[i] {
			case ':':
				in.key = false
			case ',':
				in.key = in.object
			default:
				open = open[:len(open)-1]
			}
		case '"':
			end, half := stringEnd(text, i)
			if half != "" {
				return fmt.Sprintf("has half of a surrogate pair, %s, which is not a character", half)
			}
			if in := len(open) - 1; in >= 0 && open[in].key && !open[in].add(text[i:end]) {
				return fmt.Sprintf("has the name %s twice in one object", truncate.Runes(string(text[i:end]), maxClip))
			}
			i = end - 1
		}
	}
	return ""
}

// members are the names of an object so far, unquoted.
type members struct {
	object bool
	key    bool // a name follows
	few    []string
	many   map[string]bool // once few is full
}

// fewMembers is how many names are compared one by one.
const fewMembers = 16

// add adds a name, in quotes, and reports whether it is new.
func (m *members) add(quoted []byte) bool {
	name := string(bytes.Trim(quoted, `"`))
	if bytes.IndexByte(quoted, '\\') >= 0 {
		_ = json.Unmarshal(quoted, &name) // it is valid
	}
	if m.many == nil && len(m.few) == fewMembers {
		m.many = map[string]bool{}
		for _, n := range m.few {
			m.many[n] = true
		}
	}
	if m.many != nil {
		known := m.many[name]
		m.many[name] = true
		return !known
	}
	known := slices.Contains(m.few, name)
	m.few = append(m.few, name)
	return !known
}

// stringEnd returns the end of the JSON string that begins at start, and the first escaped half
// of a surrogate pair in it without the other half.
func stringEnd(text []byte, start int) (end int, half string) {
	for i := start + 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return i + 1, half
		case '\\':
			i++
			r, ok := escaped(text, i)
			if !ok {
				continue
			}
			i += 4
			if !utf16.IsSurrogate(r) {
				continue
			}
			if low, ok := escaped(text, i+2); ok && text[i+1] == '\\' && utf16.DecodeRune(r, low) != utf8.RuneError {
				i += 6
				continue
			}
			if half == "" {
				half = string(text[i-5 : i+1])
			}
		}
	}
	return len(text), half
}

// escaped returns the UTF-16 code unit of uXXXX at a position.
func escaped(text []byte, at int) (rune, bool) {
	if at+5 > len(text) || text[at] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[at+1:at+5]), 16, 16)
	return rune(n), err == nil
}
