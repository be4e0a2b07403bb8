package spicepod

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"regexp"
)

// Text is a string that may contain secret references such as ${env:KEY}. Printing it in any
// way prints Raw, the text as written; only Reveal returns the value.
type Text struct {
	// Raw is the text as written in the file. Print String, which hides the password of a URL.
	Raw string
	// value is behind a pointer so that no printer reaches it by accident. It is nil if Raw
	// has no reference.
	value *string
}

var (
	_ fmt.Formatter  = Text{}
	_ slog.LogValuer = Text{}
	_ json.Marshaler = Text{}
)

// NewText returns a text that shows raw and has a value.
func NewText(raw, value string) Text { return Text{Raw: raw, value: &value} }

// Reveal returns the text with its references replaced by their values. Never print or log
// it.
func (t Text) Reveal() string {
	if t.value != nil {
		return *t.value
	}
	return t.Raw
}

// Secret reports whether the text contains a reference.
func (t Text) Secret() bool { return t.value != nil }

// Equal reports whether both the text and its value are the same.
func (t Text) Equal(other Text) bool {
	return t.Raw == other.Raw && t.Reveal() == other.Reveal()
}

// passwordOfURL matches the password of a URL that is no reference.
var passwordOfURL = regexp.MustCompile(`(://[^/\s:@]*:)[^/\s@$]+@`)

// HidePasswords replaces the passwords of URLs in a text, unless they are references.
func HidePasswords(text string) string {
	return passwordOfURL.ReplaceAllString(text, "${1}***@")
}

// String returns Raw without the password of a URL.
func (t Text) String() string { return HidePasswords(t.Raw) }

// GoString returns String quoted.
func (t Text) GoString() string { return fmt.Sprintf("spicepod.Text{%q}", t.String()) }

// Format prints String whatever the verb.
func (t Text) Format(state fmt.State, verb rune) {
	switch {
	case verb == 'q':
		fmt.Fprintf(state, "%q", t.String())
	case verb == 'v' && state.Flag('#'):
		io.WriteString(state, t.GoString())
	default:
		io.WriteString(state, t.String())
	}
}

// MarshalJSON writes String.
func (t Text) MarshalJSON() ([]byte, error) { return json.Marshal(t.String()) }

// MarshalText writes String.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// LogValue logs String.
func (t Text) LogValue() slog.Value { return slog.StringValue(t.String()) }
