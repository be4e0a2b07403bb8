package rowsearch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/find/chunk"
	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/find/rowindex"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// Spec is what is searched of a table.
type Spec struct {
	Table   *tables.Table
	Columns []Column
	Key     []tables.Column // that identify a row; none: its searched texts do
	// Masked are the searched columns that some callers see otherwise, by number in Columns.
	Masked []int
	// Filtered means that callers see different rows.
	Filtered bool
	// Optional means that the first build of the index does not hold back readiness.
	Optional bool
	// Personal means that all of a row may depend on the caller, as in a view that calls ctx: there is
	// no index, and each search reads the rows.
	Personal bool
	// Unserved is why the table cannot be searched, "" if it can.
	Unserved string
}

// Column is a searched column.
type Column struct {
	Name  string
	Words bool
	Model string // name of the embedding model; "" if none is used
	Split chunk.Options
}

// longest is how many tokens a text has at most that is not split: models read no more, or not
// much more, of a text.
const longest = 512

// NewSpec returns what is searched of a table with these columns; nil if nothing is. key is the
// primary key of its acceleration; documents means that the texts are Markdown.
func NewSpec(t *tables.Table, have []tables.Column, key string, documents bool) *Spec {
	s := &Spec{Table: t}
	var ids []string
	for _, d := range t.Described {
		if !d.Searchable() {
			continue
		}
		c := Column{Name: named(have, d.Name), Words: d.ByWords()}
		c.Split = chunk.Options{Target: longest, Trim: true, Markdown: documents}
		if len(d.Embeddings) > 0 {
			e := d.Embeddings[0]
			c.Model = e.From
			if e.Chunking.Enabled {
				c.Split.Target, c.Split.Overlap, c.Split.Trim = e.Chunking.Target, e.Chunking.Overlap, e.Chunking.Trim
			}
			if e.Chunking.FileFormat != "" {
				c.Split.Markdown = e.Chunking.FileFormat == spicepod.FormatMarkdown
			}
		}
		s.Columns = append(s.Columns, c)
		if ids == nil {
			ids = d.RowIDs()
		}
	}
	if len(s.Columns) == 0 {
		return nil
	}
	if ids == nil {
		ids = keyColumns(key)
	}
	for _, id := range ids {
		for _, c := range have {
			if sqltree.Fold(c.Name) == sqltree.Fold(id) {
				s.Key = append(s.Key, c)
			}
		}
	}
	return s
}

// Mask says that some callers see a column otherwise. As a part of the key, it would identify no row
// for them.
func (s *Spec) Mask(column string) {
	if i := s.column(column); i >= 0 {
		s.Masked = append(s.Masked, i)
		slices.Sort(s.Masked)
	}
	for _, k := range s.Key {
		if sqltree.Fold(k.Name) == sqltree.Fold(column) {
			s.Unserved = "column " + k.Name + " of row_id has a column_mask; identify rows by other columns"
		}
	}
	if len(s.Key) == 0 && len(s.Masked) > 0 {
		s.Unserved = "a searched column has a column_mask, and there is no row_id; declare one: row_id: id"
	}
}

func named(have []tables.Column, name string) string {
	for _, c := range have {
		if sqltree.Fold(c.Name) == sqltree.Fold(name) {
			return c.Name
		}
	}
	return name
}

// keyColumns parses a primary key: a column, or (column, column).
func keyColumns(text string) (names []string) {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "("); ok {
		text = strings.TrimSuffix(inner, ")")
	}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			names = append(names, strings.ReplaceAll(strings.Trim(part, `"`), `""`, `"`))
		}
	}
	return names
}

// keyHash is the SQL of the hash that identifies a row. prefix is that of the columns: "t." or "".
func (s *Spec) keyHash(prefix string) string {
	var list []string
	for _, c := range s.Key {
		list = append(list, prefix+engine.Identifier(c.Name))
	}
	if len(s.Key) == 0 {
		for _, c := range s.Columns {
			list = append(list, textOf(prefix, c.Name))
		}
	}
	return "hash(" + strings.Join(list, ", ") + ")"
}

// textOf is the SQL of the text of a column that is searched.
func textOf(prefix, column string) string {
	return "CAST(" + prefix + engine.Identifier(column) + " AS VARCHAR)"
}

// column returns the number of a searched column, -1 if there is no such column.
func (s *Spec) column(name string) int {
	return slices.IndexFunc(s.Columns, func(c Column) bool { return sqltree.Fold(c.Name) == sqltree.Fold(name) })
}

// serves returns an error if columns are not searched in a mode; nil means all columns.
func (s *Spec) serves(mode rowindex.Mode, columns []string) error {
	name := s.Table.Relation.Name
	if s.Unserved != "" {
		return refuse("", "table %s cannot be searched: %s", name, s.Unserved)
	}
	words, vectors := false, false
	for _, c := range s.Columns {
		named := func(name string) bool { return sqltree.Fold(name) == sqltree.Fold(c.Name) }
		if columns == nil || slices.ContainsFunc(columns, named) {
			words, vectors = words || c.Words, vectors || c.Model != ""
		}
	}
	switch {
	case mode == rowindex.Vector && !vectors:
		return refuse("declare embeddings: [{from: MODEL}] of a column", "table %s is not searched by vectors", name)
	case mode == rowindex.Keyword && !words:
		return refuse("declare full_text_search: {enabled: true} of a column", "table %s is not searched by words", name)
	}
	return nil
}

// Names are the names of the searched columns.
func (s *Spec) Names() []string {
	names := make([]string, len(s.Columns))
	for i, c := range s.Columns {
		names[i] = c.Name
	}
	return names
}

// indexColumns are the columns of the index. Without vectors, no model is asked.
func (s *Spec) indexColumns(models map[string]embeddings.Model, dimensions map[string]int) []rowindex.Column {
	list := make([]rowindex.Column, len(s.Columns))
	for i, c := range s.Columns {
		list[i] = rowindex.Column{
			Name: c.Name, Words: c.Words,
			Chunking: fmt.Sprintf("%d %d %t %t", c.Split.Target, c.Split.Overlap, c.Split.Trim, c.Split.Markdown),
		}
		if m := models[c.Model]; m != nil && dimensions[c.Model] > 0 {
			list[i].Model, list[i].Dimensions = m.Fingerprint(), dimensions[c.Model]
		}
	}
	return list
}

// same reports whether an index of s fits other as well.
func (s *Spec) same(other *Spec) bool {
	return s.Table == other.Table && s.Unserved == other.Unserved && s.Filtered == other.Filtered &&
		s.Personal == other.Personal &&
		slices.Equal(s.Masked, other.Masked) && slices.Equal(s.Key, other.Key) &&
		slices.EqualFunc(s.Columns, other.Columns, func(a, b Column) bool {
			return a.Name == b.Name && a.Words == b.Words && a.Model == b.Model && a.Split.Target == b.Split.Target &&
				a.Split.Overlap == b.Split.Overlap && a.Split.Trim == b.Split.Trim && a.Split.Markdown == b.Split.Markdown
		})
}
