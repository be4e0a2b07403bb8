package client

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// oneLine makes a foreign text safe to show: one line, no control characters,
// at most so many bytes.
func oneLine(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	return clip(strings.Join(strings.Fields(text), " "), most)
}

// clip cuts a text to so many bytes, between characters.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && text[most]&0xC0 == 0x80 {
		most--
	}
	return text[:most] + "…"
}

// redaction replaces secrets in a text, the longest first.
func redaction(secrets []string) func(string) string {
	secrets = slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return strings.TrimSpace(s) == "" })
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return func(text string) string {
		for _, secret := range secrets {
			text = strings.ReplaceAll(text, secret, "***")
		}
		return text
	}
}
