package spicepod

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// parseYAML parses the only YAML document of a file. The problem is nil if there is exactly
// one, and it is not empty.
func parseYAML(src *source) (*yaml.Node, *Problem) {
	if strings.TrimSpace(src.text) == "" {
		return nil, ptr(src.problem(0, "", "the file is empty", ""))
	}
	decoder := yaml.NewDecoder(strings.NewReader(src.text))
	root, err := nextDocument(decoder)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, ptr(syntaxProblem(src, err))
	}
	if root == nil {
		return nil, ptr(src.problem(0, "", "the file is empty", ""))
	}
	second, err := nextDocument(decoder)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, ptr(syntaxProblem(src, err))
	}
	if second != nil {
		at := src.offset(second.Line, second.Column)
		return nil, ptr(src.problem(at, "", "the file contains more than one YAML document",
			"keep one, and remove the --- between them"))
	}
	return root, nil
}

func ptr[T any](v T) *T { return &v }

// nextDocument returns the root of the next document that is not empty, nil at the end of
// the stream.
func nextDocument(decoder *yaml.Decoder) (root *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			root, err = nil, fmt.Errorf("yaml: %v", r)
		}
	}()
	for {
		var document yaml.Node
		if err := decoder.Decode(&document); err != nil {
			return nil, err
		}
		if document.Kind == yaml.DocumentNode && len(document.Content) == 1 && !isNull(document.Content[0]) {
			return document.Content[0], nil
		}
	}
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// reportedLine matches the position in the parser's errors.
var reportedLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// advice rewords the parser's messages.
var advice = []struct{ message, words, hint string }{
	{
		"mapping values are not allowed", `a second ": " on this line, or a key under a value`,
		`put a value that holds ": " in quotes, and the keys of one mapping at the same indentation`,
	},
	{
		"did not find expected key", "this line does not fit the mapping around it",
		"indent it like the keys above it, and close quotes on the line before",
	},
	{
		"did not find expected '-' indicator", "this line does not fit the list around it",
		"start every entry with - at the same indentation, and indent its keys alike",
	},
	{
		"found character that cannot start any token", "a value cannot start with this character",
		"put the value in quotes; indent with spaces, not tabs",
	},
	{"found a tab character", "a tab cannot indent YAML", "indent with spaces"},
	{"did not find expected ',' or ']'", "the list [ is not closed, or a comma is missing", "close it with ]"},
	{"did not find expected ',' or '}'", "the mapping { is not closed, or a comma is missing", "close it with }"},
	{
		"could not find expected ':'", `a key without ": "`,
		`write key: value; text over several lines needs | after its key`,
	},
	{"found unexpected end of stream", "the quote is not closed", "close the quote"},
	{"found unexpected document indicator", "the quote is not closed", "close the quote"},
	{"found unknown escape character", "unknown escape after \\", `write \\ for a backslash, or use single quotes`},
	{"did not find expected node content", "a value is missing here", ""},
	{
		"did not find expected alphabetic or numeric character", "a name is missing after * or &",
		"put the value in quotes if it is text",
	},
	{"exceeded max depth", "the file is nested too deeply", fmt.Sprintf("at most %d levels", MaxDepth)},
}

// syntaxProblem converts a parser error to a Problem at its exact position.
func syntaxProblem(src *source, err error) Problem {
	text := err.Error()
	match := reportedLine.FindStringSubmatch(text)
	message, hint := text, ""
	if match != nil {
		message = text[len(match[0]):]
	}
	for _, a := range advice {
		if strings.HasPrefix(message, a.message) {
			message, hint = a.words, a.hint
			break
		}
	}
	if name, ok := strings.CutPrefix(message, "unknown anchor '"); ok {
		name = strings.TrimSuffix(name, "' referenced")
		message, hint = fmt.Sprintf("the alias *%s has no anchor &%s before it", name, name),
			"put text that starts with * in quotes"
	}
	at := faultOffset(src)
	switch {
	case at >= 0 && strings.HasPrefix(src.text[at:], "\t"):
		message, hint = "a tab cannot indent YAML", "indent with spaces"
	case at > 0 && strings.Contains(text, "did not find expected key") &&
		strings.ContainsRune("'\"", rune(src.text[at-1])):
		message, hint = "text after the closing quote", `inside single quotes write '' for a quote, inside double quotes \"`
	}
	message = "broken YAML: " + message
	if at >= 0 {
		return src.problem(at, "", message, hint)
	}
	reported := 1
	if match != nil && match[1] != "" {
		reported, _ = strconv.Atoi(match[1])
		if strings.Contains(text, "did not find expected") {
			reported++ // the parser, unlike the scanner, counts this line from 0
		}
	}
	problem := src.problem(src.offset(reported, 1), "", message, hint)
	problem.Column = 0
	return problem
}

// faultOffset finds where a file stops being valid YAML: the end of the longest prefix that
// parses. The parser's own line is often that of the enclosing mapping. It returns -1 if the
// search would take too long.
func faultOffset(src *source) int {
	search := faultSearch{text: src.text, budget: syntaxSearchBytes}
	last := search.consumedLine(src.yamlLines)
	line := -1
	for n := last; n >= 0 && n > last-1000; n-- {
		ok, affordable := search.parses(src.yamlLines[n])
		if !affordable {
			return -1
		}
		if ok {
			line = n
			break
		}
	}
	if line < 0 {
		return -1
	}
	start, end := src.yamlLines[line], lineEnd(src.text, src.yamlLines[line])
	for at := end; at > start; at-- {
		ok, affordable := search.parses(at)
		if !affordable {
			break
		}
		if ok {
			return min(at+spaces(src.text[at:end]), end)
		}
	}
	return start + spaces(src.text[start:end])
}

// faultSearch parses prefixes of a text within a budget of bytes.
type faultSearch struct {
	text   string
	budget int
}

// parses reports whether the first n bytes are YAML.
func (s *faultSearch) parses(n int) (ok, affordable bool) {
	openers := strings.Count(s.text[:n], "[") + strings.Count(s.text[:n], "{") // slow when deep
	if s.budget -= n + 64 + 16*openers; s.budget < 0 {
		return false, false
	}
	decoder := yaml.NewDecoder(strings.NewReader(s.text[:n] + "\n"))
	for {
		_, err := nextDocument(decoder)
		if err != nil {
			return errors.Is(err, io.EOF), true
		}
	}
}

// consumedLine is the line up to which the parser reads before it fails.
func (s *faultSearch) consumedLine(starts []int) int {
	reader := &lineReader{text: s.text, starts: starts}
	decoder := yaml.NewDecoder(reader)
	for {
		if _, err := nextDocument(decoder); err != nil {
			return max(0, min(reader.next, len(starts))-1)
		}
	}
}

// lineReader returns one line per Read.
type lineReader struct {
	text   string
	starts []int
	next   int // next line
	rest   string
}

func (r *lineReader) Read(p []byte) (int, error) {
	if r.rest == "" {
		if r.next == len(r.starts) {
			return 0, io.EOF
		}
		end := len(r.text)
		if r.next+1 < len(r.starts) {
			end = r.starts[r.next+1]
		}
		r.rest = r.text[r.starts[r.next]:end]
		r.next++
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
