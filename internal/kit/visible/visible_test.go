package visible

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestEscape(t *testing.T) {
	for text, want := range map[string]string{
		"plain, é, 👩‍🚀":  "plain, é, 👩‍🚀",
		"a\nb\tc\r":      `a\nb\tc\r`,
		"\x1b]0;x\x07":   `\u001b]0;x\u0007`,
		"\u009b2J":       `\u009b2J`,
		"a\u202eb\u200b": `a\u202eb\u200b`,
		"\U000e0041":     `\udb40\udc41`,
	} {
		if got := Escape(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// FuzzEscapeJSON: the escaped JSON has the same value, and nothing hidden.
func FuzzEscapeJSON(f *testing.F) {
	f.Add("pay \u202e3137 \U000e0041\u009b\x1b")
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "\ufffd")
		raw, err := json.MarshalIndent(map[string]string{text: text}, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		escaped := EscapeJSON(string(raw))
		var got map[string]string
		if err := json.Unmarshal([]byte(escaped), &got); err != nil || len(got) != 1 || got[text] != text {
			t.Errorf("%q: got %q, %v", raw, got, err)
		}
		if strings.IndexFunc(strings.NewReplacer("\n", "", "\t", "").Replace(escaped), Hidden) >= 0 {
			t.Errorf("hidden characters in %q", escaped)
		}
	})
}
