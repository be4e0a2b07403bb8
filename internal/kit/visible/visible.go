// Package visible shows text from others as it is: nothing in it moves the cursor, changes the
// direction of text, or is not seen.
package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Hidden reports whether a character is a control character, a mark of direction or one
// without width. The joiners of emoji and of scripts are not hidden.
func Hidden(c rune) bool {
	switch {
	case unicode.IsControl(c), c == '\u061c', c == '\u200b', c == '\u200e', c == '\u200f', c == '\ufeff':
		return true
	}
	return c >= '\u2028' && c <= '\u202e' || c >= '\u2060' && c <= '\u206f' || c >= 0xe0000 && c <= 0xe007f
}

// Escape writes hidden characters as JSON escapes them: \n, \u202e.
func Escape(text string) string { return escape(text, "") }

// EscapeJSON escapes hidden characters in JSON, which means the same afterwards. The white
// space between values stays.
func EscapeJSON(text string) string { return escape(text, "\n\r\t") }

func escape(text, except string) string {
	if strings.IndexFunc(text, Hidden) < 0 {
		return text
	}
	var b strings.Builder
	for _, c := range text {
		switch {
		case !Hidden(c) || strings.ContainsRune(except, c):
			b.WriteRune(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c > 0xffff:
			high, low := utf16.EncodeRune(c)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}
	return b.String()
}
