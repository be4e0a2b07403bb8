// Package tables has what datasets and views share when they are served: the
// columns, the version of the data that the public view reads, and the state of
// refreshes.
//
//	columns, err := tables.Describe(ctx, db, query)
//	v := &tables.Version{Query: query}
//	v.Columns, err = tables.Match(columns, table.Described)
//	table.Serve(v)
//	ddl := table.DDL()
package tables

import (
	"context"
	"fmt"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// Column is a column of a dataset or view.
type Column struct {
	Name        string
	Type        string // of DuckDB
	Description string
}

// Names returns the names of columns.
func Names(columns []Column) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return names
}

// Match returns the columns of a source with their declared descriptions. A
// declared column that the source lacks, or that identifies rows, is a fault.
func Match(have []engine.Column, declared []spicepod.DatasetColumn) ([]Column, error) {
	columns := make([]Column, len(have))
	at := make(map[string]int, len(have))
	for i, h := range have {
		columns[i] = Column{Name: h.Name, Type: h.Type.String()}
		at[sqltree.Fold(h.Name)] = i
	}
	for i, d := range declared {
		j, ok := at[sqltree.Fold(d.Name)]
		if !ok {
			return nil, fault.NoColumn(fmt.Sprintf("columns[%d].name", i), d.Name, Names(columns))
		}
		columns[j].Description = d.Description
		path := fmt.Sprintf("columns[%d].full_text_search", i)
		if d.FullTextSearch == nil || len(d.FullTextSearch.RowID) == 0 {
			path = fmt.Sprintf("columns[%d].embeddings", i)
		}
		for _, id := range d.RowIDs() {
			if _, ok := at[sqltree.Fold(id)]; !ok {
				return nil, fault.NoColumn(path, id, Names(columns))
			}
		}
	}
	return columns, nil
}

// Comments are the comments of a source on a table and, by name, on its columns.
type Comments struct {
	Table   string
	Columns map[string]string
}

// MaxComment is how many bytes of a comment are shown.
const MaxComment = 1 << 10

// Annotate sets the comments of the source where the Spicepod has no description.
func (v *Version) Annotate(c Comments) {
	v.Comment = truncate.Ellipsis(c.Table, MaxComment)
	for i := range v.Columns {
		if column := &v.Columns[i]; column.Description == "" {
			column.Description = truncate.Ellipsis(c.Columns[column.Name], MaxComment)
		}
	}
}

// Comments returns the comments that the columns of a version have.
func (v *Version) Comments() Comments {
	c := Comments{Table: v.Comment, Columns: make(map[string]string, len(v.Columns))}
	for _, column := range v.Columns {
		c.Columns[column.Name] = column.Description
	}
	return c
}

// Describe returns the columns of an internal query.
func Describe(ctx context.Context, db *engine.DB, query string) (columns []engine.Column, err error) {
	err = onStage(ctx, db, func(s *engine.Stage) (err error) {
		columns, err = s.Describe(query)
		return err
	})
	return columns, err
}

// Query runs an internal query.
func Query(ctx context.Context, db *engine.DB, sql string, f func(*engine.Chunk)) error {
	return onStage(ctx, db, func(s *engine.Stage) error {
		return s.Query(sql, func(c *engine.Chunk) error { f(c); return nil })
	})
}

// Texts returns the first column of an internal query.
func Texts(ctx context.Context, db *engine.DB, sql string) (texts []string, err error) {
	err = Query(ctx, db, sql, func(c *engine.Chunk) {
		for i := range c.Len() {
			texts = append(texts, string(c.Column(0).Bytes(i)))
		}
	})
	return texts, err
}

func onStage(ctx context.Context, db *engine.DB, f func(*engine.Stage) error) error {
	stage, err := db.Stage(ctx)
	if err != nil {
		return err
	}
	defer stage.Close()
	return stage.Run(ctx, func() error { return f(stage) })
}

// TrimStatement removes comments and semicolons from both ends of a statement,
// so that it can be put in parentheses, and returns the offset of the rest.
func TrimStatement(text string) (string, int) {
	tokens := sqltree.Scan(text)
	for len(tokens) > 0 && tokens[len(tokens)-1].Is(text, ";") {
		tokens = tokens[:len(tokens)-1]
	}
	if len(tokens) == 0 {
		return text, 0
	}
	return text[tokens[0].Start:tokens[len(tokens)-1].End], tokens[0].Start
}
