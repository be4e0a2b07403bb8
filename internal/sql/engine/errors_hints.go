package engine

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// improve adds what DuckDB cannot know: the signature of a declared function, and
// similar names.
func (db *DB) improve(out *Error, e *duckError, v *verdict, cat Names) {
	out.ofPostgres()
	switch {
	case e.kind == "Binder" && e.subtype == "" && v != nil:
		for _, call := range v.calls {
			if call.offset == out.Offset {
				if f := missingColumn.FindStringSubmatch(e.message); f != nil {
					out.Message = fmt.Sprintf("the table given for %q of %s has no column %q", call.function.tableArg(f[1]),
						call.function.Signature, f[2])
					out.Hint = fmt.Sprintf("give one that has it, or a subquery: (SELECT … AS %s FROM …)", f[2])
					return
				}
				out.Message = fmt.Sprintf("%s does not take these arguments: there is no implicit cast", call.function.Signature)
				out.Hint = "cast them, for example CAST(x AS " + firstType(call.function) + ")"
				return
			}
		}
	case e.subtype == "MISSING_ENTRY" && e.name != "":
		var candidates []string
		switch {
		case e.object == "Table":
			candidates = cat.RelationNames()
		case strings.HasPrefix(e.name, "`"): // DuckDB takes it for an operator
			out.Code, out.Missing, out.Message, out.Hint = errcode.Parse, "", backticks, writeQuotes
			return
		case strings.HasSuffix(e.object, "Function"):
			out.Message = fmt.Sprintf("there is no function %q", e.name)
			candidates = append(cat.FunctionNames(), db.builtins.allowed()...)
			if slices.ContainsFunc(candidates, func(c string) bool { return sqltree.Fold(c) == sqltree.Fold(e.name) }) {
				out.Message, out.Hint = fmt.Sprintf("function %q cannot be called here", e.name), elsewhere(e.name, e.object)
				return
			}
		}
		out.Hint = nearest.Hint(e.name, candidates, out.Hint)
	}
}

// improveRemote is improve for an error of another process, which knows the declared
// functions of the statement alone.
func (db *DB) improveRemote(out *Error, sql string, cat Names) {
	out.ofPostgres()
	if out.Missing != ObjectFunction || out.Hint != "" || out.Offset < 0 {
		return
	}
	if name := calledAt(sql, out.Offset); name != "" {
		out.Hint = db.similarFunction(name, cat)
	}
}

// similarFunction returns the hint at a function with a name like that, or "".
func (db *DB) similarFunction(name string, names Names) string {
	return nearest.Hint(name, append(names.FunctionNames(), db.builtins.allowed()...), "")
}

// jsonContains is DuckDB's error about an operator that PostgreSQL has for jsonb.
var jsonContains = regexp.MustCompile(`^No function matches the given name and argument types '(@>|<@)\((JSON, |.*, JSON\))`)

// ofPostgres adds the hint about what PostgreSQL has and DuckDB, or a view, does not.
func (e *Error) ofPostgres() {
	if rowNumber.MatchString(e.Message) {
		e.Hint = "tables are read through views, whose rows have no number: name the columns of a key, or write " +
			"row_number() OVER ()"
	}
	if strings.HasPrefix(e.Message, "Unexpected prepared parameter") {
		e.Message, e.Hint = "DuckDB takes no parameter here",
			"in RETURNING, write the value itself, or name the column that has it"
	}
	if m := jsonContains.FindStringSubmatch(e.Message); m != nil {
		e.Message = "there is no operator " + m[1] + " for JSON"
		e.Hint = `compare members, as in j->>'a' = '1', or write json_contains(j, '{"a": 1}'), which also finds it deeper inside`
	}
}

// jsonOperator is the hint at another operator that PostgreSQL has for jsonb, or "".
func jsonOperator(text string) string {
	switch {
	case strings.HasPrefix(text, "#>>"):
		return "write json_extract_string(j, '$.a.b')"
	case strings.HasPrefix(text, "#>"):
		return "write json_extract(j, '$.a.b')"
	case strings.HasPrefix(text, "?|"), strings.HasPrefix(text, "?&"):
		return "write json_exists(j, '$.a') for each member, with OR or AND"
	case strings.HasPrefix(text, "? '"), strings.HasPrefix(text, "?'"):
		return "write json_exists(j, '$.a')"
	}
	return ""
}

// calledAt returns the name of the function that is called at an offset, without its schema,
// or "".
func calledAt(sql string, offset int) string {
	name := ""
	for _, t := range sqltree.Scan(sql[offset:]) {
		switch {
		case t.IsName():
			name = t.Name(sql[offset:])
		case !t.Is(sql[offset:], "."):
			return name
		}
	}
	return name
}

// unconverted is DuckDB's error about a text that it cannot cast.
var unconverted = regexp.MustCompile(`(?s)^Could not convert string '(.*)' to `)

// located is the error with the position of the literal that cannot be cast, if it has none
// and one literal alone has the text. An error that hides values has to hide them before: the
// position tells that the value is that of the literal.
func (e *Error) located(sql string) *Error {
	m := unconverted.FindStringSubmatch(e.Message)
	if e.Offset >= 0 || m == nil {
		return e
	}
	at, want := -1, Literal(m[1])
	for _, t := range sqltree.Scan(sql) {
		if t.Kind == sqltree.String && t.Text(sql) == want {
			if at >= 0 {
				return e
			}
			at = t.Start
		}
	}
	if at < 0 {
		return e
	}
	return e.at(sql, at)
}

// quoted adds to the hint about a column that is not there that it may be a text in the
// quotes of another system.
func (e *Error) quoted(sql string) {
	if e.Missing != ObjectColumn || e.Offset < 0 || strings.HasPrefix(e.Hint, "did you mean") {
		return
	}
	if q := quotation(sql[e.Offset:]); q != "" {
		e.Hint = strings.TrimPrefix(e.Hint+"; "+q, "; ")
	}
}

// rowNumber is DuckDB's error about a column that it or PostgreSQL adds to tables.
var rowNumber = regexp.MustCompile(`^Referenced column "(rowid|ctid)" not found|have a column named "(rowid|ctid)"`)

// quotation returns how a text that starts with other quotes than those of texts is
// written, or "".
func quotation(text string) string {
	for _, quotes := range [][2]string{{`"`, `"`}, {"‘", "’"}, {"’", "’"}, {"“", "”"}, {"„", "“"}} {
		if rest, ok := strings.CutPrefix(text, quotes[0]); ok {
			if inside, _, ok := strings.Cut(rest, quotes[1]); ok {
				return "text is written in single quotes: '" + truncate.Ellipsis(inside, maxQuoted) + "'"
			}
		}
	}
	return ""
}

// maxQuoted is how many bytes of a text a hint shows.
const maxQuoted = 40

// The error about names in the quotes of MySQL.
const (
	backticks   = "names are not quoted with `"
	writeQuotes = "write them in double quotes, or without quotes"
)

// suggestedType is the end of DuckDB's error about a type that is not there.
var suggestedType = regexp.MustCompile(`\nDid you mean "(?:main\.)?([^"]+)"`)

// typeHint is the hint of DuckDB's error about a type of a name that is not there. DuckDB
// suggests a type however far its name is.
func typeHint(name, message string) string {
	hint := "docs/types.md lists the types"
	if m := suggestedType.FindStringSubmatch(message); m != nil && nearest.Name(name, m[1:]) != "" {
		return fmt.Sprintf("did you mean %q? %s", m[1], hint)
	}
	return hint
}

// syntaxError is the error of DuckDB's parser in text, with a hint if what is wrong is of
// another system.
func syntaxError(text string, e *sqltree.SyntaxError) *Error {
	message, hint := e.Message, ""
	tokens := sqltree.Scan(text)
	at := slices.IndexFunc(tokens, func(t sqltree.Token) bool { return t.Start == e.Offset })
	switch {
	case message == "errhint NOT IMPLEMENTED":
		message, hint = "LIMIT takes one number", "write LIMIT count OFFSET start"
	case e.Offset >= 0 && e.Offset < len(text) && text[e.Offset] == '`':
		message, hint = backticks, writeQuotes
	case at > 0 && jsonOperator(text[e.Offset:]) != "":
		hint = jsonOperator(text[e.Offset:])
	case at == 2 && sqltree.Are(text, tokens, 0, "show") && sqltree.Are(text, tokens, 1, "columns"):
		hint = "write DESCRIBE and the name of the table"
	case at > 2 && sqltree.Are(text, tokens, at-2, "except") && tokens[at-1].Is(text, "(") && tokens[at-3].Is(text, "*"):
		hint = "write * EXCLUDE (…) for all columns but some; EXCEPT subtracts the rows of a SELECT"
	case at > 0 && strings.EqualFold(tokens[at-1].Text(text), "top"):
		hint = "write LIMIT " + truncate.Ellipsis(tokens[at].Text(text), maxQuoted) + " at the end, and no TOP"
	}
	return NewError(errcode.Parse, hint, "%s", message).at(text, e.Offset)
}

// syntaxError is syntaxError, whose hint may be to quote the name of a column.
func (c *conn) syntaxError(text string, syntax *sqltree.SyntaxError) *Error {
	e := syntaxError(text, syntax)
	if e.Hint == "" {
		e.Hint = c.quoteColumn(text, syntax.Offset)
	}
	return e
}

// quoteColumn is the hint of a syntax error at or after a keyword that is the name of a
// column, perhaps: it is where a value is expected, and the statement is right with quotes.
// Else it is "".
func (c *conn) quoteColumn(text string, offset int) string {
	tokens := sqltree.Scan(text)
	at := slices.IndexFunc(tokens, func(t sqltree.Token) bool { return t.Start >= offset })
	if at < 0 {
		at = len(tokens)
	}
	for i := min(at, len(tokens)-1); i > 0 && i >= at-1; i-- {
		word, before := sqltree.Fold(tokens[i].Text(text)), tokens[i-1].Text(text)
		value := tokens[i-1].Kind == sqltree.Symbol && before != ")" || sqltree.Reserved(before, []string{before}) != ""
		if tokens[i].Kind != sqltree.Ident || !keywords[word] || word == "from" || !value {
			continue
		}
		edit := func(t sqltree.Token) sqltree.Edit {
			return sqltree.Edit{Span: sqltree.Span{Start: t.Start, End: t.End}, New: Identifier(word)}
		}
		var all []sqltree.Edit
		for _, t := range tokens {
			if t.Kind == sqltree.Ident && sqltree.Fold(t.Text(text)) == word {
				all = append(all, edit(t))
			}
		}
		for _, edits := range [][]sqltree.Edit{all, {edit(tokens[i])}} { // SELECT * FROM select has a name once
			quoted, _ := sqltree.Apply(text, edits)
			tree, err := c.serialize(quoted)
			if err != nil {
				continue
			}
			if _, err := sqltree.Parse(tree, sqltree.Options{}); err == nil {
				return "write a name that is a keyword in double quotes: " + Identifier(word)
			}
		}
	}
	return ""
}

// windowFunctions are DuckDB's functions that need OVER.
var windowFunctions = strings.Fields("row_number rank rank_dense dense_rank percent_rank cume_dist ntile lag lead " +
	"first first_value last last_value nth_value fill")

// elsewhere is a hint where a function of another kind can be called.
func elsewhere(name, kind string) string {
	switch {
	case slices.Contains(windowFunctions, sqltree.Fold(name)):
		return "it is a window function: write " + name + "(…) OVER (…)"
	case strings.HasPrefix(kind, "Table"):
		return "it returns a value: call it in SELECT"
	}
	return "it returns rows: call it in FROM"
}

// Source is the name under which the body of a table function reads its n-th
// table argument, counted from 1.
func Source(n int) string { return fmt.Sprintf("__spiced_source_%d", n) }

// missingColumn is DuckDB's error about a column that a [Source] lacks.
var missingColumn = regexp.MustCompile(`"__spiced_source_(\d+)" does not have a column named "(.*)"`)

// tableArg returns the name of the table argument with that number.
func (f *Function) tableArg(number string) string {
	n, _ := strconv.Atoi(number)
	for _, a := range f.Args {
		if n--; n == 0 {
			return a.Name
		}
	}
	return number
}

func firstType(f *Function) string {
	for _, a := range f.Args {
		if !a.Table {
			return a.Type
		}
	}
	return "VARCHAR"
}

// refusePivot explains why DuckDB does not see one SELECT: a PIVOT without values
// makes it find them with a first statement. The word is reserved.
func refusePivot(text string, tokens []sqltree.Token, syntax *sqltree.SyntaxError) error {
	for i, t := range tokens {
		if sqltree.Are(text, tokens, i, "pivot") || sqltree.Are(text, tokens, i, "pivot_wider") {
			return NewError(errcode.Refused, "name the values that become columns: PIVOT t ON year IN (2023, 2024) USING sum(v)",
				"PIVOT without IN is refused: its columns would depend on the data").at(text, t.Start)
		}
	}
	return NewError(errcode.Parse, "", "%s", syntax.Message)
}
