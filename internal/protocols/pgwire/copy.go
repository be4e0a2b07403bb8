package pgwire

import (
	"cmp"
	"strings"

	"github.com/spiced-sql/spiced/internal/protocols/pgwire/sqlstate"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire/wire"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// copies is what a statement that is a COPY does with rows.
type copies struct {
	copy   *wire.Copy // how they are written; nil: as rows
	copyIn *copyIn    // of COPY FROM; nil: another statement

	input *engine.Input // of the INSERT of a COPY FROM; nil: another statement
}

// copyStatement is a parsed COPY: the query for its rows, where that begins in the
// statement (0 if it is a new text, for a table), and how they are written; or, for COPY
// FROM, a query with the columns of the table.
type copyStatement struct {
	query string
	start int
	out   *wire.Copy
	in    *copyIn
}

// parseCopy reads COPY {table [(columns)] | (query)} TO STDOUT [[WITH] options] and
// COPY table [(columns)] FROM STDIN [[WITH] options].
func parseCopy(w *words) (c copyStatement, err error) {
	var in copyIn
	if w.Is(w.Next, "(") {
		c.query, c.start, err = w.copiedQuery()
	} else if err = w.copiedTable(&in); err == nil {
		c.query = "SELECT " + cmp.Or(in.list, "*") + " FROM " + in.table
	}
	switch {
	case err != nil:
		return c, err
	case in.table != "" && w.Accept("from"):
		if !w.Accept("stdin") {
			return c, sqlstate.Errorf(sqlstate.Unsupported, "COPY … FROM STDIN, and let the client read the file",
				"COPY from a file or a program of the server is not served")
		}
		c.in = &in
	case !w.Accept("to"):
		return c, w.wrong()
	case !w.Accept("stdout"):
		return c, sqlstate.Errorf(sqlstate.Unsupported, "COPY … TO STDOUT, and let the client write the file",
			"COPY to a file or a program of the server is not served")
	}
	given, err := w.copyOptions(c.in != nil)
	if err != nil {
		return c, err
	}
	options, err := given.copy()
	if c.in != nil {
		c.in.from = options
	} else {
		c.out = options
	}
	return c, err
}

// copiesIn reports whether the statement, a COPY, is one FROM.
func (w *words) copiesIn() bool {
	depth := 0
	for i, t := range w.Tokens {
		if depth += t.Nesting(w.SQL); depth == 0 && w.Is(i, "from") {
			return true
		}
	}
	return false
}

// copiedQuery takes a query in parentheses, which only reads.
func (w *words) copiedQuery() (query string, start int, err error) {
	first, depth := w.Next+1, 0
	for ; !w.Done(); w.Next++ {
		if w.Is(w.Next, "(") {
			depth++
		}
		if w.Is(w.Next, ")") {
			if depth--; depth == 0 {
				break
			}
		}
	}
	if w.Done() || w.Next == first {
		return "", 0, w.wrong()
	}
	tokens := w.Tokens[first:w.Next]
	w.Next++
	if verb, _ := verbOf(w.SQL, tokens); verb != "SELECT" {
		return "", 0, sqlstate.Errorf(sqlstate.Unsupported, "copy a SELECT", "COPY of %s is not served", verb)
	}
	start = tokens[0].Start
	return w.SQL[start:tokens[len(tokens)-1].End], start, nil
}

// copiedTable takes a table, with its columns if they are named.
func (w *words) copiedTable(in *copyIn) error {
	first := w.Next
	if _, err := w.settingName(); err != nil {
		return err
	}
	in.table = w.SQL[w.Tokens[first].Start:w.Tokens[w.Next-1].End]
	if !w.Accept("(") {
		return nil
	}
	first = w.Next
	if _, err := w.names(); err != nil {
		return err
	}
	in.list = w.SQL[w.Tokens[first].Start:w.Tokens[w.Next-1].End]
	if !w.Accept(")") {
		return w.wrong()
	}
	return nil
}

// names takes identifiers with commas between.
func (w *words) names() (names []string, err error) {
	for {
		name, err := w.name()
		if err != nil {
			return nil, err
		}
		if names = append(names, name); !w.Accept(",") {
			return names, nil
		}
	}
}

// copyOptions are options as they were written, by their name.
type copyOptions struct {
	from   bool // of COPY FROM
	values map[string]string
	force  []string // the columns of force_quote; * is "*"
}

// copyOptions takes the options in parentheses, or as they were written before
// PostgreSQL 9.0, which psql's users still do: CSV HEADER.
func (w *words) copyOptions(from bool) (given *copyOptions, err error) {
	given = &copyOptions{from: from, values: map[string]string{}}
	if from && w.Is(w.Next, "where") {
		return nil, sqlstate.Errorf(sqlstate.Unsupported, "leave the rows out of what is sent",
			"COPY FROM … WHERE is not served")
	}
	w.Accept("with")
	if !w.Accept("(") {
		for !w.Done() {
			if err := w.oldCopyOption(given); err != nil {
				return nil, err
			}
		}
		return given, nil
	}
	for {
		if err := w.copyOption(given); err != nil {
			return nil, err
		}
		if w.Accept(")") {
			return given, w.end()
		}
		if !w.Accept(",") {
			return nil, w.wrong()
		}
	}
}

func (w *words) copyOption(given *copyOptions) error {
	name, err := w.name()
	if err != nil {
		return err
	}
	value := ""
	switch name {
	case "header":
		if value = "true"; !w.Is(w.Next, ",") && !w.Is(w.Next, ")") {
			value, err = w.copyValue()
		}
	case "force_quote":
		if given.from {
			return onlyOut()
		}
		if star := w.Accept("*"); star {
			given.force = []string{"*"}
		} else if err = w.bracket(&given.force); err != nil {
			return err
		}
	case "format", "delimiter", "null", "quote", "escape", "encoding":
		value, err = w.copyValue()
	case "freeze", "force_not_null", "force_null", "default", "on_error", "log_verbosity", "reject_limit":
		return sqlstate.Errorf(sqlstate.Unsupported, "", "COPY %s is not served", strings.ToUpper(name))
	default:
		return sqlstate.Errorf(sqlstate.Syntax, "", "option %q not recognized", name)
	}
	if err != nil {
		return err
	}
	return given.add(name, value)
}

func onlyOut() error {
	return sqlstate.Errorf(sqlstate.Syntax, "", "COPY FORCE_QUOTE cannot be used with COPY FROM")
}

// bracket takes identifiers in parentheses.
func (w *words) bracket(names *[]string) (err error) {
	if !w.Accept("(") {
		return w.wrong()
	}
	if *names, err = w.names(); err == nil && !w.Accept(")") {
		err = w.wrong()
	}
	return err
}

func (w *words) oldCopyOption(given *copyOptions) (err error) {
	switch {
	case w.Accept("binary"):
		return given.add("format", "binary")
	case w.Accept("csv"):
		return given.add("format", "csv")
	case w.Accept("header"):
		return given.add("header", "true")
	case w.Accept("force", "quote"):
		if given.from {
			return onlyOut()
		}
		if w.Accept("*") {
			given.force = []string{"*"}
		} else if given.force, err = w.names(); err != nil {
			return err
		}
		return given.add("force_quote", "")
	}
	name := w.Peek()
	if !w.AcceptOne("delimiter", "null", "quote", "escape", "encoding") {
		return w.wrong()
	}
	w.Accept("as")
	value, err := w.copyValue()
	if err != nil {
		return err
	}
	return given.add(name, value)
}

// copyValue takes a string, a word or a number.
func (w *words) copyValue() (string, error) {
	if w.Done() {
		return "", w.wrong()
	}
	t := w.Tokens[w.Next]
	text := w.Text(w.Next)
	switch t.Kind {
	case sqltree.String:
		if text = stringValue(text); text == w.Text(w.Next) { // of another kind, as $$x$$
			return "", w.wrong()
		}
		if first := w.Text(w.Next)[0]; first == 'e' || first == 'E' {
			text = escapes.Replace(text)
		}
	case sqltree.Ident, sqltree.QuotedIdent:
		text = t.Name(w.SQL)
	case sqltree.Number:
	default:
		return "", w.wrong()
	}
	w.Next++
	return text, nil
}

// escapes are those of E'…' that an option may have.
var escapes = strings.NewReplacer(`\\`, `\`, `\t`, "\t", `\n`, "\n", `\r`, "\r", `\b`, "\b", `\f`, "\f", `\v`,
	"\v", `\'`, "'")

func (g *copyOptions) add(name, value string) error {
	if _, twice := g.values[name]; twice {
		return sqlstate.Errorf(sqlstate.Syntax, "", "COPY %s is given twice", strings.ToUpper(name))
	}
	g.values[name] = value
	return nil
}

// copy checks the options and completes them.
func (g *copyOptions) copy() (*wire.Copy, error) {
	o := &wire.Copy{Delimiter: '\t', Null: `\N`}
	switch strings.ToLower(g.values["format"]) {
	case "", "text":
	case "csv":
		o.Format, o.Delimiter, o.Null, o.Quote, o.Escape = wire.CopyCSV, ',', "", '"', '"'
	case "binary":
		o.Format = wire.CopyBinary
	default:
		return nil, sqlstate.Errorf(sqlstate.Value, "use text, csv or binary", "COPY format %q not recognized",
			g.values["format"])
	}
	for name := range g.values {
		switch name {
		case "delimiter", "null", "header":
			if o.Format == wire.CopyBinary {
				return nil, sqlstate.Errorf(sqlstate.Syntax, "", "COPY %s is not for the binary format", strings.ToUpper(name))
			}
		case "quote", "escape", "force_quote":
			if o.Format != wire.CopyCSV {
				return nil, sqlstate.Errorf(sqlstate.Unsupported, "add FORMAT csv", "COPY %s is for the CSV format",
					strings.ToUpper(name))
			}
		}
	}
	if _, err := checkEncoding(g.values["encoding"]); g.values["encoding"] != "" && err != nil {
		return nil, err
	}
	var err error
	if o.Match = g.from && strings.EqualFold(g.values["header"], "match"); o.Match {
		o.Header = true
	} else if o.Header, err = g.switched("header"); err != nil {
		return nil, err
	}
	for name, to := range map[string]*byte{"delimiter": &o.Delimiter, "quote": &o.Quote, "escape": &o.Escape} {
		switch value, given := g.values[name]; {
		case !given:
		case len(value) != 1:
			return nil, sqlstate.Errorf(sqlstate.Unsupported, "", "COPY %s must be a single one-byte character",
				strings.ToUpper(name))
		default:
			*to = value[0]
		}
	}
	if _, given := g.values["escape"]; !given {
		o.Escape = o.Quote
	}
	if null, given := g.values["null"]; given {
		o.Null = null
	}
	o.Force = map[string]bool{}
	for _, name := range g.force {
		if name == "*" {
			o.ForceAll = true
		} else {
			o.Force[name] = true
		}
	}
	return o, checkCopy(o)
}

func (g *copyOptions) switched(name string) (bool, error) {
	switch strings.ToLower(g.values[name]) {
	case "true", "on", "1":
		return true, nil
	case "", "false", "off", "0":
		return false, nil
	}
	return false, sqlstate.Errorf(sqlstate.Syntax, "use true or false", "COPY %s %q is not a boolean",
		strings.ToUpper(name), g.values[name])
}

// checkCopy refuses what could not be read back.
func checkCopy(o *wire.Copy) error {
	bad := ""
	switch d := string(o.Delimiter); {
	case o.Format == wire.CopyBinary:
	case strings.Contains("\r\n", d):
		bad = "DELIMITER cannot be newline or carriage return"
	case strings.ContainsAny(o.Null, "\r\n"):
		bad = "NULL cannot have newline or carriage return"
	case strings.Contains(o.Null, d):
		bad = "DELIMITER must not appear in the NULL specification"
	case o.Format == wire.CopyText && strings.Contains(`\.abcdefghijklmnopqrstuvwxyz0123456789`, d):
		bad = "DELIMITER cannot be '" + d + "'"
	case o.Format == wire.CopyCSV && o.Delimiter == o.Quote:
		bad = "DELIMITER and QUOTE must be different"
	case o.Format == wire.CopyCSV && strings.IndexByte(o.Null, o.Quote) >= 0:
		bad = "QUOTE must not appear in the NULL specification"
	}
	if bad != "" {
		return sqlstate.Errorf(sqlstate.Value, "", "COPY %s", bad)
	}
	return nil
}
