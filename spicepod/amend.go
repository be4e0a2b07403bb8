package spicepod

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// ToolTexts are texts for the declaration of a tool; empty ones leave it as it is.
type ToolTexts struct {
	// Line and Column are where the entry of the function, the tool or the agent begins: see
	// [Pod.At]. An entry of an MCP server gets documents for Tool.
	Line, Column int
	Tool         string

	Description, WhenToUse, NotFor string
}

// useKeys are the keys that [ToolTexts.AmendIn] writes, in their order.
var useKeys = []string{"description", "when_to_use", "not_for"}

func (t ToolTexts) value(key string) string {
	return map[string]string{"description": t.Description, "when_to_use": t.WhenToUse, "not_for": t.NotFor}[key]
}

// AmendIn returns the text of a YAML file with the texts in the entry. Everything else in it,
// comments and blank lines too, stays as it is written. The texts are quoted, and the new file is
// read again: the error is [ErrNoPlace] if it differs from the old one in anything else.
func (t ToolTexts) AmendIn(text string) (string, error) {
	root, err := rootOf(text)
	if err != nil {
		return "", err
	}
	entry := mappingAt(root, t.Line, t.Column)
	if entry == nil {
		return "", ErrNoPlace
	}
	newline := "\n"
	if strings.Contains(text, "\r\n") {
		newline = "\r\n"
	}
	e := &lineEditor{lines: strings.SplitAfter(text, "\n"), newline: newline}
	if last := len(e.lines) - 1; e.lines[last] != "" {
		e.lines[last] += newline
	}
	if t.Tool == "" {
		e.write(entry, t)
	} else {
		e.writeDocument(entry, t)
	}
	amended := strings.Join(e.lines, "")
	if e.lost || !t.isAll(text, amended) {
		return "", ErrNoPlace
	}
	return amended, nil
}

// lineEditor changes whole lines of a file.
type lineEditor struct {
	lines   []string
	newline string
	lost    bool // there is no line for a text
}

// write puts the texts into a mapping: in place of a text of one line, or after the name.
func (e *lineEditor) write(m *yaml.Node, t ToolTexts) {
	if inBraces(m) {
		e.writeInBraces(m, t)
		return
	}
	indent := strings.Repeat(" ", m.Column-1)
	after := m.Line
	var added []string
	for _, key := range slices.Backward(useKeys) { // from the last line to the first
		value := t.value(key)
		k, v := keyOf(m, key)
		switch {
		case value == "":
		case k == nil:
			added = append([]string{indent + key + ": " + quoted(value) + e.newline}, added...)
		case v.Line != k.Line || v.Kind != yaml.ScalarNode || k.Line == m.Line:
			e.lost = true
		default:
			line := indent + key + ": " + quoted(value)
			if v.LineComment != "" {
				line += " " + v.LineComment
			}
			e.lines[k.Line-1] = line + e.newline
		}
	}
	e.lines = slices.Insert(e.lines, after, added...)
}

// writeDocument puts the texts into the entry of documents for a tool of a server.
func (e *lineEditor) writeDocument(server *yaml.Node, t ToolTexts) {
	indent, after := strings.Repeat(" ", server.Column-1), server.Line
	var added []string
	key, list := keyOf(server, "documents")
	switch {
	case key == nil && inBraces(server):
		e.insertAfterFirst(server, "documents: ["+t.document()+"]")
		return
	case key == nil:
		added, indent = []string{indent + "documents:" + e.newline}, indent+"  "
	case list.Kind != yaml.SequenceNode || !inBraces(list) && (len(list.Content) == 0 || list.Content[0].Column < 3):
		e.lost = true
		return
	default:
		for _, item := range list.Content {
			if _, name := keyOf(item, "tool"); name != nil && name.Value == t.Tool {
				e.write(item, t)
				return
			}
		}
		if inBraces(list) {
			text := t.document()
			if len(list.Content) > 0 {
				text += ", "
			}
			e.replace(list.Line, list.Column, 0, 1, text)
			return
		}
		after, indent = key.Line, strings.Repeat(" ", list.Content[0].Column-3)
	}
	added = append(added, indent+"- tool: "+quoted(t.Tool)+e.newline)
	for _, key := range useKeys {
		if value := t.value(key); value != "" {
			added = append(added, indent+"  "+key+": "+quoted(value)+e.newline)
		}
	}
	e.lines = slices.Insert(e.lines, after, added...)
}

// inBraces reports whether a mapping or a list is written in braces or brackets.
func inBraces(node *yaml.Node) bool { return node.Style&yaml.FlowStyle != 0 }

// document is an entry of documents in braces.
func (t ToolTexts) document() string {
	return "{ " + strings.Join(append([]string{"tool: " + quoted(t.Tool)}, t.pairs(useKeys)...), ", ") + " }"
}

// pairs returns keys with their texts, those that have one.
func (t ToolTexts) pairs(keys []string) (list []string) {
	for _, key := range keys {
		if value := t.value(key); value != "" {
			list = append(list, key+": "+quoted(value))
		}
	}
	return list
}

// writeInBraces puts the texts into a mapping in braces, from the last pair to the first: in place
// of texts of one line, and after the first pair.
func (e *lineEditor) writeInBraces(m *yaml.Node, t ToolTexts) {
	absent := slices.DeleteFunc(slices.Clone(useKeys), func(key string) bool { k, _ := keyOf(m, key); return k != nil })
	for i := len(m.Content) - 2; i >= 0; i -= 2 {
		v, value, more := m.Content[i+1], t.value(m.Content[i].Value), ""
		if i == 0 {
			more = strings.Join(append([]string{""}, t.pairs(absent)...), ", ")
		}
		switch {
		case value != "":
			e.replace(v.Line, v.Column, e.size(v), 0, quoted(value)+more)
		case more != "":
			e.replace(v.Line, v.Column, 0, e.size(v), more)
		}
	}
}

// insertAfterFirst inserts a text after the first pair of a mapping in braces.
func (e *lineEditor) insertAfterFirst(m *yaml.Node, text string) {
	if len(m.Content) < 2 {
		e.lost = true
		return
	}
	first := m.Content[1]
	e.replace(first.Line, first.Column, 0, e.size(first), ", "+text)
}

// size returns how many characters a scalar of one line has in the file.
func (e *lineEditor) size(scalar *yaml.Node) int {
	text := e.from(scalar.Line, scalar.Column)
	switch {
	case scalar.Kind != yaml.ScalarNode || text == "":
	case scalar.Style&yaml.DoubleQuotedStyle != 0:
		if found := doubleQuoted.FindString(text); found != "" {
			return utf8.RuneCountInString(found)
		}
	case scalar.Style&yaml.SingleQuotedStyle != 0:
		if found := singleQuoted.FindString(text); found != "" {
			return utf8.RuneCountInString(found)
		}
	case strings.HasPrefix(text, scalar.Value):
		return utf8.RuneCountInString(scalar.Value)
	}
	e.lost = true
	return 0
}

var (
	doubleQuoted = regexp.MustCompile(`^"(?:[^"\\]|\\.)*"`)
	singleQuoted = regexp.MustCompile(`^'(?:[^']|'')*'`)
)

// from returns the rest of a line from a column, which counts characters.
func (e *lineEditor) from(line, column int) string {
	if line < 1 || line > len(e.lines) {
		return ""
	}
	characters := []rune(strings.TrimRight(e.lines[line-1], "\r\n"))
	return string(characters[min(column-1, len(characters)):])
}

// replace puts a text in place of some characters of a line: size of them, skip after a column.
func (e *lineEditor) replace(line, column, size, skip int, text string) {
	if e.from(line, column) == "" {
		e.lost = true
		return
	}
	characters := []rune(e.lines[line-1])
	at := column - 1 + skip
	e.lines[line-1] = string(characters[:at]) + text + string(characters[at+size:])
}

// quoted is a text as a double-quoted scalar of YAML, which JSON's texts are.
func quoted(text string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // of a text
	return strings.TrimSuffix(b.String(), "\n")
}

// isAll reports whether the texts are the only difference between two files.
func (t ToolTexts) isAll(before, after string) bool {
	old, new, err := t.without(before)
	changed, entry, err2 := t.without(after)
	if err != nil || err2 != nil || !reflect.DeepEqual(old, changed) {
		return false
	}
	for _, key := range useKeys {
		want, was := t.value(key), new[key]
		if got := entry[key]; want != "" && got != want || want == "" && !reflect.DeepEqual(got, was) {
			return false
		}
	}
	return true
}

// without returns a file without what the texts may change, and that.
func (t ToolTexts) without(text string) (rest any, texts map[string]any, err error) {
	root, err := rootOf(text)
	if err != nil {
		return nil, nil, err
	}
	entry := mappingAt(root, t.Line, t.Column)
	if entry == nil {
		return nil, nil, ErrNoPlace
	}
	texts = map[string]any{}
	if t.Tool != "" {
		if entry, err = cutDocument(entry, t.Tool); err != nil {
			return nil, nil, err
		}
	}
	if entry != nil {
		for _, key := range useKeys {
			if value := cutKey(entry, key); value != nil {
				var decoded any
				err = value.Decode(&decoded)
				texts[key] = decoded
			}
		}
	}
	if err != nil {
		return nil, nil, err
	}
	return rest, texts, root.Decode(&rest)
}

// cutDocument removes the entry of documents for a tool and returns it, or nil. Documents that
// become empty are removed as a whole.
func cutDocument(server *yaml.Node, tool string) (*yaml.Node, error) {
	_, list := keyOf(server, "documents")
	if list == nil {
		return nil, nil
	}
	if list.Kind != yaml.SequenceNode {
		return nil, ErrNoPlace
	}
	var cut *yaml.Node
	list.Content = slices.DeleteFunc(list.Content, func(item *yaml.Node) bool {
		_, name := keyOf(item, "tool")
		if name == nil || name.Value != tool || cut != nil {
			return false
		}
		cut = item
		return true
	})
	if len(list.Content) == 0 {
		cutKey(server, "documents")
	}
	if cut != nil {
		for i := 0; i < len(cut.Content); i += 2 {
			if key := cut.Content[i].Value; key != "tool" && key != "examples" && !slices.Contains(useKeys, key) {
				return nil, fmt.Errorf("%w: a key %q", ErrNoPlace, key)
			}
		}
	}
	return cut, nil
}

func rootOf(text string) (*yaml.Node, error) {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return nil, err
	}
	if document.Kind != yaml.DocumentNode {
		return nil, ErrNoPlace
	}
	return document.Content[0], nil
}

// mappingAt returns the mapping that begins at a position, or nil.
func mappingAt(node *yaml.Node, line, column int) *yaml.Node {
	if node.Kind == yaml.MappingNode && node.Line == line && node.Column == column {
		return node
	}
	if node.Kind == yaml.AliasNode {
		return nil
	}
	for _, child := range node.Content {
		if found := mappingAt(child, line, column); found != nil {
			return found
		}
	}
	return nil
}

// keyOf returns a key of a mapping and its value, or nil.
func keyOf(m *yaml.Node, name string) (key, value *yaml.Node) {
	if m.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == name {
			return m.Content[i], m.Content[i+1]
		}
	}
	return nil, nil
}

// cutKey removes a key of a mapping and returns its value, or nil.
func cutKey(m *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == name {
			value := m.Content[i+1]
			m.Content = slices.Delete(m.Content, i, i+2)
			return value
		}
	}
	return nil
}
