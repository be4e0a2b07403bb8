package xmltools

// quoting tracks whether the current position of a text is quoted: in a code block or
// code span of Markdown (CommonMark 4.5 and 6.1), or in a <think> element at the
// beginning of the text.
type quoting struct {
	at     position
	indent int
	mark   byte // ` or ~: the character that the line begins with
	run    int  // how many
	bare   bool // only white space follows it
	ticks  bool // a backtick follows it

	fence    byte // the fence of the open block; 0: none
	fenceRun int

	span  int // backticks that opened a code span; 0: none
	row   int // backticks just before the position
	head  string
	tail  string
	think bool
}

// position is a position within a line.
type position int

const (
	inIndent position = iota
	inMark
	inRest
)

// maxIndent is how far a fence may be indented.
const maxIndent = 3

const (
	thinkTag = "<think>"
	thinkEnd = "</think>"
)

// quoted reports whether what follows is quoted.
func (q *quoting) quoted() bool {
	q.endRun()
	return q.think || q.fence != 0 || q.span != 0 || q.opens()
}

// opens reports whether the line opens a block so far.
func (q *quoting) opens() bool { return q.run >= 3 && (q.mark == '~' || !q.ticks) }

// pass scans the next piece of the text.
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
	case q.at == inIndent && b == ' ' && q.indent < maxIndent:
		q.indent++
	case q.at == inIndent && (b == '`' || b == '~'):
		q.at, q.mark, q.run, q.bare = inMark, b, 1, true
	case q.at == inMark && b == q.mark:
		q.run++
	default:
		q.at = inRest
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

// newLine resets the state of the line.
func (q *quoting) newLine() {
	q.at, q.indent, q.mark, q.run, q.bare, q.ticks = inIndent, 0, 0, 0, false, false
	q.span, q.row = 0, 0
}

// spans tracks code spans, which are delimited by runs of equally many backticks.
func (q *quoting) spans(b byte) {
	if b == '`' {
		q.row++
		return
	}
	q.endRun()
}

// endRun ends a run of backticks.
func (q *quoting) endRun() {
	switch {
	case q.row == 0:
	case q.span == 0:
		q.span = q.row
	case q.span == q.row:
		q.span = 0
	}
	q.row = 0
}

// thinking tracks the element that an answer may begin with.
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
