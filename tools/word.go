package tools

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxWord is how many bytes each word of a [Scope] has at most.
const MaxWord = 128

// CheckWord returns why a text cannot be a word of a [Scope]: words get into
// logs and tables.
func CheckWord(word string) error {
	switch {
	case len(word) > MaxWord:
		return fmt.Errorf("has %d bytes; the limit is %d", len(word), MaxWord)
	case !utf8.ValidString(word) || strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("%q has characters that do not print; use letters, digits, spaces and signs", word)
	}
	return nil
}
