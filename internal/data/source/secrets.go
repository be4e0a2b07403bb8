package source

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/spicepod"
)

// Secrets are the values that must not be shown, longest first.
type Secrets []string

// Redact replaces every secret in a text.
func (s Secrets) Redact(text string) string {
	for _, secret := range s {
		text = strings.ReplaceAll(text, secret, "***")
	}
	return text
}

// SecretsIn lists the secret parts of every Text in v, longest first.
func SecretsIn(v any) Secrets {
	var parts []string
	switch v := v.(type) {
	case spicepod.Text:
		parts = secretParts(v)
	case spicepod.Params:
		return SecretsIn(map[string]any(v))
	case map[string]any:
		for _, e := range v {
			parts = append(parts, SecretsIn(e)...)
		}
	case []any:
		for _, e := range v {
			parts = append(parts, SecretsIn(e)...)
		}
	}
	slices.SortFunc(parts, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	return slices.Compact(parts)
}

// secretParts returns the values of the references in a text: the value
// without the text around them. When that text is ambiguous, the parts are
// the longest there can be.
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
