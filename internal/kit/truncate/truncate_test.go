package truncate_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

func TestTruncate(t *testing.T) {
	for _, c := range []struct {
		text                        string
		size                        int
		bytes, fit, ellipsis, runes string
	}{
		{"", 0, "", "", "", ""},
		{"abc", 3, "abc", "abc", "abc", "abc"},
		{"abcdef", 5, "abcde", "ab…", "abcde…", "abcde…"},
		{"äöü", 3, "ä", "…", "ä…", "äöü"},
		{"äöü", 4, "äö", "…", "äö…", "äöü"},
		{"äöü", 6, "äöü", "äöü", "äöü", "äöü"},
		{"äöüß", 3, "ä", "…", "ä…", "äöü…"},
		{"😀x", 3, "", "…", "…", "😀x"},
		{"abc", 0, "", "…", "…", "…"},
		{"abc", -1, "", "…", "…", "…"},
		{"\x80\x80\x80\x80", 2, "", "…", "…", "\x80\x80…"},
	} {
		got := []string{truncate.Bytes(c.text, c.size), truncate.Fit(c.text, c.size), truncate.Ellipsis(c.text, c.size), truncate.Runes(c.text, c.size)}
		if got[0] != c.bytes || got[1] != c.fit || got[2] != c.ellipsis || got[3] != c.runes {
			t.Errorf("%q in %d: %q", c.text, c.size, got)
		}
	}
}

func TestLine(t *testing.T) {
	for _, c := range []struct {
		text string
		size int
		want string
	}{
		{"a\n b\x1b[31m", 100, "a b [31m"},
		{"äöü", 4, "äö…"},
		{"abcd", 4, "abcd"},
		{"abcde", 4, "abcd…"},
		{"\xff", 4, "\uFFFD"},
	} {
		if got := truncate.Line(c.text, c.size); got != c.want {
			t.Errorf("%q in %d: %q, want %q", c.text, c.size, got, c.want)
		}
	}
}

func FuzzTruncate(f *testing.F) {
	f.Add("a ä 😀", 4)
	f.Add("a\u2028é\x00", 2)
	f.Fuzz(func(t *testing.T, text string, size int) {
		to := truncate.Bytes(text, size)
		if !strings.HasPrefix(text, to) || len(to) > max(size, 0) || utf8.ValidString(text) && !utf8.ValidString(to) {
			t.Errorf("%q in %d: %q", text, size, to)
		}
		line := truncate.Line(text, size)
		if !utf8.ValidString(line) || len(line) > max(size, 0)+len("…") || strings.ContainsAny(line, "\n\r\x00\x1b") {
			t.Errorf("%q at %d gives %q", text, size, line)
		}
	})
}
