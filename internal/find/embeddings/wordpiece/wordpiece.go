// Package wordpiece splits texts into word pieces as the uncased tokenizer of BERT does: words
// in lower case without accents, and of each word the longest piece that is in the vocabulary,
// again and again. Devlin et al., "BERT", NAACL 2019; the code of Hugging Face's tokenizers is
// the reference.
package wordpiece

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxWordBytes is the length of a word above which BERT takes it as unknown.
const maxWordBytes = 100

// continued begins the pieces that continue a word.
const continued = "##"

// Vocabulary has the numbers of the word pieces.
type Vocabulary struct {
	begin, rest map[string]int32 // pieces at the begin of a word, and after it, without "##"
	longest     int              // bytes of the longest piece
}

// New returns a vocabulary in which each piece has its index as number.
func New(pieces []string) *Vocabulary {
	v := &Vocabulary{begin: make(map[string]int32, len(pieces)), rest: map[string]int32{}}
	for i, p := range pieces {
		of := v.begin
		if rest, ok := strings.CutPrefix(p, continued); ok && rest != "" {
			of, p = v.rest, rest
		}
		of[p] = int32(i)
		v.longest = max(v.longest, len(p))
	}
	return v
}

// Number returns the number of a piece, which may be special, such as [CLS].
func (v *Vocabulary) Number(piece string) (int32, bool) {
	n, ok := v.begin[piece]
	return n, ok
}

// Append appends the numbers of a word's pieces. It reports whether all of the word is in the
// vocabulary. The characters that are not are left out.
func (v *Vocabulary) Append(dst []int32, word string) ([]int32, bool) {
	if len(word) > maxWordBytes {
		return dst, false
	}
	whole, of := true, v.begin
	for from := 0; from < len(word); of = v.rest {
		n, size := v.piece(of, word[from:])
		if size == 0 {
			_, size = utf8.DecodeRuneInString(word[from:])
			whole = false
		} else {
			dst = append(dst, n)
		}
		from += size
	}
	return dst, whole
}

// piece returns the longest piece that a text begins with, and its size.
func (v *Vocabulary) piece(of map[string]int32, text string) (number int32, size int) {
	for end := min(len(text), v.longest); end > 0; end-- {
		if n, ok := of[text[:end]]; ok {
			return n, end
		}
	}
	return 0, 0
}

// Words calls do with each word of a text, in lower case and without accents. Punctuation
// characters and those of Chinese are words of their own; control characters are left out.
func Words(text string, do func(word string)) {
	text = strings.ToLower(text)
	if !ascii(text) {
		text = norm.NFD.String(text)
	}
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			do(word.String())
			word.Reset()
		}
	}
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			end()
		case r == 0 || r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Mn):
		case alone(r):
			end()
			do(string(r))
		default:
			word.WriteRune(r)
		}
	}
	end()
}

// SplitNames separates the words of names in a text, such as getWeather, HTTPServer and
// get_weather.
func SplitNames(text string) string {
	letters := []rune(text)
	var b strings.Builder
	for i, r := range letters {
		if i > 0 && unicode.IsUpper(r) {
			before := letters[i-1]
			begins := i+1 < len(letters) && unicode.IsUpper(before) && unicode.IsLower(letters[i+1])
			if begins || unicode.IsLower(before) || unicode.IsDigit(before) {
				b.WriteByte(' ')
			}
		}
		if r == '_' {
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String()
}

func ascii(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// alone reports whether a character is a word of its own: punctuation, which in ASCII includes
// symbols such as $, and Chinese characters.
func alone(r rune) bool {
	if r < utf8.RuneSelf {
		return r > ' ' && !('0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
	}
	return unicode.IsPunct(r) || chinese(r)
}

// chinese reports whether a character is in the blocks of CJK ideographs, as the
// tokenizers of Hugging Face have them: without U+2B820 to U+2B91F.
func chinese(r rune) bool {
	return 0x4E00 <= r && r <= 0x9FFF || 0x3400 <= r && r <= 0x4DBF || 0x20000 <= r && r <= 0x2A6DF ||
		0x2A700 <= r && r <= 0x2B81F || 0x2B920 <= r && r <= 0x2CEAF || 0xF900 <= r && r <= 0xFAFF ||
		0x2F800 <= r && r <= 0x2FA1F
}
