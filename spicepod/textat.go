package spicepod

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// scalarOffset returns the byte of the file that byte `want` of a scalar's value was read
// from. It reads the scalar again as the YAML parser does, counting the bytes that each piece
// of source contributes to the value.
func scalarOffset(src *source, node *yaml.Node, want int) int {
	want = max(0, min(want, len(node.Value)))
	start := skipProperties(src.text, src.offset(node.Line, node.Column))
	r := scalarReader{text: src.text, at: start, want: want}
	switch {
	case node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		r.block(node.Value, node.Style&yaml.LiteralStyle != 0)
	case node.Style&yaml.DoubleQuotedStyle != 0:
		r.at++
		r.flow('"')
	case node.Style&yaml.SingleQuotedStyle != 0:
		r.at++
		r.flow('\'')
	default:
		r.flow(0)
	}
	return min(r.at, len(src.text))
}

// skipProperties skips an anchor and a tag before a value.
func skipProperties(text string, at int) int {
	for at < len(text) && (text[at] == '&' || text[at] == '!') {
		for at < len(text) && !strings.ContainsRune(" \t\r\n", rune(text[at])) {
			at++
		}
		for at < len(text) && strings.ContainsRune(" \t\r\n", rune(text[at])) {
			at++
		}
	}
	return at
}

// scalarReader is at a byte of the file; want is the number of bytes of the value that remain
// before the requested one.
type scalarReader struct {
	text string
	at   int
	want int
}

// take consumes source that contributes n bytes to the value. It reports false if the
// requested byte is among them; at is then its position.
func (r *scalarReader) take(source, n int) bool {
	if r.want < n {
		if source == n {
			r.at += r.want // verbatim: byte for byte
		}
		r.want = 0
		return false
	}
	r.want -= n
	r.at += source
	return true
}

// flow reads a plain or quoted scalar; quote is 0 for a plain one.
func (r *scalarReader) flow(quote byte) {
	for r.at < len(r.text) {
		c := r.text[r.at]
		ok := true
		switch {
		case isBlank(c) || breakLen(r.text, r.at) > 0:
			ok = r.space()
		case quote == '\'' && c == '\'':
			if !strings.HasPrefix(r.text[r.at:], "''") {
				return
			}
			ok = r.take(2, 1)
		case quote == '"' && c == '"':
			return
		case quote == '"' && c == '\\':
			ok = r.escape()
		default:
			if r.want == 0 {
				return
			}
			ok = r.take(1, 1)
		}
		if !ok {
			return
		}
	}
}

// space reads spaces and line breaks between two pieces of a flow scalar: spaces alone stay,
// a single break becomes a space, n breaks become n-1.
func (r *scalarReader) space() bool {
	blanks := r.at
	for blanks < len(r.text) && isBlank(r.text[blanks]) {
		blanks++
	}
	if blanks == len(r.text) || breakLen(r.text, blanks) == 0 {
		return r.take(blanks-r.at, blanks-r.at)
	}
	end, produced, first := blanks, 0, true
	for end < len(r.text) {
		if n := breakLen(r.text, end); n > 0 {
			if !first {
				produced += breakValue(n)
			}
			first = false
			end += n
		} else if isBlank(r.text[end]) {
			end++
		} else {
			break
		}
	}
	if lead := breakValue(breakLen(r.text, blanks)); lead == 3 || produced == 0 {
		produced += lead
	}
	if r.want < produced {
		r.at, r.want = blanks, 0
		return false
	}
	return r.take(end-r.at, produced)
}

// breakValue is the length of a line break in a value: LS and PS stay, all others become \n.
func breakValue(length int) int {
	if length == 3 {
		return 3
	}
	return 1
}

// escape reads one escape of a double-quoted scalar.
func (r *scalarReader) escape() bool {
	if r.at+1 >= len(r.text) {
		return false
	}
	if n := breakLen(r.text, r.at+1); n > 0 {
		return r.escapedBreak(n)
	}
	switch r.text[r.at+1] {
	case 'x':
		return r.escapedRune(2)
	case 'u':
		return r.escapedRune(4)
	case 'U':
		return r.escapedRune(8)
	case 'N', '_':
		return r.take(2, 2)
	case 'L', 'P':
		return r.take(2, 3)
	default:
		return r.take(2, 1)
	}
}

// escapedBreak reads a backslash before a line break of so many bytes, which joins two lines:
// neither the break nor the spaces at the start of the next line are in the value. The breaks of
// empty lines in between are.
func (r *scalarReader) escapedBreak(length int) bool {
	end := r.at + 1 + length
	for end < len(r.text) {
		if n := breakLen(r.text, end); n > 0 {
			if !r.take(end+n-r.at, breakValue(n)) {
				return false
			}
			end = r.at
		} else if isBlank(r.text[end]) {
			end++
		} else {
			break
		}
	}
	r.at = end
	return true
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func (r *scalarReader) escapedRune(digits int) bool {
	var code rune
	end := min(r.at+2+digits, len(r.text))
	for _, c := range []byte(r.text[r.at+2 : end]) {
		code = code<<4 | rune(strings.IndexByte("0123456789abcdef", c|0x20)&0xF)
	}
	size := utf8.RuneLen(code)
	if size < 0 {
		size = 3
	}
	if r.want < size {
		r.want = 0
		return false
	}
	return r.take(end-r.at, size)
}

// lineBreak is a line break in a block scalar and its length in the value.
type lineBreak struct{ at, value int }

// block reads a literal or folded scalar.
func (r *scalarReader) block(value string, literal bool) {
	r.want = min(r.want, len(strings.TrimRight(value, "\n")))
	r.at = nextLine(r.text, r.at)
	indent := blockIndent(r.text[r.at:], value)
	var lead lineBreak // the break of the line before
	afterBlank := false
	for {
		blanks := r.blankLines(indent)
		content := r.at < len(r.text)
		startsBlank := content && (r.text[r.at] == ' ' || r.text[r.at] == '\t')
		folds := content && !literal && lead.value == 1 && !afterBlank && !startsBlank
		if !folds || len(blanks) == 0 {
			blanks = append([]lineBreak{lead}, blanks...)
		}
		for _, b := range blanks {
			if r.want < b.value {
				r.at = b.at
				return
			}
			r.want -= b.value
		}
		end := lineEnd(r.text, r.at)
		if r.want < end-r.at || !content {
			r.at = min(r.at+r.want, len(r.text))
			return
		}
		r.want -= end - r.at
		r.at = end
		if lead = (lineBreak{at: end}); end < len(r.text) {
			n := breakLen(r.text, end)
			lead.value = breakValue(n)
			r.at += n
		}
		afterBlank = startsBlank
	}
}

// blankLines skips empty lines and the indentation of the next one.
func (r *scalarReader) blankLines(indent int) []lineBreak {
	var blanks []lineBreak
	for r.at < len(r.text) {
		r.at += min(indent, spaces(r.text[r.at:]))
		if r.at == len(r.text) {
			break
		}
		n := breakLen(r.text, r.at)
		if n == 0 {
			break
		}
		blanks = append(blanks, lineBreak{r.at, breakValue(n)})
		r.at += n
	}
	return blanks
}

// blockIndent is the number of spaces at the start of every line of a block scalar: the
// difference between its first line of text in the file and in the value.
func blockIndent(text, value string) int {
	for at := 0; at < len(text); at = nextLine(text, at) {
		n := spaces(text[at:])
		if at+n < len(text) && breakLen(text, at+n) == 0 {
			first := strings.IndexFunc(value, func(c rune) bool { return c != ' ' && c != '\n' })
			inValue := first - 1 - strings.LastIndexByte(value[:max(first, 0)], '\n')
			return max(0, n-max(0, inValue))
		}
	}
	return len(text)
}

func spaces(text string) int { return len(text) - len(strings.TrimLeft(text, " ")) }

func lineEnd(text string, at int) int {
	for at < len(text) && breakLen(text, at) == 0 {
		at++
	}
	return at
}

func nextLine(text string, at int) int {
	if at = lineEnd(text, at); at < len(text) {
		at += breakLen(text, at)
	}
	return at
}
