package fingerprint

import (
	"strings"

	"github.com/xwb1989/sqlparser"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// normalize normalizes the spelling of a masked statement. ok is false if the parser,
// whose grammar is MySQL's, rejects it or may misread it.
func normalize(masked string) (text string, ok bool) {
	if len(masked) > maxParse || doubtful(masked) {
		return "", false
	}
	defer func() {
		if recover() != nil { // the parser is old; a log line is not worth a crash
			text, ok = "", false
		}
	}()
	statement, err := sqlparser.Parse(masked)
	if err != nil {
		return "", false
	}
	switch statement.(type) {
	case sqlparser.SelectStatement, *sqlparser.Insert, *sqlparser.Update, *sqlparser.Delete:
	default: // of other statements, the parser keeps only the beginning
		return "", false
	}
	buf := sqlparser.NewTrackedBuffer(func(buf *sqlparser.TrackedBuffer, node sqlparser.SQLNode) {
		if v, isValue := node.(*sqlparser.SQLVal); isValue && v.Type == sqlparser.ValArg {
			buf.WriteString("?")
			return
		}
		node.Format(buf)
	})
	statement.Format(buf)
	text = buf.String()
	if !strings.Contains(strings.ToLower(masked), "dual") {
		text = strings.ReplaceAll(text, " from dual", "") // added by the parser
	}
	return text, true
}

// misread are the words whose meaning the parser's grammar does not know or reads as
// a name.
var misread = map[string]bool{
	"limit": true, "offset": true, "asof": true, "try_cast": true, "positional": true, "anti": true, "semi": true,
	"date": true, "timestamp": true, "time": true, "interval": true, "e": true, "x": true, "b": true, "u": true,
	"binary": true,
	"div":    true, "mod": true, "regexp": true, "rlike": true, "xor": true, "full": true, "qualify": true, "sample": true,
}

// doubtful reports whether the statement has a token that MySQL and DuckDB
// read differently.
func doubtful(masked string) bool {
	tokens := sqltree.Scan(masked)
	for i, t := range tokens {
		s := t.Text(masked)
		switch t.Kind {
		case sqltree.QuotedIdent, sqltree.NamedParam, sqltree.String, sqltree.Number:
			return true
		case sqltree.Param:
			if s != "?" {
				return true
			}
		case sqltree.Ident:
			if misread[strings.ToLower(s)] {
				return true
			}
		case sqltree.Symbol:
			pair := i > 0 && tokens[i-1].Kind == sqltree.Symbol && tokens[i-1].End == t.Start && tokens[i-1].Text(masked) == s
			if pair && s != "(" && s != ")" || strings.ContainsAny(s, "#`@^!~{}[]:") {
				return true
			}
		}
	}
	return false
}
