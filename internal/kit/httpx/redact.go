package httpx

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// longSecret is the length, in bytes, from which a secret is replaced inside of words, too.
const longSecret = 6

// Redaction returns a function that replaces secrets in a text of others, such as the error
// of a server, by ***, the longest first.
//
// Where a secret could be a word, as postgres is in postgres_scanner or prov in provider, it
// is replaced only where it is a whole word: *** inside of a longer word would reveal it. It
// could be one if it is shorter than six bytes, or has only lower case letters.
func Redaction(secrets []string) func(string) string {
	secrets = slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return strings.TrimSpace(s) == "" })
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return func(text string) string {
		for _, secret := range secrets {
			if len(secret) < longSecret || strings.Trim(secret, "abcdefghijklmnopqrstuvwxyz") == "" {
				text = replaceWord(text, secret)
			} else {
				text = strings.ReplaceAll(text, secret, redacted)
			}
		}
		return text
	}
}

const redacted = "***"

// replaceWord replaces a word where no letter, digit or underscore is next to it.
func replaceWord(text, word string) string {
	var b strings.Builder
	rest := text
	for {
		at := strings.Index(rest, word)
		if at < 0 {
			b.WriteString(rest)
			return b.String()
		}
		before, after := text[:len(text)-len(rest)+at], rest[at+len(word):]
		if endsInWord(before) && isWord(word[0]) || after != "" && isWord(after[0]) && isWord(word[len(word)-1]) {
			b.WriteString(rest[:at+1])
			rest = rest[at+1:]
			continue
		}
		b.WriteString(rest[:at] + redacted)
		rest = after
	}
}

// endsInWord reports whether a text ends in a character of a word. The n of \n in quoted
// text is not one.
func endsInWord(text string) bool {
	n := len(text)
	return n > 0 && isWord(text[n-1]) && (n == 1 || text[n-2] != '\\')
}

// isWord reports whether c is part of a word. So is a byte of a letter beyond ASCII.
func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// redactArgument applies redact to an argument of a format. Numbers and the like, which
// verbs such as %d need, stay what they are.
func redactArgument(redact func(string) string, arg any) any {
	switch arg := arg.(type) {
	case string:
		return redact(arg)
	case error:
		return redact(arg.Error())
	case fmt.Stringer:
		return redact(arg.String())
	}
	if k := reflect.ValueOf(arg).Kind(); k > reflect.Invalid && k <= reflect.Complex128 {
		return arg
	}
	return redact(fmt.Sprint(arg))
}

// Redactf formats a message and applies redact to its arguments. The format is not redacted.
func Redactf(redact func(string) string, format string, args ...any) string {
	shown := make([]any, len(args))
	for i, arg := range args {
		shown[i] = redactArgument(redact, arg)
	}
	return fmt.Sprintf(format, shown...)
}
