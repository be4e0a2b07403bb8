package source

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/httpx"
	"github.com/spiced-sql/spiced/spicepod"
)

// secretsOf returns the values of the references to secrets in v, at any depth.
func secretsOf(v any) (parts []string) {
	switch v := v.(type) {
	case spicepod.Text:
		parts = secretParts(v)
	case spicepod.Params:
		return secretsOf(map[string]any(v))
	case map[string]any:
		for _, e := range v {
			parts = append(parts, secretsOf(e)...)
		}
	case []any:
		for _, e := range v {
			parts = append(parts, secretsOf(e)...)
		}
	}
	return parts
}

// Redaction returns a function that replaces the values of references in `from` and params,
// also in quotes.
func Redaction(from spicepod.Text, params spicepod.Params) func(string) string {
	secrets := append(secretsOf(from), secretsOf(params)...)
	for _, s := range secrets[:len(secrets):len(secrets)] {
		if quoted := strconv.Quote(s); quoted != `"`+s+`"` {
			secrets = append(secrets, quoted[1:len(quoted)-1])
		}
	}
	return httpx.Redaction(secrets)
}

// secretParts returns the values of the references in a text, without the text
// around them. If that is ambiguous, the parts are the longest possible.
func secretParts(t spicepod.Text) []string {
	if !t.Secret() {
		return nil
	}
	value := t.Reveal()
	before, rest, _ := strings.Cut(t.Raw, "${")
	last := strings.LastIndexByte(rest, '}')
	if last < 0 {
		return []string{value}
	}
	middle := strings.TrimSuffix(strings.TrimPrefix(value, before), rest[last+1:])
	inner := rest[:last]
	parts := []string{middle}
	for { // text between two references
		_, after, ok := strings.Cut(inner, "}")
		if !ok {
			break
		}
		literal, next, ok := strings.Cut(after, "${")
		if !ok {
			break
		}
		if head, tail, found := strings.Cut(parts[len(parts)-1], literal); found && literal != "" {
			parts = append(parts[:len(parts)-1], head, tail)
		}
		inner = next
	}
	return slices.DeleteFunc(parts, func(p string) bool { return p == "" })
}
