package wordpiece

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Tokenizer numbers the pieces of texts as Hugging Face's tokenizers do with a
// BertNormalizer, a BertPreTokenizer and a WordPiece model. It is safe for
// concurrent use.
type Tokenizer struct {
	Vocabulary *Vocabulary
	// Unknown is the number of a word that is not in the vocabulary.
	Unknown int32
	// Added are tokens that are found in texts as they are, such as [SEP], by
	// their text.
	Added map[string]int32
	// MaxWordRunes is the length of a word above which it is unknown.
	MaxWordRunes int
	// Clean removes control characters, Chinese makes each Chinese character
	// a word, Strip removes accents, Lower converts to lower case.
	Clean, Chinese, Strip, Lower bool
}

// Append appends the numbers of a text's pieces until dst has most.
func (t *Tokenizer) Append(dst []int32, text string, most int) []int32 {
	for len(text) > 0 && len(dst) < most {
		at, added := t.added(text)
		t.words(text[:at], func(word string) bool {
			dst = t.word(dst, word)
			return len(dst) < most
		})
		if at < len(text) && len(dst) < most {
			dst = append(dst, t.Added[added])
		}
		text = text[at+len(added):]
	}
	return dst[:min(len(dst), most)]
}

// added returns the first added token in a text, the longest of those that
// begin there, and where; or the length of the text.
func (t *Tokenizer) added(text string) (at int, token string) {
	at = len(text)
	for content := range t.Added {
		i := strings.Index(text[:min(len(text), at+len(content))], content)
		if i >= 0 && (i < at || i == at && len(content) > len(token)) {
			at, token = i, content
		}
	}
	return at, token
}

// word appends the pieces of a word, or Unknown for all of it.
func (t *Tokenizer) word(dst []int32, word string) []int32 {
	before := len(dst)
	if utf8.RuneCountInString(word) > t.MaxWordRunes {
		return append(dst, t.Unknown)
	}
	of := t.Vocabulary.begin
	for from := 0; from < len(word); of = t.Vocabulary.rest {
		n, size := t.Vocabulary.piece(of, word[from:])
		if size == 0 {
			return append(dst[:before], t.Unknown)
		}
		dst = append(dst, n)
		from += size
	}
	return dst
}

// words calls do with each word of a text until do returns false.
func (t *Tokenizer) words(text string, do func(word string) bool) {
	if t.Strip && !ascii(text) {
		text = norm.NFD.String(text)
	}
	var word strings.Builder
	end := func() bool {
		if word.Len() == 0 {
			return true
		}
		w := word.String()
		word.Reset()
		return do(w)
	}
	for _, r := range text {
		switch {
		case t.Clean && removed(r):
			continue
		case unicode.IsSpace(r):
			if !end() {
				return
			}
			continue
		case t.Strip && unicode.Is(unicode.Mn, r):
			continue
		}
		if t.Lower && r == 'İ' { // the only character whose lower case has two
			word.WriteRune('i')
			r = '\u0307'
		} else if t.Lower {
			r = unicode.ToLower(r)
		}
		if alone(r) && (t.Chinese || !chinese(r)) {
			if !end() || !do(string(r)) {
				return
			}
			continue
		}
		word.WriteRune(r)
	}
	end()
}

// removed reports whether a character is left out of words. Of the control
// characters of ASCII, \v and \f are, and \t, \n and \r separate words.
func removed(r rune) bool {
	return r == utf8.RuneError ||
		r != '\t' && r != '\n' && r != '\r' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs)
}
