package mcpclient

// skim reads a message that is too long to be kept, and finds the id of a response, in bounded
// memory. Servers write the id before the result or after it.
type skim struct {
	depth             int
	inString, escaped bool
	key, value        []byte // at depth 1: the last key, and the value of the member id
	isKey             bool   // what follows at depth 1 is a key
	request           bool   // it has a method
	id                []byte
}

// maxSkimmed is the most bytes kept of a key or an id.
const maxSkimmed = 64

// Write takes the next bytes of the message.
func (s *skim) Write(p []byte) (int, error) {
	for _, c := range p {
		s.take(c)
	}
	return len(p), nil
}

func (s *skim) take(c byte) {
	switch {
	case s.escaped:
		s.escaped = false
	case s.inString && c == '\\':
		s.escaped = true
	case c == '"':
		s.inString = !s.inString
		if s.inString && s.depth == 1 && s.isKey {
			s.key = s.key[:0]
			return
		}
	case s.inString:
	case c == '{' || c == '[':
		s.depth++
		s.isKey = s.depth == 1
		return
	case c == '}' || c == ']':
		if s.depth--; s.depth == 0 {
			s.member()
		}
		return
	case s.depth == 1 && c == ',':
		s.member()
		s.isKey = true
		return
	case s.depth == 1 && c == ':':
		s.isKey, s.value = false, s.value[:0]
		return
	}
	switch {
	case s.depth != 1:
	case s.isKey && s.inString && len(s.key) < maxSkimmed:
		s.key = append(s.key, c)
	case !s.isKey && len(s.value) < maxSkimmed && c > ' ':
		s.value = append(s.value, c)
	}
}

// member ends a member at depth 1.
func (s *skim) member() {
	switch string(s.key) {
	case "id":
		s.id = append(s.id[:0], s.value...)
	case "method":
		s.request = true
	}
	s.key, s.value = s.key[:0], s.value[:0]
}

// answers returns the id of the request that the message answers, "" if it is no response.
func (s *skim) answers() string {
	if s.request {
		return ""
	}
	return numberOf(s.id)
}
