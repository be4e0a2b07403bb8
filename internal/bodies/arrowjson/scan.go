package arrowjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// scanner reads JSON that is valid.
type scanner struct {
	data []byte
	at   int
}

// peek returns the first byte of the next value, or 0 at the end.
func (s *scanner) peek() byte {
	for s.at < len(s.data) {
		switch c := s.data[s.at]; c {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return c
		}
	}
	return 0
}

// skip skips the next value and returns its text.
func (s *scanner) skip() []byte {
	first := s.peek()
	from := s.at
	switch first {
	case '"':
		s.text()
	case '[', '{':
		for depth := 0; s.at < len(s.data); {
			switch s.data[s.at] {
			case '"':
				s.text()
				continue
			case '[', '{':
				depth++
			case ']', '}':
				depth--
			}
			s.at++
			if depth == 0 {
				break
			}
		}
	default:
		if n := bytes.IndexAny(s.data[s.at:], ",]} \t\r\n"); n >= 0 {
			s.at += n
		} else {
			s.at = len(s.data)
		}
	}
	return s.data[from:s.at]
}

// text skips a string and returns it with its quotes.
func (s *scanner) text() []byte {
	from := s.at
	for s.at++; s.at < len(s.data); s.at++ {
		switch s.data[s.at] {
		case '\\':
			s.at++
		case '"':
			s.at++
			return s.data[from:s.at]
		}
	}
	return s.data[from:]
}

// unquote returns what a string of JSON holds. What is not UTF-8 becomes U+FFFD.
func unquote(quoted []byte) string {
	if inner := quoted[1 : len(quoted)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	var text string
	_ = json.Unmarshal(quoted, &text) // it is valid
	return text
}

var (
	errNoList   = errors.New("not a list")
	errNoObject = errors.New("not an object")
)

// elements calls f at each element of a list, which f reads.
func (s *scanner) elements(f func() error) error {
	if s.peek() != '[' {
		return errNoList
	}
	s.at++
	for s.peek() != ']' {
		if err := f(); err != nil {
			return err
		}
		if s.peek() == ',' {
			s.at++
		}
	}
	s.at++
	return nil
}

// members calls f at the value of each member of an object, which f reads.
func (s *scanner) members(f func(key string) error) error {
	if s.peek() != '{' {
		return errNoObject
	}
	s.at++
	for s.peek() != '}' {
		key := unquote(s.text())
		if s.peek() == ':' {
			s.at++
		}
		s.peek()
		if err := f(key); err != nil {
			return err
		}
		if s.peek() == ',' {
			s.at++
		}
	}
	s.at++
	return nil
}

// Member returns the value of a member of a valid object, or nil if there is none.
func Member(object []byte, name string) (raw []byte, err error) {
	s := scanner{data: object}
	err = s.members(func(key string) error {
		value := s.skip()
		if key == name {
			raw = value
		}
		return nil
	})
	return raw, err
}
