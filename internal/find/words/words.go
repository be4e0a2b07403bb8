// Package words splits texts into words and stems, for every search: for tools and for rows.
//
//	for _, w := range words.Split("getUserNames") { … words.Stem(w.Text) … } // get, user, name
package words

import (
	_ "embed"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
	"golang.org/x/text/unicode/norm"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// Word is a word of a text, in lower case.
type Word struct {
	Text string
	// Compound is set on the first of several words that the text writes as one
	// (camelCase, snake_case, sha256): all of them, without separators.
	Compound string
	Parts    int // number of words in the compound
}

// Split splits a text into words: runs of letters and digits, split where the case
// changes (getUserName, HTTPServer), between letters and digits, and at underscores and
// hyphens. Scripts without spaces, and Korean, give overlapping pairs of characters.
func Split(text string) []Word {
	text = normalise(text)
	var c cutter
	for i, r := range text {
		c.rune(text, i, r)
	}
	c.endRun(text, len(text))
	c.endCompound()
	return c.out
}

// normalise maps equivalent characters to one: compatibility forms such as full-width
// ones, and Latin and Greek letters with and without accents.
func normalise(text string) string {
	if isASCII(text) {
		return text
	}
	var b strings.Builder
	accented := false
	for _, r := range norm.NFKD.String(strings.ToValidUTF8(text, " ")) {
		if accented && unicode.Is(unicode.Mn, r) {
			continue
		}
		accented = unicode.In(r, unicode.Latin, unicode.Greek)
		b.WriteRune(r)
	}
	return norm.NFC.String(b.String())
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// class is the class of a character.
type class uint8

const (
	other class = iota
	lower
	upper
	digit
	unspaced // of a script without spaces between words
	joiner   // joins the parts of a compound
)

var unspacedScripts = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
	unicode.Hangul, // which has spaces, and joins particles to words
}

func classOf(r rune) class {
	switch {
	case r >= 'a' && r <= 'z':
		return lower
	case r >= 'A' && r <= 'Z':
		return upper
	case r >= '0' && r <= '9':
		return digit
	case r == '_' || r == '-':
		return joiner
	case r < utf8.RuneSelf:
		return other
	case unicode.In(r, unspacedScripts...):
		return unspaced
	case unicode.IsUpper(r):
		return upper
	case unicode.IsLetter(r), unicode.IsMark(r):
		return lower
	case unicode.IsNumber(r):
		return digit
	}
	return other
}

// cutter is the state of splitting a text, within a run of characters that may be part
// of a compound.
type cutter struct {
	out    []Word
	run    int   // start of the run
	part   int   // index of the compound's first word in out
	last   class // of the previous character
	before class // of the one before that
	at     int   // offset of the previous character
}

func (c *cutter) rune(text string, i int, r rune) {
	k := classOf(r)
	switch {
	case k == other:
		c.endRun(text, i)
		c.endCompound()
	case k == joiner:
		c.endRun(text, i)
		if c.last == joiner { // "server__tool" is two compounds
			c.endCompound()
		}
	case k == unspaced && c.last != unspaced, k != unspaced && c.last == unspaced:
		c.endRun(text, i)
		c.endCompound()
		c.run = i
	case c.last == other || c.last == joiner:
		c.run = i
	case c.before == upper && c.last == upper && k == lower:
		c.endRun(text, c.at)
	case (k == digit) != (c.last == digit), c.last == lower && k == upper:
		c.endRun(text, i)
	}
	c.before, c.last, c.at = c.last, k, i
}

func (c *cutter) endRun(text string, end int) {
	if c.last == other || c.last == joiner || c.run >= end {
		return
	}
	run := strings.ToLower(text[c.run:end])
	c.run = end
	switch {
	case c.last == unspaced:
		c.pairs([]rune(run))
	case len(run) <= MaxBytes:
		c.out = append(c.out, Word{Text: run})
	}
}

// pairs adds the overlapping pairs of a run without spaces.
func (c *cutter) pairs(run []rune) {
	if len(run) == 1 {
		c.out = append(c.out, Word{Text: string(run)})
	}
	for i := 1; i < len(run); i++ {
		c.out = append(c.out, Word{Text: string(run[i-1 : i+1])})
	}
	c.part = len(c.out)
}

func (c *cutter) endCompound() {
	parts := c.out[c.part:]
	c.part = len(c.out)
	if len(parts) < 2 {
		return
	}
	var b strings.Builder
	for _, w := range parts {
		b.WriteString(w.Text)
	}
	if b.Len() <= MaxBytes {
		parts[0].Compound, parts[0].Parts = b.String(), len(parts)
	}
}

// Fold maps names that differ only in case and separators to one.
func Fold(name string) string {
	name = strings.TrimSpace(truncate.Bytes(name, maxNameBytes))
	var b strings.Builder
	for _, r := range normalise(name) {
		if k := classOf(r); k != other && k != joiner {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	if b.Len() == 0 { // a name of punctuation only
		return name
	}
	return b.String()
}

// Stem returns the stem of an English word (Porter2). Other scripts are unchanged.
func Stem(text string) string {
	if len(text) < 3 || !isASCII(text) {
		return text
	}
	return english.Stem(text, true)
}

// maxNameBytes is how much of a name Fold reads.
const maxNameBytes = 64 << 10

// MaxBytes is the length of the longest word: longer ones are identifiers that no one types.
const MaxBytes = 64

//go:embed stopwords.txt
var stopList string

var stop = Set(stopList)

// Stop reports whether a word of [Split] has no meaning of its own, such as "the".
func Stop(text string) bool { return stop[text] }

// Set returns the words of a list.
func Set(list string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		m[w] = true
	}
	return m
}

// Hash is FNV-1a, 64 bits.
func Hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}
