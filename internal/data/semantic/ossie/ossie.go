// Package ossie translates metrics between a Spicepod and Apache Ossie's core specification,
// formerly Open Semantic Interchange: one file of datasets, relationships and metrics
// (https://github.com/apache/ossie, core-spec, 0.2.0.dev0).
//
// What the other side has no place for is a [Note]: nothing is left out silently. A declaration
// that Ossie cannot express whole is kept next to its expression, under custom_extensions of the vendor
// SPICED, so that a file that comes back unchanged is imported as it was.
package ossie

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// Version is the version of the specification that is written. MaxFile limits a file that is read.
const (
	Version = "0.2.0.dev0"
	MaxFile = 8 << 20
)

// versions are those that are read: their datasets, relationships and metrics have one form.
var versions = []string{"0.1", "0.1.0", "0.1.1", "0.2.0.dev0", "1.0"}

// vendor is the vendor of our custom extensions.
const vendor = "SPICED"

// Note says what could not be carried, and where it is.
type Note struct {
	Line int // of a file of Ossie; 0: see Path
	Path string
	Text string
}

// String is the note on one line.
func (n Note) String() string {
	if n.Line > 0 {
		return fmt.Sprintf("line %d: %s: %s", n.Line, n.Path, n.Text)
	}
	return n.Path + ": " + n.Text
}

// Parse returns DuckDB's parse tree of a SELECT.
type Parse func(text string) (*sqltree.Statement, error)

// file is a document of Ossie.
type file struct {
	Version       string  `yaml:"version"`
	SemanticModel []model `yaml:"semantic_model"`
}

type model struct {
	Name          string         `yaml:"name"`
	Description   string         `yaml:"description,omitempty"`
	Datasets      []dataset      `yaml:"datasets"`
	Relationships []relationship `yaml:"relationships,omitempty"`
	Metrics       []metric       `yaml:"metrics,omitempty"`
}

type dataset struct {
	Name        string      `yaml:"name"`
	Source      string      `yaml:"source"`
	PrimaryKey  []string    `yaml:"primary_key,omitempty,flow"`
	UniqueKeys  [][]string  `yaml:"unique_keys,omitempty,flow"`
	Description string      `yaml:"description,omitempty"`
	AIContext   *aiContext  `yaml:"ai_context,omitempty"`
	Fields      []field     `yaml:"fields,omitempty"`
	Extensions  []extension `yaml:"custom_extensions,omitempty"`
}

type field struct {
	Name        string      `yaml:"name"`
	Expression  expression  `yaml:"expression"`
	Dimension   *dimension  `yaml:"dimension,omitempty"`
	Description string      `yaml:"description,omitempty"`
	AIContext   *aiContext  `yaml:"ai_context,omitempty"`
	Extensions  []extension `yaml:"custom_extensions,omitempty"`
}

type dimension struct {
	IsTime bool `yaml:"is_time"`
}

type relationship struct {
	Name        string      `yaml:"name"`
	From        string      `yaml:"from"`
	To          string      `yaml:"to"`
	FromColumns []string    `yaml:"from_columns,flow"`
	ToColumns   []string    `yaml:"to_columns,flow"`
	Extensions  []extension `yaml:"custom_extensions,omitempty"`
}

type metric struct {
	Name        string      `yaml:"name"`
	Expression  expression  `yaml:"expression"`
	Description string      `yaml:"description,omitempty"`
	AIContext   *aiContext  `yaml:"ai_context,omitempty"`
	Extensions  []extension `yaml:"custom_extensions,omitempty"`
}

type expression struct {
	Dialects []dialect `yaml:"dialects"`
}

type dialect struct {
	Dialect    string `yaml:"dialect"`
	Expression string `yaml:"expression"`
}

type aiContext struct {
	Synonyms []string `yaml:"synonyms,omitempty,flow"`
}

type extension struct {
	Vendor string `yaml:"vendor_name"`
	Data   string `yaml:"data"`
}

func ansi(text string) expression {
	return expression{[]dialect{{"ANSI_SQL", strings.TrimSpace(text)}}}
}

func synonyms(list []string) *aiContext {
	if len(list) == 0 {
		return nil
	}
	return &aiContext{list}
}

// ours returns our extension, with what Ossie has no place for; nil if that is nothing. expression is
// that of the metric that has the extension: the import compares them, to see whether the metric was
// edited since.
func ours(expression string, declared map[string]any) []extension {
	for key, value := range declared {
		switch v := value.(type) {
		case string:
			if v == "" {
				delete(declared, key)
			}
		case bool:
			if !v {
				delete(declared, key)
			}
		case nil:
			delete(declared, key)
		}
	}
	if len(declared) == 0 {
		return nil
	}
	if expression != "" {
		declared["expression"] = expression
	}
	data, err := json.Marshal(declared)
	if err != nil {
		return nil
	}
	return []extension{{vendor, string(data)}}
}

// encode writes a document with two spaces a level.
func encode(v any) ([]byte, error) {
	var b strings.Builder
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	return []byte(b.String()), nil
}

// parsed is an expression with the places of its columns and calls.
type parsed struct {
	text   string
	st     *sqltree.Statement
	tokens []sqltree.Token
}

const start = "SELECT "

func parseExpression(text string, parse Parse) (*parsed, error) {
	p := &parsed{text: start + text + "\n"}
	var err error
	if p.st, err = parse(p.text); err != nil {
		return nil, errors.New(engine.AsError(err).Message) // its position is one in a part of the document
	}
	if s := p.st.Shape; !s.Plain || s.From || s.Columns != 1 || s.Alias || s.Star || p.st.Subquery {
		return nil, fmt.Errorf("%q is not one expression without subqueries", text)
	}
	p.tokens = sqltree.Scan(p.text)
	return p, nil
}

// span returns the place of a column with all its parts.
func (p *parsed) span(c sqltree.Column) (sqltree.Span, bool) {
	i := slices.IndexFunc(p.tokens, func(t sqltree.Token) bool { return t.Start == c.Offset })
	last := i + 2*(len(c.Parts)-1)
	if i < 0 || last >= len(p.tokens) {
		return sqltree.Span{}, false
	}
	return sqltree.Span{Start: p.tokens[i].Start, End: p.tokens[last].End}, true
}

// call returns the place of a call, with its FILTER clause if it has one.
func (p *parsed) call(c sqltree.Call) (whole sqltree.Span, filtered, ok bool) {
	i := slices.IndexFunc(p.tokens, func(t sqltree.Token) bool { return t.Start == c.Offset })
	if i < 0 {
		return whole, false, false
	}
	whole.Start = p.tokens[i].Start
	for !p.tokens[i].Is(p.text, "(") {
		if i++; i >= len(p.tokens) {
			return whole, false, false
		}
	}
	end := p.closing(i)
	if end < 0 {
		return whole, false, false
	}
	if filtered = sqltree.Are(p.text, p.tokens, end+1, "filter", "("); filtered {
		if end = p.closing(end + 2); end < 0 {
			return whole, true, false
		}
	}
	whole.End = p.tokens[end].End
	return whole, filtered, true
}

// closing returns the token of the bracket that the one at i opens, or -1.
func (p *parsed) closing(i int) int {
	for depth := 0; i < len(p.tokens); i++ {
		if depth += p.tokens[i].Nesting(p.text); depth == 0 {
			return i
		}
	}
	return -1
}

// write returns the expression with what replace returns in place of the columns; "" keeps one.
func (p *parsed) write(replace func(sqltree.Column) string, more ...sqltree.Edit) (string, bool) {
	edits := slices.Clone(more)
	for _, c := range p.st.Columns {
		text := replace(c)
		if text == "" {
			continue
		}
		span, ok := p.span(c)
		if !ok {
			return "", false
		}
		edits = append(edits, sqltree.Edit{Span: span, New: text})
	}
	slices.SortFunc(edits, func(a, b sqltree.Edit) int { return a.Start - b.Start })
	out, _ := sqltree.Apply(p.text, edits)
	return strings.TrimSpace(strings.TrimPrefix(out, start)), true
}
