// Package chunk splits texts into chunks, so that each has one vector of an embedding model and
// a search finds the part of a long text that answers it.
//
//	for _, c := range chunk.Split(text, chunk.Options{Target: 256, Overlap: 32, Trim: true}) {
//		embed(text[c.Start:c.End])
//	}
package chunk

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/kit/tokens"
)

// Options says how texts are split.
type Options struct {
	Target   int  // tokens of a chunk at most, except for Overlap; 0: the whole text is one chunk
	Overlap  int  // tokens at the end of a chunk that the next one repeats, at most half of Target
	Trim     bool // leave out white space at both ends
	Markdown bool // a heading begins a chunk
	// Count counts the tokens of a text. nil: an estimate.
	Count func(text string) int
}

// Chunk is a part of a text, in bytes. Chunks end between characters.
type Chunk struct {
	Start, End int
	Heading    string // of Markdown: the headings above the chunk, outermost first, with " > " between them
}

// unit is a part of a text that is split only if it alone is longer than a chunk: a sentence
// with the white space after it, or a line of Markdown's headings.
type unit struct {
	start, end, tokens int
	heading            int // level of a heading of Markdown; 0: none
	within             string
}

// Split returns the chunks of a text, in order. Each ends at the end of a sentence or of a
// paragraph if there is one within Target tokens, else between words. White space alone is no
// chunk.
func Split(text string, o Options) []Chunk {
	if o.Count == nil {
		o.Count = tokens.Count
	}
	units := cut(text, o)
	var out []Chunk
	for from := 0; from < len(units); {
		to, size := from, 0
		for to < len(units) && (to == from || size+units[to].tokens <= o.Target || o.Target == 0) {
			if u := units[to]; u.heading > 0 && size > o.Target/heading && o.Target > 0 {
				break
			}
			size += units[to].tokens
			to++
		}
		out = o.append(out, text, units[from].start, units[to-1].end, units[from].within)
		from = o.next(units, from, to)
	}
	return out
}

// heading is the share of a chunk, as a divisor, that text before a heading must fill for the
// heading to begin a new chunk: sections of a line or two share one.
const heading = 4

// next returns the unit with which the chunk after that of units[from:to] begins. The chunk has
// room for units[to], so that each chunk adds to the one before.
func (o Options) next(units []unit, from, to int) int {
	if to == len(units) || units[to].heading > 0 {
		return to // sections do not overlap
	}
	next, repeated := to, 0
	for next > from+1 && units[next-1].heading == 0 {
		repeated += units[next-1].tokens
		if repeated > min(o.Overlap, o.Target/2) || repeated+units[to].tokens > o.Target {
			break
		}
		next--
	}
	return next
}

func (o Options) append(out []Chunk, text string, start, end int, within string) []Chunk {
	if part := text[start:end]; strings.TrimSpace(part) == "" {
		return out
	} else if o.Trim {
		start += len(part) - len(strings.TrimLeftFunc(part, unicode.IsSpace))
		end -= len(part) - len(strings.TrimRightFunc(part, unicode.IsSpace))
	}
	return append(out, Chunk{Start: start, End: end, Heading: within})
}

// cut splits a text into units, which cover all of it.
func cut(text string, o Options) []unit {
	if o.Target == 0 {
		return []unit{{end: len(text)}}
	}
	c := cutter{text: text, o: o}
	fence := ""
	for at := 0; at < len(text); {
		end := len(text)
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		line := text[at:end]
		if o.Markdown {
			fence = fenced(line, fence)
			if level, title := headingOf(line); level > 0 && fence == "" {
				c.flush(at)
				c.section(level, title)
				c.add(at, end, level)
				c.start = end
				at = end
				continue
			}
		}
		c.sentences(at, end)
		at = end
	}
	c.flush(len(text))
	return c.out
}

// cutter is the state of [cut].
type cutter struct {
	text  string
	o     Options
	out   []unit
	start int // of the text that is not yet in a unit
	path  [6]string
	// within is the headings above the text.
	within string
}

// section enters a section of Markdown.
func (c *cutter) section(level int, title string) {
	c.path[level-1] = title
	clear(c.path[level:])
	var names []string
	for _, name := range c.path {
		if name != "" {
			names = append(names, name)
		}
	}
	c.within = strings.Join(names, " > ")
}

// sentences ends a unit at each end of a sentence in a line, and at an empty line.
func (c *cutter) sentences(from, to int) {
	if strings.TrimSpace(c.text[from:to]) == "" {
		c.flush(to)
		return
	}
	ended := false
	for i, r := range c.text[from:to] {
		at := from + i
		switch {
		case r == '。' || r == '！' || r == '？':
			c.flush(at + utf8.RuneLen(r))
			ended = false
		case r == '.' || r == '!' || r == '?':
			ended = true
		case unicode.IsSpace(r) && ended:
			c.flush(at + utf8.RuneLen(r))
			ended = false
		case !strings.ContainsRune(`"')]’”`, r):
			ended = false
		}
	}
	if ended {
		c.flush(to)
	}
}

// flush ends a unit.
func (c *cutter) flush(end int) {
	if end > c.start {
		c.add(c.start, end, 0)
		c.start = end
	}
}

// bytesPerToken is more than a token of any model has on average; it bounds the text that is
// counted at once.
const bytesPerToken = 16

// add adds a unit, or several if it is longer than a chunk.
func (c *cutter) add(start, end, level int) {
	for start < end {
		stop := end
		if most := c.o.Target * bytesPerToken; stop-start > most {
			stop = between(c.text, start, start+most)
		}
		count := c.o.Count(c.text[start:stop])
		for count > c.o.Target && stop-start > utf8.UTFMax {
			shorter := between(c.text, start, start+max((stop-start)*c.o.Target/count, utf8.UTFMax))
			if shorter >= stop {
				break
			}
			stop = shorter
			count = c.o.Count(c.text[start:stop])
		}
		c.out = append(c.out, unit{start: start, end: stop, tokens: count, heading: level, within: c.within})
		start, level = stop, 0
	}
}

// between returns the end of the last word of text[start:end], or else of its last character.
func between(text string, start, end int) int {
	for end < len(text) && !utf8.RuneStart(text[end]) && end > start+1 {
		end--
	}
	if i := strings.LastIndexFunc(text[start:end], unicode.IsSpace); i > 0 {
		_, size := utf8.DecodeRuneInString(text[start+i:])
		return start + i + size
	}
	if end == start+1 { // in the middle of the first character
		for end < len(text) && !utf8.RuneStart(text[end]) {
			end++
		}
	}
	return end
}

// headingOf returns the level and the title of a heading of Markdown; 0 for other lines.
func headingOf(line string) (level int, title string) {
	rest := strings.TrimLeft(line, " ")
	if len(line)-len(rest) > 3 {
		return 0, ""
	}
	for level < len(rest) && rest[level] == '#' {
		level++
	}
	title = rest[level:]
	if level == 0 || level > 6 || title != "" && !unicode.IsSpace(rune(title[0])) {
		return 0, ""
	}
	return level, strings.TrimSpace(strings.TrimRight(strings.TrimSpace(title), "#"))
}

// fenced returns the fence of the block of code that the next line is in, "" outside of one.
func fenced(line, fence string) string {
	line = strings.TrimSpace(line)
	switch {
	case fence != "" && strings.HasPrefix(line, fence) && strings.Trim(line, fence[:1]) == "":
		return ""
	case fence != "":
		return fence
	}
	for _, mark := range []string{"```", "~~~"} {
		if strings.HasPrefix(line, mark) {
			n := len(line) - len(strings.TrimLeft(line, mark[:1]))
			return line[:n]
		}
	}
	return ""
}
