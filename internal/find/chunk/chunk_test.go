package chunk

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// fields counts words, so that tests can count as well.
func fields(text string) int { return len(strings.Fields(text)) }

func texts(text string, o Options) (out []string) {
	for _, c := range Split(text, o) {
		s := text[c.Start:c.End]
		if c.Heading != "" {
			s = c.Heading + ": " + s
		}
		out = append(out, s)
	}
	return out
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		name, text string
		o          Options
		want       []string
	}{
		{"whole", " One. Two. ", Options{Trim: true}, []string{"One. Two."}},
		{"white space is kept", " One. ", Options{}, []string{" One. "}},
		{"nothing", " \n\n ", Options{Target: 5}, nil},
		{
			"sentences", "One two. Three four! Five (six.) Seven.",
			Options{Target: 4, Trim: true},
			[]string{"One two. Three four!", "Five (six.) Seven."},
		},
		{
			"no sentence ends in a number", "Version 3.5 of it. Then 1.",
			Options{Target: 4, Trim: true},
			[]string{"Version 3.5 of it.", "Then 1."},
		},
		{
			"paragraphs", "one two\nthree\n\nfour five\n",
			Options{Target: 3, Trim: true},
			[]string{"one two\nthree", "four five"},
		},
		{
			"a long sentence is split between words", "a b c d e f g.",
			Options{Target: 3, Trim: true},
			[]string{"a b c", "d e f", "g."},
		},
		{
			"overlap", "A a. B b. C c. D d. E e.",
			Options{Target: 4, Overlap: 2, Trim: true},
			[]string{"A a. B b.", "B b. C c.", "C c. D d.", "D d. E e."},
		},
		{
			"overlap is less than a sentence", "A a a. B b b. C c c.",
			Options{Target: 3, Overlap: 1, Trim: true},
			[]string{"A a a.", "B b b.", "C c c."},
		},
		{"Chinese", "一二三。四五六！", Options{Target: 1}, []string{"一二三。", "四五六！"}},
		{
			"Markdown", "intro text here\n# Guide\nfirst one.\n## Setup ##\ndo this now.\n# Other\nlast\n",
			Options{Target: 8, Trim: true, Markdown: true},
			[]string{
				"intro text here", "Guide: # Guide\nfirst one.", "Guide > Setup: ## Setup ##\ndo this now.",
				"Other: # Other\nlast",
			},
		},
		{
			"short sections share a chunk", "# A\nx\n# B\ny\n",
			Options{Target: 20, Trim: true, Markdown: true},
			[]string{"A: # A\nx\n# B\ny"},
		},
		{
			"no heading in code", "# A\n```\n# no heading here, just a comment\n```\n#also none\n",
			Options{Target: 40, Trim: true, Markdown: true},
			[]string{"A: # A\n```\n# no heading here, just a comment\n```\n#also none"},
		},
	} {
		if c.o.Count == nil {
			c.o.Count = fields
		}
		if diff := cmp.Diff(c.want, texts(c.text, c.o)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// TestOversized splits what has no words: no chunk is longer than asked, and nothing is lost.
func TestOversized(t *testing.T) {
	count := func(s string) int { return utf8.RuneCountInString(s) }
	text := strings.Repeat("é", 10_000)
	got := texts(text, Options{Target: 64, Count: count})
	if strings.Join(got, "") != text {
		t.Error("the chunks are not the text")
	}
	for _, c := range got {
		if count(c) > 64 || !utf8.ValidString(c) {
			t.Errorf("a chunk has %d characters, valid: %v", count(c), utf8.ValidString(c))
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("# A\n\nSome text. More.\n```\n# x\n```\n", 3, 1)
	f.Add("\xff\xfe。。。", 1, 9)
	f.Fuzz(func(t *testing.T, text string, target, overlap int) {
		o := Options{Target: 1 + target&0xff, Overlap: overlap & 0xff, Markdown: overlap&1 == 0}
		at := 0
		for _, c := range Split(text, o) {
			if c.Start < 0 || c.End > len(text) || c.Start >= c.End || c.Start > at && strings.TrimSpace(text[at:c.Start]) != "" {
				t.Fatal(fmt.Sprint(c, " after ", at, " of ", len(text)))
			}
			if c.End <= at {
				t.Fatal("a chunk adds nothing")
			}
			at = c.End
		}
		if strings.TrimSpace(text[at:]) != "" {
			t.Fatalf("%q is in no chunk", text[at:])
		}
	})
}
