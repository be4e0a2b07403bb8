package xmltools

// quoting follows a text and knows whether its present place is quoted: in a
// code block or code span of Markdown (CommonMark 4.5 and 6.1), or in a
// <think> element at the beginning of the text.
type quoting struct {
	place  place
	indent int
	mark   byte // ` or ~: what the line begins with
	run    int  // how often
	bare   bool // only white space follows it
	ticks  bool // a backtick follows it

	fence    byte // that opened the block; 0: outside of one
	fenceRun int

	span  int // backticks that opened a code span; 0: outside of one
	row   int // backticks just before the present place
	head  string
	tail  string
	think bool
}

// place is where in its line a text is.
type place int

const (
	inIndent place = iota
	inMark
	inRest
)

// maxIndent is how far the line that opens or closes a block may be indented.
const maxIndent = 3

const (
	thinkTag = "<think>"
	thinkEnd = "</think>"
)

// quoted reports whether what follows is quoted.
func (q *quoting) quoted() bool {
	q.settle()
	return q.think || q.fence != 0 || q.span != 0 || q.opens()
}

// opens reports whether the line opens a block so far.
func (q *quoting) opens() bool { return q.run >= 3 && (q.mark == '~' || !q.ticks) }

// pass takes the next piece of the text.
func (q *quoting) pass(text string) {
	for i := range len(text) {
		q.step(text[i])
	}
}

func (q *quoting) step(b byte) {
	q.thinking(b)
	if b == '\n' {
		q.endLine()
		return
	}
	q.spans(b)
	switch {
	case q.place == inIndent && b == ' ' && q.indent < maxIndent:
		q.indent++
	case q.place == inIndent && (b == '`' || b == '~'):
		q.place, q.mark, q.run, q.bare = inMark, b, 1, true
	case q.place == inMark && b == q.mark:
		q.run++
	default:
		q.place = inRest
		q.bare = q.bare && (b == ' ' || b == '\t' || b == '\r')
		q.ticks = q.ticks || b == '`'
	}
}

// endLine opens or closes a block and begins a line.
func (q *quoting) endLine() {
	switch {
	case q.fence == 0 && q.opens():
		q.fence, q.fenceRun = q.mark, q.run
	case q.fence != 0 && q.mark == q.fence && q.run >= q.fenceRun && q.bare:
		q.fence = 0
	}
	q.newLine()
}

// newLine forgets the line.
func (q *quoting) newLine() {
	q.place, q.indent, q.mark, q.run, q.bare, q.ticks = inIndent, 0, 0, 0, false, false
	q.span, q.row = 0, 0
}

// spans follows code spans, which runs of as many backticks open and close.
func (q *quoting) spans(b byte) {
	if b == '`' {
		q.row++
		return
	}
	q.settle()
}

// settle ends a run of backticks.
func (q *quoting) settle() {
	switch {
	case q.row == 0:
	case q.span == 0:
		q.span = q.row
	case q.span == q.row:
		q.span = 0
	}
	q.row = 0
}

// thinking follows the element that an answer may begin with.
func (q *quoting) thinking(b byte) {
	if q.think {
		q.tail += string(b)
		q.tail = q.tail[max(0, len(q.tail)-len(thinkEnd)):]
		q.think = q.tail != thinkEnd
		return
	}
	if len(q.head) < len(thinkTag) && (q.head != "" || !isSpace(b)) {
		q.head += string(b)
		q.think = q.head == thinkTag
	}
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' }
