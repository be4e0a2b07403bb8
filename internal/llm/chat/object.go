package chat

// ObjectScanner finds the end of a JSON object that arrives in pieces, cut
// anywhere. The zero value is ready to use.
//
// It counts braces and brackets outside of strings and does not check the
// rest: whoever needs valid JSON parses what it has found.
type ObjectScanner struct {
	depth   int
	inside  bool // of a string
	escaped bool // the next byte of it is
	began   bool
	filled  bool // the object has something between its braces
	done    bool
}

// Write takes the next piece. end is where in piece the object ends, -1 when
// it does not end there. What follows the end is not looked at.
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

// Empty reports whether nothing stood between the braces so far: some servers
// send {} before the arguments proper.
func (s *ObjectScanner) Empty() bool { return !s.filled }

// step takes a byte and reports whether the object ends with it.
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
