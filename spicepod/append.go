package spicepod

import (
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// NewDataset is an entry to add to the `datasets:` of a Spicepod.
type NewDataset struct {
	From, Name  string
	Params      []NewParam
	Accelerated bool
}

// NewParam is a param of a [NewDataset]. Its value is written as it is: a value that must
// not be in the file is a reference.
type NewParam struct{ Name, Value string }

// ErrNoPlace means that the text of a Spicepod has no place that an entry can be inserted
// at, such as a `datasets:` that is an alias.
var ErrNoPlace = errors.New("the file is not written in a way that an entry can be inserted in")

// YAML returns the entry as it is written below `datasets:`.
func (d NewDataset) YAML() string { return d.block("  ", "\n") }

// AddTo returns the text of a Spicepod with the entry. Everything else in it stays as it is
// written. The error is one of YAML, or [ErrNoPlace].
func (d NewDataset) AddTo(text string) (string, error) {
	src := newSource("", "", text)
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return "", err
	}
	if document.Kind != yaml.DocumentNode || document.Content[0].Kind != yaml.MappingNode {
		return "", ErrNoPlace
	}
	for _, candidate := range d.candidates(src, document.Content[0]) {
		if d.isAdded(text, candidate) {
			return candidate, nil
		}
	}
	return "", ErrNoPlace
}

// candidates are the texts with the entry at each place that it may be meant for. Where a
// block scalar ends, for one, only reading the text shows.
func (d NewDataset) candidates(src *source, root *yaml.Node) []string {
	text, nl := src.text, "\n"
	if strings.Contains(text, "\r\n") {
		nl = "\r\n"
	}
	insert := func(at int, s string) string {
		if at > 0 && !strings.HasSuffix(text[:at], "\n") {
			s = nl + s
		}
		return text[:at] + s + text[at:]
	}
	key := slices.IndexFunc(root.Content, func(n *yaml.Node) bool {
		return n.Value == "datasets" && n.Kind == yaml.ScalarNode
	})
	for key >= 0 && key%2 != 0 { // a value
		next := slices.IndexFunc(root.Content[key+1:], func(n *yaml.Node) bool {
			return n.Value == "datasets" && n.Kind == yaml.ScalarNode
		})
		if key += next + 1; next < 0 {
			key = -1
		}
	}
	if key < 0 {
		return []string{insert(len(text), "datasets:"+nl+d.block("  ", nl))}
	}
	list := root.Content[key+1]
	at := src.offset(list.Line, list.Column)
	switch {
	case isNull(list) || list.Kind == yaml.SequenceNode && len(list.Content) == 0:
		return d.first(src, root.Content[key], at, nl)
	case list.Kind != yaml.SequenceNode:
		return nil
	case list.Style&yaml.FlowStyle != 0:
		between := " "
		if at+1 < len(text) && text[at+1] == ' ' {
			between = ""
		}
		return []string{text[:at+1] + strings.TrimSuffix(" ", between) + d.flow() + "," + between + text[at+1:]}
	}
	end := len(text)
	if key+2 < len(root.Content) {
		end = src.offset(root.Content[key+2].Line, 1)
	}
	indent := strings.Repeat(" ", list.Column-1)
	entry := d.block(indent, nl)
	return []string{insert(trimLines(text, end, indent), entry), insert(end, entry)}
}

// emptyList matches what a `datasets:` without entries is written as.
var emptyList = regexp.MustCompile(`^(\[\s*\]|~|null|Null|NULL)`)

// first returns the texts with the first entry of a list that is null, [] or missing.
func (d NewDataset) first(src *source, key *yaml.Node, at int, nl string) []string {
	text := src.text
	if empty := emptyList.FindString(text[at:]); empty != "" {
		text = strings.TrimRight(text[:at], " ") + text[at+len(empty):]
	}
	end := src.offset(key.Line, key.Column)
	if n := strings.IndexByte(text[end:], '\n'); n >= 0 {
		end += n + 1
	} else {
		text += nl
		end = len(text)
	}
	return []string{text[:end] + d.block("  ", nl) + text[end:]}
}

// trimLines returns the end of the lines before end without the last ones that are blank
// or comments with less indentation: these are about what follows.
func trimLines(text string, end int, indent string) int {
	for end > 0 {
		start := strings.LastIndexByte(text[:end-1], '\n') + 1
		line := strings.TrimSpace(text[start:end])
		comment := strings.HasPrefix(line, "#") && (indent == "" || !strings.HasPrefix(text[start:end], indent))
		if line != "" && !comment {
			break
		}
		end = start
	}
	return end
}

// isAdded reports whether the second text declares what the first one does, and the entry.
func (d NewDataset) isAdded(before, after string) bool {
	var was, is map[string]any
	var entry []any
	if yaml.Unmarshal([]byte(before), &was) != nil || yaml.Unmarshal([]byte(after), &is) != nil ||
		yaml.Unmarshal([]byte(d.YAML()), &entry) != nil {
		return false
	}
	old, _ := was["datasets"].([]any)
	list, _ := is["datasets"].([]any)
	delete(was, "datasets")
	delete(is, "datasets")
	return reflect.DeepEqual(was, is) &&
		(reflect.DeepEqual(list, slices.Concat(old, entry)) || reflect.DeepEqual(list, slices.Concat(entry, old)))
}

// block is the entry as lines of a list with an indentation.
func (d NewDataset) block(indent, nl string) string {
	text, err := encodeYAML(d.node())
	if err != nil { // the nodes are made here, so this cannot fail
		return ""
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return indent + "- " + strings.Join(lines, nl+indent+"  ") + nl
}

// flow is the entry on one line.
func (d NewDataset) flow() string {
	n := d.node()
	n.Style = yaml.FlowStyle
	text, err := encodeYAML(n)
	if err != nil { // the nodes are made here, so this cannot fail
		return ""
	}
	return strings.TrimSpace(text)
}

func encodeYAML(n *yaml.Node) (string, error) {
	var b strings.Builder
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := e.Encode(n)
	return b.String(), errors.Join(err, e.Close())
}

func (d NewDataset) node() *yaml.Node {
	n := mapping("from", text(d.From), "name", text(d.Name))
	if len(d.Params) > 0 {
		params := mapping()
		for _, p := range d.Params {
			params.Content = append(params.Content, text(p.Name), plain(p.Value))
		}
		n.Content = append(n.Content, text("params"), params)
	}
	if d.Accelerated {
		n.Content = append(n.Content, text("acceleration"), mapping("enabled", plain("true")))
	}
	return n
}

func mapping(pairs ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for pair := range slices.Chunk(pairs, 2) {
		n.Content = append(n.Content, text(pair[0].(string)), pair[1].(*yaml.Node))
	}
	return n
}

func text(s string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
}

// unquoted matches values that mean the same with and without quotes.
var unquoted = regexp.MustCompile(`^(true|false|0|[1-9]\d{0,17})$`)

func plain(s string) *yaml.Node {
	n := text(s)
	if unquoted.MatchString(s) {
		n.Tag = ""
	}
	return n
}
