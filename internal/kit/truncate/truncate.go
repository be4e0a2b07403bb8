// Package truncate shortens text from users, providers and servers for
// messages, logs, prompts and indexes. No function splits a character.
//
//	truncate.Bytes("résumé", 2)         // "r"
//	truncate.Fit("abcdef", 5)           // "ab…", 5 bytes
//	truncate.Ellipsis("abcdef", 5)      // "abcde…"
//	truncate.Runes("résumé", 2)         // "ré…"
//	truncate.Line("two\n lines\x1b", 9) // "two lines"
package truncate

import (
	"strings"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/kit/visible"
)

const ellipsis = "…"

// Bytes returns the longest prefix of s that has at most n bytes.
func Bytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n = max(n, 0)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Fit returns s, or a prefix and … that have at most n bytes together.
func Fit(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return Bytes(s, n-len(ellipsis)) + ellipsis
}

// Ellipsis returns s, or a prefix of at most n bytes followed by ….
func Ellipsis(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return Bytes(s, n) + ellipsis
}

// Runes returns s, or its first n characters followed by ….
func Runes(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i] + ellipsis
		}
	}
	return s
}

// Line returns s as valid UTF-8 on one line without control characters, in at
// most n bytes and an ellipsis, so that text from outside is safe to show.
func Line(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if visible.Hidden(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return Ellipsis(strings.Join(strings.Fields(s), " "), n)
}
