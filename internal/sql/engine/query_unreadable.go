package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// unreadable reports a column whose values cannot be read: a BIGNUM, GEOMETRY or
// VARIANT, or a value with one inside.
func unreadable(c Column) bool { return !c.Type.Supported() && c.Type.ID != mapping.TypeInvalid }

// readable returns the prepared statement or, if it has columns whose values cannot be
// read, one that casts these to text.
func (p *producer) readable(s *stmt) (*stmt, error) {
	if p.verdict.write || !slices.ContainsFunc(s.columns, unreadable) ||
		mapping.PreparedStatementType(s.raw) != mapping.StatementTypeSelect {
		return s, nil
	}
	names, outputs := make([]string, len(s.columns)), make([]string, len(s.columns))
	for i, c := range s.columns {
		names[i] = fmt.Sprintf("__spiced_out_%d", i+1)
		outputs[i] = names[i]
		if unreadable(c) {
			outputs[i] = "CAST(" + names[i] + " AS VARCHAR)"
		}
		outputs[i] += " AS " + Identifier(c.Name)
	}
	judged, v := p.verdict, *p.verdict
	prefix := "SELECT " + strings.Join(outputs, ", ") + " FROM (\n"
	v.text = prefix + withoutSemicolon(judged.text) + "\n) AS __spiced_result(" + strings.Join(names, ", ") + ")"
	v.origin = func(offset int) int { return judged.origin(max(offset-len(prefix), 0)) }
	p.verdict = &v
	return p.prepare()
}

// withoutSemicolon is a statement without a semicolon at its end.
func withoutSemicolon(sql string) string {
	tokens := sqltree.Scan(sql)
	for len(tokens) > 0 && tokens[len(tokens)-1].Is(sql, ";") {
		sql = sql[:tokens[len(tokens)-1].Start]
		tokens = tokens[:len(tokens)-1]
	}
	return sql
}
