package clip_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/kit/clip"
)

func TestClip(t *testing.T) {
	for _, c := range []struct {
		text           string
		size           int
		to, shown, fit string
	}{
		{"", 0, "", "", ""},
		{"abc", 3, "abc", "abc", "abc"},
		{"abcdef", 5, "abcde", "abcde…", "ab…"},
		{"äöü", 3, "ä", "ä…", "…"},
		{"äöü", 4, "äö", "äö…", "…"},
		{"äöü", 6, "äöü", "äöü", "äöü"},
		{"😀x", 3, "", "…", "…"},
		{"abc", 0, "", "…", "…"},
		{"abc", -1, "", "…", "…"},
		{"\x80\x80\x80\x80", 2, "", "…", "…"},
	} {
		if to, shown, fit := clip.To(c.text, c.size), clip.Shown(c.text, c.size), clip.Fit(c.text, c.size); to != c.to || shown != c.shown || fit != c.fit {
			t.Errorf("%q in %d: %q %q %q", c.text, c.size, to, shown, fit)
		}
	}
}

func FuzzClip(f *testing.F) {
	f.Add("a ä 😀", 4)
	f.Fuzz(func(t *testing.T, text string, size int) {
		to := clip.To(text, size)
		if !strings.HasPrefix(text, to) || len(to) > max(size, 0) || utf8.ValidString(text) && !utf8.ValidString(to) {
			t.Errorf("%q in %d: %q", text, size, to)
		}
	})
}
