package usage

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// tidyText returns s if it is printable and at most limit bytes long. Otherwise it
// returns a copy: white space becomes a space, unprintable characters become U+FFFD,
// and a shortened text ends in an ellipsis.
func tidyText(s string, limit int) string {
	if len(s) <= limit && printable(s) {
		return s
	}
	const ellipsis = "…"
	var b strings.Builder
	b.Grow(min(len(s), limit))
	fits := 0 // bytes of b that leave room for the ellipsis
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			r = ' '
		case !unicode.IsPrint(r):
			r = utf8.RuneError
		}
		if b.Len()+utf8.RuneLen(r) > limit {
			return strings.Clone(b.String()[:fits]) + ellipsis
		}
		b.WriteRune(r)
		if b.Len()+len(ellipsis) <= limit {
			fits = b.Len()
		}
	}
	return b.String()
}

// printable is fast for ASCII, which most texts are.
func printable(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] >= 0x7f {
			return utf8.ValidString(s[i:]) && !strings.ContainsFunc(s[i:], func(r rune) bool { return !unicode.IsPrint(r) })
		}
	}
	return true
}
