package sqltree

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// SyntaxError is an error of DuckDB's parser.
type SyntaxError struct {
	Message string
	Offset  int    // byte offset in the statement, -1 when unknown
	Type    string // DuckDB's error type: "parser", "not implemented", …; "count" if there is not exactly one statement
}

// Error is DuckDB's message.
func (e *SyntaxError) Error() string { return e.Message }

// Statement lists what a SELECT-like statement names, in the order of the text. CTE
// names are resolved by scope: a reference to one is not a Relation.
type Statement struct {
	Calls     []Call
	Relations []Relation
	Columns   []Column
	Lambdas   []*Lambda
	Reads     []Read // of CTEs
	Types     []Type
	Params    []string    // parameter names or numbers, sorted
	Shows     []string    // SHOW statements without a query: "tables", "databases", …
	Subquery  bool        // holds a subquery expression
	Aggregate bool        // holds GROUP BY, HAVING or QUALIFY
	Shape     Shape       // the outermost SELECT
	Filter    *Filter     // with [Options].Filter; nil: not a SELECT from one table only
	Over      *LimitError // what is over a limit of statements in the runtime's process; nil: nothing
	Costly    []Costly    // what the runtime's process does not compute for a caller, in no order
	LookUp    bool        // see lookUp
}

// Shape describes the outermost query node.
type Shape struct {
	Plain   bool // a single SELECT node without WHERE, GROUP BY, modifiers, CTEs or sample
	From    bool // it has a FROM clause
	Columns int  // entries of the select list
	Alias   bool // one of them has an alias
	Star    bool // one of them is a star
}

// Relation is a reference to a table or view.
type Relation struct {
	Catalog, Schema, Name string
	Offset                int
	Temporal              bool // AT (VERSION …)
	Alias                 string
	Equal                 []Equality // conditions on it
	// Cases are alternatives: each row that matters meets all conditions of one. Unlike Equal
	// they are those of OR, too. nil: there are no conditions.
	Cases [][]Equality
}

// Call is a function call; operators are excluded.
type Call struct {
	Catalog, Schema, Name string
	Offset                int
	Args                  []Arg
	Table                 bool // in FROM
	Alias                 bool // in FROM, with an alias
	Window                bool
	SingleRow             bool // evaluated once: its SELECT has no FROM and no enclosing query has one
	Lambda                bool // inside the body of a lambda
	Entry                 bool // an entry of a select list that is not a subquery of an expression, without an alias
	Inner                 bool // inside a subquery
	Field                 bool // the value of a field of a struct, inside a subquery or a derived table
	Object                bool // its schema is a lambda's parameter: x.f()
}

// ArgKind classifies arguments.
type ArgKind uint8

// The kinds of arguments.
const (
	Expression     ArgKind = iota // anything else
	StringLiteral                 // 'x'
	IntegerLiteral                // 42
	Literal                       // another constant: NULL, 1.5, true, DATE '…'
	Parameter                     // ?, $1, $name
	ColumnRef                     // column, or a table named as an argument
	Query                         // a scalar subquery
)

// Arg is one argument of a [Call].
type Arg struct {
	Name  string // of a named argument, f(x := 1)
	Kind  ArgKind
	Parts []string // of a ColumnRef
	Text  string   // of a StringLiteral
	// Constant is the argument if it is one; nil if it is not.
	Constant *Constant
	// List are the elements of a list of constants, [a, b]; nil of anything else.
	List  []Constant
	CTE   bool     // a ColumnRef or StringLiteral that names a CTE in scope
	Calls []string // lower-case names of every function called inside
	CTEs  []string // folded names of the CTEs around the call that are read inside
	overRows
}

// overRows describes how an argument, outside its subqueries, may depend on more
// than one row.
type overRows struct {
	Many bool     // it has a window function, or a function that returns several rows
	Bare []string // lower-case names of functions in it that read no column
	// Varies says that it has more than literals, parameters, operators and calls: it may
	// depend on a row, a lambda's parameter or a table.
	Varies bool
}

// Column is a column reference. Names bound by an enclosing lambda are not
// references.
type Column struct {
	Parts  []string
	Offset int
	Inner  bool // inside a subquery, where it may refer to a column of the subquery's tables
	Lambda bool // inside the body of a lambda
	JSON   bool // the left side of JSON's ->, which DuckDB's parser reads as a lambda's parameter
}

// Type is a named type that is not built into DuckDB's grammar.
type Type struct{ Catalog, Schema, Name string }

// Options is what [Parse] must know beyond the tree. All fields may be left out.
type Options struct {
	Filter  bool            // find the [Filter]
	Copies  func(Call) bool // the call, not of DuckDB's functions, evaluates an argument more than once or in a subquery
	Inlines bool            // see [Inlines]
}

// Parse decodes the result of json_serialize_sql. A text that DuckDB's parser
// rejected is a [*SyntaxError]. A tree with an unknown node, or a node at an unknown
// position, is an error too, so that nothing is overlooked. One that DuckDB could not
// plan in reasonable time is a [*LimitError].
func Parse(tree []byte, o Options) (*Statement, error) {
	decoded, err := decodeJSON(finite(tree))
	if err != nil {
		return nil, fmt.Errorf("decode the parse tree: %w", err)
	}
	doc, _ := decoded.(map[string]any)
	if failed, _ := doc["error"].(bool); failed {
		return nil, syntaxError(doc)
	}
	statements, _ := doc["statements"].([]any)
	if n := len(statements); n != 1 {
		return nil, &SyntaxError{fmt.Sprintf("expected one statement, got %d", n), -1, "count"}
	}
	statement, _ := statements[0].(map[string]any)
	object, ok := statement["node"].(map[string]any)
	if !ok {
		return nil, errors.New("decode the parse tree: the statement has no node")
	}
	root := node(object)
	w := walker{st: &Statement{Shape: shapeOf(root)}, Options: o, entries: map[int]string{}}
	w.query(root, scope{place: place{single: true}})
	if all := w.st.count(map[string]any(root)); w.err == nil && w.seen != all {
		w.fail("the statement has an expression at a position that is not supported")
	}
	if w.err != nil {
		return nil, w.err
	}
	w.markEntries()
	w.st.sort()
	w.st.Over = outOfBounds(root, w.st)
	w.st.Costly = costlyParts(object, nil)
	w.st.LookUp = lookUp(root) && len(w.st.Relations) == 1 && len(w.st.Relations[0].Equal) > 0
	if o.Filter && !w.st.Subquery && len(w.st.Relations) == 1 {
		w.st.Filter = filterOf(root)
	}
	return w.st, nil
}

// syntaxError returns the error that DuckDB's parser reported.
func syntaxError(doc map[string]any) *SyntaxError {
	text := func(key string) string { s, _ := doc[key].(string); return s }
	offset, err := strconv.Atoi(text("position"))
	if err != nil {
		offset = -1
	}
	return &SyntaxError{text("error_message"), offset, text("error_type")}
}

// finite replaces numbers that JSON cannot represent, such as the Infinity that DuckDB writes
// for the constant 1e1000: the value of a constant decides nothing.
func finite(tree []byte) []byte {
	if !bytes.Contains(tree, []byte("Infinity")) && !bytes.Contains(tree, []byte("NaN")) {
		return tree
	}
	out := make([]byte, 0, len(tree))
	inString := false
	for i := 0; i < len(tree); i++ {
		rest := tree[i:]
		switch {
		case inString && tree[i] == '\\' && len(rest) > 1:
			out = append(out, tree[i])
			i++
		case tree[i] == '"':
			inString = !inString
		case inString:
		case bytes.HasPrefix(rest, []byte("Infinity")):
			i += len("Infinity") - 1
			out = append(out, '0')
			continue
		case bytes.HasPrefix(rest, []byte("NaN")):
			i += len("NaN") - 1
			out = append(out, '0')
			continue
		}
		out = append(out, tree[i])
	}
	return out
}

// addEntries notes the calls that are entries of a select list: their text is the name of a
// column.
func (w *walker) addEntries(list []any) {
	for _, n := range nodes(list) {
		if n.str("class") == "FUNCTION" && n.str("alias") == "" && n.offset() >= 0 {
			w.entries[n.offset()] = n.str("function_name")
		}
	}
}

func (w *walker) markEntries() {
	for i := range w.st.Calls {
		c := &w.st.Calls[i]
		name, is := w.entries[c.Offset]
		c.Entry = is && name == c.Name
	}
}

// sort sorts everything in the order of the text: the walk iterates over maps.
func (st *Statement) sort() {
	slices.SortStableFunc(st.Calls, func(a, b Call) int { return cmp.Compare(a.Offset, b.Offset) })
	slices.SortStableFunc(st.Relations, func(a, b Relation) int { return cmp.Compare(a.Offset, b.Offset) })
	slices.SortStableFunc(st.Columns, func(a, b Column) int { return cmp.Compare(a.Offset, b.Offset) })
	slices.SortStableFunc(st.Lambdas, func(a, b *Lambda) int { return cmp.Compare(a.Offset, b.Offset) })
	slices.SortStableFunc(st.Reads, func(a, b Read) int { return cmp.Compare(a.Offset, b.Offset) })
	slices.Sort(st.Params)
}

// node is an object of the tree.
type node map[string]any

func (n node) str(key string) string { s, _ := n[key].(string); return s }

func (n node) child(key string) node { m, _ := n[key].(map[string]any); return m }

func (n node) list(key string) []any { l, _ := n[key].([]any); return l }

func (n node) flag(key string) bool { is, _ := n[key].(bool); return is }

// nodes returns the elements of a list, nil for those that are no nodes.
func (n node) nodes(key string) []node { return nodes(n.list(key)) }

func nodes(list []any) []node {
	all := make([]node, len(list))
	for i, e := range list {
		all[i], _ = e.(map[string]any)
	}
	return all
}

// lacks reports whether nothing, or an empty list, is under each of the keys.
func (n node) lacks(keys ...string) bool {
	return !slices.ContainsFunc(keys, func(key string) bool {
		list, isList := n[key].([]any)
		return n[key] != nil && (!isList || len(list) > 0)
	})
}

// ctes returns the entries of a WITH clause.
func (n node) ctes() []node { return n.child("cte_map").nodes("map") }

// isTable reports whether a reference in FROM is a table with all its rows and the names of its
// columns.
func (n node) isTable() bool {
	return n.str("type") == "BASE_TABLE" && n.lacks("sample", "column_name_alias")
}

func (n node) offset() int {
	at, ok := n["query_location"].(float64)
	if !ok || at > 1<<31 { // DuckDB's "unknown" is the largest uint64
		return -1
	}
	return int(at)
}

func shapeOf(n node) Shape {
	if n.str("type") != "SELECT_NODE" {
		return Shape{}
	}
	list := n.nodes("select_list")
	s := Shape{Columns: len(list), From: n.child("from_table").str("type") != "EMPTY"}
	for _, e := range list {
		s.Alias = s.Alias || e.str("alias") != ""
		s.Star = s.Star || e.str("class") == "STAR"
	}
	s.Plain = n.str("aggregate_handling") == "STANDARD_HANDLING" && len(n.ctes()) == 0 &&
		n.lacks("where_clause", "having", "qualify", "sample", "modifiers", "group_expressions", "group_sets")
	return s
}

// Identifier quotes a name.
func Identifier(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Fold returns name as DuckDB compares it, quoted or not: ASCII letters are
// lowered. Folding more would confuse distinct names.
func Fold(name string) string {
	if !strings.ContainsFunc(name, isUpper) {
		return name
	}
	b := []byte(name)
	for i, c := range b {
		if isUpper(rune(c)) {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

func isUpper(r rune) bool { return r >= 'A' && r <= 'Z' }
