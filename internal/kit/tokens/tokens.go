// Package tokens estimates how many tokens a text has for a language model.
//
//	if tokens.Count(description) > 400 {
//		return errLong
//	}
package tokens

import (
	"unicode"
	"unicode/utf8"
)

// Count estimates how many tokens a text has in o200k_base, the vocabulary of OpenAI's
// models since GPT-4o. The text is split as that vocabulary splits it, into words,
// groups of three digits, punctuation and white space, and each piece counts as much as
// such pieces do on average in some 4,000 tool definitions. For a catalog the estimate
// is within 3 % of the true count, for one definition mostly within 10 %.
func Count(text string) int {
	var sum float64
	for text != "" {
		n, tokens := piece(text)
		sum += tokens
		text = text[n:]
	}
	return int(sum + .5)
}

// piece returns the size in bytes of the first piece of a non-empty text, and its
// tokens.
func piece(text string) (size int, tokens float64) {
	first, size := utf8.DecodeRuneInString(text)
	next, _ := utf8.DecodeRuneInString(text[size:])
	switch {
	case letter(first):
		return word(text, 0)
	case unicode.IsNumber(first):
		return run(text, 3, unicode.IsNumber), 1
	case letter(next) && first != '\n' && first != '\r': // a mark or a space belongs to the word after it
		return word(text, size)
	case unicode.IsSpace(first) && (first != ' ' || unicode.IsSpace(next) || unicode.IsNumber(next) || size == len(text)):
		return run(text, len(text), unicode.IsSpace), 1
	}
	n := size + run(text[size:], len(text), mark)
	tokens = 1
	if more := utf8.RuneCountInString(text[:n]) - 4; more > 0 {
		tokens += .85 * float64(more)
	}
	if first >= utf8.RuneSelf {
		tokens = 1.5 * float64(utf8.RuneCountInString(text[:n]))
	}
	return n, tokens
}

// word returns the size of the piece of a text that begins with prefix bytes and a
// word. It ends before a capital letter that follows a small one.
func word(text string, prefix int) (size int, tokens float64) {
	var letters, capitals int
	var last rune
	size = len(text)
	for i, r := range text[prefix:] {
		if !letter(r) || unicode.IsUpper(r) && unicode.IsLower(last) {
			size = prefix + i
			break
		}
		letters++
		if unicode.IsUpper(r) {
			capitals++
		}
		last = r
	}
	n := float64(letters)
	switch spaced := prefix > 0 && text[0] == ' '; {
	case last >= 0x2e80: // Chinese, Japanese, Korean
		return size, .75*n + .25
	case last >= utf8.RuneSelf:
		return size, max(1, .3*n+.3)
	case capitals > 1 && spaced:
		return size, 1 + .15*max(0, n-2)
	case capitals > 1:
		return size, 1 + .32*max(0, n-2)
	case prefix > 0 && !spaced:
		return size, 1 + .09*max(0, n-2)
	default:
		return size, 1 + .05*max(0, n-7)
	}
}

// run returns the size of the first runes of a text that satisfy of, at most most of
// them.
func run(text string, most int, of func(rune) bool) int {
	count := 0
	for i, r := range text {
		if count == most || !of(r) {
			return i
		}
		count++
	}
	return len(text)
}

func letter(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) }

func mark(r rune) bool { return !letter(r) && !unicode.IsNumber(r) && !unicode.IsSpace(r) }
