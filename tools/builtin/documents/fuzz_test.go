package documents_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/spiced-sql/spiced/tools/builtin/documents"
)

// FuzzGlob: every pattern becomes a regular expression, and one that is a name finds that name.
func FuzzGlob(f *testing.F) {
	for _, seed := range []string{
		"*.pdf", "report [2024].pdf", `**/\[baz\]/*`, "*.{java,ts}", "[", "[]]",
		"[!a-z]", "[z-a]", "{a,{b,c}}", "}{", `\`, "a\\", "é*", "[[:alpha:]]", "[a&&b]", "[^",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, glob string) {
		if !utf8.ValidString(glob) || len(glob) > 500 {
			t.Skip()
		}
		expression, err := regexp.Compile("^(?:" + documents.GlobExpression(glob) + ")$")
		if err != nil {
			t.Fatalf("%q becomes %q: %v", glob, documents.GlobExpression(glob), err)
		}
		name := norm.NFC.String(strings.ReplaceAll(glob, `\`, "/"))
		if !strings.ContainsAny(glob, `\`) && !strings.Contains(glob, "**/") && !expression.MatchString(name) {
			t.Errorf("%q does not find itself: %s", glob, expression)
		}
	})
}

// FuzzGrepOffsets compares the places of a text with those that a count of characters gives.
func FuzzGrepOffsets(f *testing.F) {
	for _, seed := range [][2]string{
		{"alpha beta\r\n😀 beta", "beta"}, {"\r\n\r\n\r\r\n", "\n"}, {"a\rb\r\n", "\r"}, {"ééé\nx", "x"}, {"aaa", "aa"}, {"\x00\r\n\x00", "\x00"}, {"x\r\n", "x"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, pattern string) {
		if !utf8.ValidString(text) || !utf8.ValidString(pattern) || pattern == "" || strings.Contains(pattern, "\r") {
			t.Skip()
		}
		runes := []rune(text)
		for _, m := range documents.GrepText(regexp.QuoteMeta(pattern), text, 2) {
			if m.Offset < 0 || m.Offset+m.Length > len(runes) {
				t.Fatalf("%q in %q: %+v is outside", pattern, text, m)
			}
			found := string(runes[m.Offset : m.Offset+m.Length])
			if strings.ReplaceAll(found, "\r\n", "\n") != pattern {
				t.Fatalf("%q in %q: %+v is %q", pattern, text, m, found)
			}
			if line := 1 + strings.Count(string(runes[:m.Offset]), "\n"); m.Line != line {
				t.Fatalf("%q in %q: line %d, want %d", pattern, text, m.Line, line)
			}
			if !utf8.ValidString(m.Text) || len(m.Before) > 2 || len(m.After) > 2 {
				t.Fatalf("%+v", m)
			}
		}
	})
}
