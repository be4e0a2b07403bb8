package spicepod

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
)

// Text is a string that may contain secret references such as ${env:KEY}. Printing it in any
// way prints Raw, the text as written; only Reveal returns the value.
type Text struct {
	// Raw is the text as written in the file.
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

// String returns Raw.
func (t Text) String() string { return t.Raw }

// GoString returns Raw quoted.
func (t Text) GoString() string { return fmt.Sprintf("spicepod.Text{%q}", t.Raw) }

// Format prints Raw whatever the verb.
func (t Text) Format(state fmt.State, verb rune) {
	switch {
	case verb == 'q':
		fmt.Fprintf(state, "%q", t.Raw)
	case verb == 'v' && state.Flag('#'):
		io.WriteString(state, t.GoString())
	default:
		io.WriteString(state, t.Raw)
	}
}

// MarshalJSON writes Raw.
func (t Text) MarshalJSON() ([]byte, error) { return json.Marshal(t.Raw) }

// MarshalText writes Raw.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.Raw), nil }

// LogValue logs Raw.
func (t Text) LogValue() slog.Value { return slog.StringValue(t.Raw) }
