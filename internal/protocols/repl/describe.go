package repl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
)

// The commands in this file are statements on the introspection tables.

func (s *session) listTables(ctx context.Context, pattern string) error {
	return s.query(ctx, tablesSQL(pattern))
}

func (s *session) listViews(ctx context.Context, pattern string) error {
	return s.query(ctx, viewsSQL(pattern))
}

func (s *session) listFunctionsMore(ctx context.Context, pattern string) error {
	return s.query(ctx, functionsMoreSQL(pattern))
}

func (s *session) listFunctions(ctx context.Context, pattern string) error {
	return s.query(ctx, functionsSQL(pattern))
}

// showFunction shows what is known of one function.
func (s *session) showFunction(ctx context.Context, name string) error {
	if name == "" {
		return errors.New(`\sf takes the name of a function`)
	}
	var known []string
	err := s.client.rows(ctx, functionNamesSQL, maxNames, func(row []byte) error {
		var f struct{ Name string }
		err := json.Unmarshal(row, &f)
		known = append(known, f.Name)
		return err
	})
	if err != nil {
		return err
	}
	at := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, name) })
	if at < 0 {
		return fmt.Errorf("no function %q (%s)", name, nearest.Hint(name, known, `\df lists them`))
	}
	defer func(was bool) { s.expanded = was }(s.expanded)
	s.expanded = true
	return s.query(ctx, functionSQL(known[at]))
}

// describe lists the columns of a table or view.
func (s *session) describe(ctx context.Context, name string) error {
	if name == "" {
		return s.listTables(ctx, "")
	}
	found, err := s.findTable(ctx, name)
	if err != nil {
		return err
	}
	return s.query(ctx, columnsSQL(found))
}

// tableName is a table or view in the server's spelling.
type tableName struct{ Schema, Name string }

// findTable finds the table for name or schema.name.
func (s *session) findTable(ctx context.Context, name string) (tableName, error) {
	wanted := strings.ReplaceAll(name, `"`, "")
	var found []tableName
	var known []string
	err := s.client.rows(ctx, tableNamesSQL, maxNames, func(row []byte) error {
		var t tableName
		if err := json.Unmarshal(row, &t); err != nil {
			return err
		}
		known = append(known, qualifiedName(t.Schema, t.Name))
		if strings.EqualFold(t.Name, wanted) || strings.EqualFold(t.Schema+"."+t.Name, wanted) {
			found = append(found, t)
		}
		return nil
	})
	if err != nil {
		return tableName{}, err
	}
	if len(found) > 0 {
		public := slices.IndexFunc(found, func(t tableName) bool { return t.Schema == publicSchema })
		return found[max(public, 0)], nil
	}
	return tableName{}, fmt.Errorf("no table or view %q (%s)", wanted, nearest.Hint(wanted, known, `\d lists them`))
}

// Statements of completion and of \d.
const (
	tableNamesSQL    = `SELECT schema, name FROM spiced.datasets ORDER BY ALL`
	columnNamesSQL   = `SELECT DISTINCT dataset, name FROM spiced.dataset_columns ORDER BY ALL`
	functionNamesSQL = `SELECT name FROM spiced.functions ORDER BY ALL`
)

func tablesSQL(pattern string) string {
	return `SELECT schema, name, kind, state, "rows", "from", description
FROM spiced.datasets` + where(pattern) + `
ORDER BY schema, name`
}

func columnsSQL(t tableName) string {
	return `SELECT name AS "column", type, description
FROM spiced.dataset_columns
WHERE schema = ` + literal(t.Schema) + ` AND dataset = ` + literal(t.Name) + `
ORDER BY position`
}

func functionsSQL(pattern string) string {
	return `SELECT name,
       array_to_string([a || ' ' || coalesce(arg_types[i], '?') FOR a, i IN arg_names], ', ') AS arguments,
       return_type AS returns, kind, description
FROM spiced.functions` + where(pattern) + `
ORDER BY name`
}

func functionsMoreSQL(pattern string) string {
	return `SELECT name, signature, kind, volatility, as_tool AS tool, file || ':' || line AS declared, execution, description
FROM spiced.functions` + where(pattern) + `
ORDER BY name`
}

func functionSQL(name string) string {
	return `SELECT signature, description, kind, volatility, file || ':' || line AS declared, return_duckdb_type AS returns, as_tool AS tool, execution, checksum, body
FROM spiced.functions
WHERE name = ` + literal(name)
}

func viewsSQL(pattern string) string {
	condition := "\nWHERE kind = 'view'"
	if pattern != "" {
		condition += strings.Replace(where(pattern), "\nWHERE", "\n  AND", 1)
	}
	return `SELECT schema, name, state, description
FROM spiced.datasets` + condition + `
ORDER BY schema, name`
}

// where is the condition on a name for a psql pattern: * matches any text, ? any
// character, ignoring case.
func where(pattern string) string {
	if pattern == "" {
		return ""
	}
	like := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`, `*`, `%`, `?`, `_`).Replace(pattern)
	return "\nWHERE name ILIKE " + literal(like) + ` ESCAPE '\'`
}

func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
