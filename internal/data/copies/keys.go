package copies

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// index is the primary key or an index of a copy.
type index struct {
	sql, path       string
	key             []string
	unique, primary bool
}

func indexes(a *spicepod.Acceleration, table string) []index {
	var out []index
	if a.PrimaryKey != "" {
		out = append(out, index{
			fmt.Sprintf("ALTER TABLE %s ADD PRIMARY KEY (%s)", table, columnList(a.PrimaryKey)),
			"acceleration.primary_key", columnsOf(a.PrimaryKey), true, true,
		})
	}
	for i, key := range slices.Sorted(maps.Keys(a.Indexes)) {
		kind, unique := "", a.Indexes[key] == "unique"
		if unique {
			kind = "UNIQUE "
		}
		out = append(out, index{
			fmt.Sprintf("CREATE %sINDEX index_%d ON %s (%s)", kind, i, table, columnList(key)),
			"acceleration.indexes", columnsOf(key), unique, false,
		})
	}
	return out
}

// Check returns an error if an acceleration's indexes or on_conflict are wrong.
func Check(a *spicepod.Acceleration) error {
	switch {
	case a.OnZeroResults == "use_source":
		return fault.New("acceleration.on_zero_results",
			"leave out acceleration, or use refresh_mode: caching of an HTTP API",
			"use_source is not served, and without it statements would find no rows that the source has")
	case a.RefreshMode == spicepod.RefreshChanges:
		return fault.New("acceleration.refresh_mode", "write full or append, with refresh_check_interval",
			"changes is not served, and without it the copy would not follow its source")
	}
	for column, kind := range a.Indexes {
		if kind != "enabled" && kind != "unique" {
			return fault.New("acceleration.indexes", "write enabled or unique", "index on %q is %q", column, kind)
		}
	}
	return checkConflict(a)
}

// query returns the query of the public view. Through a view, DuckDB 1.5 uses the index of
// a column only if the table or the scan begins with that column, so the scan begins with
// the first key that the table does not begin with.
func query(a *spicepod.Acceleration, columns []engine.Column, table string) string {
	names, key := make([]string, len(columns)), -1
	for i, c := range columns {
		names[i] = engine.Identifier(c.Name)
	}
	for _, k := range keys(a) {
		at := slices.IndexFunc(columns, func(c engine.Column) bool { return sqltree.Fold(c.Name) == sqltree.Fold(k[0]) })
		if len(k) == 1 && at > 0 {
			key = at
			break
		}
	}
	if key < 0 {
		return "SELECT * FROM " + table
	}
	all := strings.Join(names, ", ")
	scan := append([]string{names[key]}, slices.Delete(slices.Clone(names), key, key+1)...)
	return fmt.Sprintf("SELECT %s FROM (SELECT %s FROM %s)", all, strings.Join(scan, ", "), table)
}

// keys returns the columns of the primary key and of each index.
func keys(a *spicepod.Acceleration) (keys [][]string) {
	if a == nil {
		return nil
	}
	for _, key := range append([]string{a.PrimaryKey}, slices.Sorted(maps.Keys(a.Indexes))...) {
		if key != "" {
			keys = append(keys, columnsOf(key))
		}
	}
	return keys
}

// UniqueColumns returns the columns that are a primary key or have a unique index.
func UniqueColumns(a *spicepod.Acceleration) []string {
	return single(a, func(key string) bool { return key == a.PrimaryKey || a.Indexes[key] == "unique" })
}

// IndexedColumns returns the columns that have an index for themselves.
func IndexedColumns(a *spicepod.Acceleration) []string {
	return single(a, func(string) bool { return true })
}

// single returns the columns of the keys of one column that are wanted.
func single(a *spicepod.Acceleration, wanted func(key string) bool) []string {
	if a == nil {
		return nil
	}
	var columns []string
	for _, key := range append([]string{a.PrimaryKey}, slices.Sorted(maps.Keys(a.Indexes))...) {
		if parts := columnsOf(key); key != "" && len(parts) == 1 && wanted(key) && !slices.Contains(columns, parts[0]) {
			columns = append(columns, parts[0])
		}
	}
	return columns
}

// columnsOf returns the columns of a key, a or (a, b).
func columnsOf(key string) []string {
	key = strings.TrimSpace(key)
	if strings.HasPrefix(key, "(") && strings.HasSuffix(key, ")") {
		key = key[1 : len(key)-1]
	}
	parts := strings.Split(key, ",")
	for i, p := range parts {
		p = strings.TrimSpace(p)
		if len(p) > 1 && p[0] == '"' && p[len(p)-1] == '"' {
			p = strings.ReplaceAll(p[1:len(p)-1], `""`, `"`)
		}
		parts[i] = p
	}
	return parts
}

// columnList returns a key as quoted names.
func columnList(key string) string { return strings.Join(quoted(columnsOf(key)), ", ") }

func quoted(columns []string) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = engine.Identifier(c)
	}
	return names
}
