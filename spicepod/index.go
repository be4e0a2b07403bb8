package spicepod

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// located is a node and its file.
type located struct {
	node *yaml.Node
	src  *source
}

// index has the positions of all values. Look-ups walk the YAML tree, so that a load does
// not compute positions that no one needs.
type index struct {
	root      located
	refs      map[*yaml.Node]located // `ref:` entry to the component it names
	texts     map[*yaml.Node]*source // body_ref or sql_ref value to its file
	files     map[string]bool        // every path read or looked for
	notServed []unserved
	unset     map[string][]Unset // by component
	variables map[string]Variable
}

// unserved is a key of a Spicepod that has no effect.
type unserved struct {
	path  string
	shown string // the path, with the value if it is that which is not served
	hint  string
}

func newIndex() *index {
	return &index{
		refs:  map[*yaml.Node]located{},
		texts: map[*yaml.Node]*source{},
		files: map[string]bool{},
		unset: map[string][]Unset{},
	}
}

// segment is one step of a path: a key, or an index when key is empty and
// isIndex is set.
type segment struct {
	key     string
	index   int
	isIndex bool
}

// appendTo writes the segment in path form: a[0].b, or ["odd key"].
func (s segment) appendTo(b []byte) []byte {
	if s.isIndex {
		return append(strconv.AppendInt(append(b, '['), int64(s.index), 10), ']')
	}
	if !plainKey(s.key) {
		return append(strconv.AppendQuote(append(b, '['), s.key), ']')
	}
	if len(b) > 0 {
		b = append(b, '.')
	}
	return append(b, s.key...)
}

func pathString(path []segment) string {
	var b []byte
	for _, s := range path {
		b = s.appendTo(b)
	}
	return string(b)
}

// plainKey reports whether a key needs no quotes in a path.
func plainKey(key string) bool {
	const plainLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	return key != "" && strings.Trim(key, plainLetters) == ""
}

// parsePath parses a path written by pathString. It stops at a syntax error.
func parsePath(path string) []segment {
	var segments []segment
	for path != "" {
		path = strings.TrimPrefix(path, ".")
		if strings.HasPrefix(path, `["`) {
			quoted, err := strconv.QuotedPrefix(path[1:])
			if err != nil {
				return segments
			}
			key, _ := strconv.Unquote(quoted)
			segments = append(segments, segment{key: key})
			path = strings.TrimPrefix(path[1+len(quoted):], "]")
			continue
		}
		if strings.HasPrefix(path, "[") {
			number, rest, _ := strings.Cut(path[1:], "]")
			n, err := strconv.Atoi(number)
			if err != nil {
				return segments
			}
			segments = append(segments, segment{index: n, isIndex: true})
			path = rest
			continue
		}
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			end = len(path)
		}
		if end == 0 {
			return segments
		}
		segments = append(segments, segment{key: path[:end]})
		path = path[end:]
	}
	return segments
}

// place is the target of a path: the value, its key, and the file of a value that was
// read from body_ref or sql_ref.
type place struct {
	value, key located
	text       *source
	complete   bool // false if it is a parent of the path
}

// find walks to the value at path, or to the last one on the way that exists.
func (x *index) find(path []segment) place {
	at := place{value: x.root, key: x.root}
	for i, s := range path {
		current := x.resolve(at.value)
		next, ok := x.step(current, s)
		if !ok {
			if i == len(path)-1 && !s.isIndex {
				if ref, ok := x.step(current, segment{key: s.key + "_ref"}); ok {
					ref.text = x.texts[ref.value.node]
					ref.complete = true
					return ref
				}
			}
			return at
		}
		at = next
	}
	at.complete = true
	return at
}

// resolve follows a `ref:` entry to its component, and an alias to its anchor.
func (x *index) resolve(at located) located {
	for range MaxDepth {
		if at.node == nil {
			return at
		}
		if target, ok := x.refs[at.node]; ok {
			at = target
		} else if at.node.Kind == yaml.AliasNode {
			at.node = at.node.Alias
		} else {
			return at
		}
	}
	return at
}

func (x *index) step(at located, s segment) (place, bool) {
	if at.node == nil {
		return place{}, false
	}
	if s.isIndex {
		if at.node.Kind != yaml.SequenceNode || s.index < 0 || s.index >= len(at.node.Content) {
			return place{}, false
		}
		item := located{at.node.Content[s.index], at.src}
		return place{value: item, key: item}, true
	}
	if at.node.Kind != yaml.MappingNode {
		return place{}, false
	}
	entries, _ := entriesOf(at.node)
	for _, e := range entries {
		if keyText(e.key) == s.key {
			return place{value: located{e.value, at.src}, key: located{e.key, at.src}}, true
		}
	}
	return place{}, false
}

func (l located) position() Position {
	if l.src == nil {
		return Position{}
	}
	if l.node == nil {
		return Position{File: l.src.shown, Line: 1, Column: 1}
	}
	return l.src.position(l.src.offset(l.node.Line, l.node.Column))
}

func (l located) problem(path, message, hint string) Problem {
	pos := l.position()
	problem := Problem{Position: pos, Path: path, Message: message, Hint: hint}
	if l.src != nil {
		problem.Source = l.src.shownLine(path, pos.Line)
	}
	return problem
}
