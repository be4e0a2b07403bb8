package chat

// ObjectScanner finds the end of a JSON object that arrives in pieces of any size. The
// zero value is ready to use.
//
// It counts braces and brackets outside of strings and checks nothing else: a caller
// that needs valid JSON must parse what it found.
type ObjectScanner struct {
	depth   int
	inside  bool // a string
	escaped bool // the next byte of the string is escaped
	began   bool
	filled  bool // the object is not empty
	done    bool
}

// Write scans the next piece. end is the offset in piece where the object ends, -1 if
// it does not. What follows the end is ignored.
func (s *ObjectScanner) Write(piece string) (end int) {
	for i := 0; i < len(piece); i++ {
		if s.done {
			return -1
		}
		if s.step(piece[i]) {
			s.done = true
			return i + 1
		}
	}
	return -1
}

// Done reports whether the object has ended.
func (s *ObjectScanner) Done() bool { return s.done }

// Empty reports whether there is nothing between the braces so far: some servers send
// {} before the actual arguments.
func (s *ObjectScanner) Empty() bool { return !s.filled }

// step scans a byte and reports whether the object ends with it.
func (s *ObjectScanner) step(b byte) bool {
	switch {
	case s.escaped:
		s.escaped = false
	case s.inside:
		s.escaped = b == '\\'
		s.inside = b != '"'
	case b == ' ' || b == '\t' || b == '\n' || b == '\r':
	case b == '{' || b == '[':
		s.filled = s.filled || s.began
		s.began = true
		s.depth++
	case b == '}' || b == ']':
		s.depth--
		return s.began && s.depth <= 0
	default:
		s.filled = s.filled || s.began
		s.inside = b == '"'
	}
	return false
}
