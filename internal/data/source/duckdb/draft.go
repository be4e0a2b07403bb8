package duckdb

import (
	"cmp"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/source"
)

// draft makes a declaration of connector:file and a table, or of connector:file/table.
func draft(text, table string) (source.Draft, error) {
	d := source.Draft{From: text, Name: source.NameOf(text[strings.IndexByte(text, ':')+1:])}
	if table != "" {
		d.From = strings.TrimRight(text, "/") + "/" + table
		d.Name = cmp.Or(source.NameOfTable(table), d.Name)
	}
	return d, nil
}
