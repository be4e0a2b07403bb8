package engine

import (
	"context"
	"slices"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// Ref is the table function that reads a stored result: FROM ref('r_7f3a…').
const Ref = "ref"

// Table is a stored result: one table in a separate DuckDB file, attached
// read-only.
type Table struct {
	Database string // name under which it is attached
	Path     string // of the file
}

// SQL returns the table's qualified name.
func (t Table) SQL() string { return Identifier(t.Database) + ".main." + Identifier(tableOfResult) }

// tableOfResult is the only table in the file of a stored result.
const tableOfResult = "result"

// Refs finds stored results.
type Refs interface {
	// Ref returns the stored result of that name if the statement's caller, from
	// ctx, may read it. It stays until release is called. The error is an [*Error].
	Ref(ctx context.Context, name string) (t Table, release func(), err error)
}

// UseRefs sets where ref('…') looks results up. Statements that were judged before find none.
func (db *DB) UseRefs(r Refs) { db.refs.Store(&r) }

// held are the stored results that a statement reads, until it ends.
type held struct {
	tables   []Table
	releases []func()
}

// release releases them.
func (h *held) release() {
	for _, f := range h.releases {
		f()
	}
	h.tables, h.releases = nil, nil
}

// has reports whether a relation is one of their tables.
func (h *held) has(r sqltree.Relation) bool {
	return slices.ContainsFunc(h.tables, func(t Table) bool {
		return r.Catalog == t.Database && r.Schema == "main" && r.Name == tableOfResult
	})
}

// resolve returns the edits that replace the calls of ref in text with the tables
// of stored results, and holds these.
func (h *held) resolve(ctx context.Context, refs *Refs, text string, st *sqltree.Statement) ([]sqltree.Edit, error) {
	var edits []sqltree.Edit
	var tokens []sqltree.Token
	for _, c := range st.Calls {
		if !isRef(c) {
			continue
		}
		if tokens == nil {
			tokens = sqltree.Scan(text)
		}
		site, ok := sqltree.Locate(text, tokens, c)
		if !ok || len(c.Args) != 1 || c.Args[0].Kind != sqltree.StringLiteral || c.Args[0].Name != "" {
			return nil, NewError(errcode.Argument, "write FROM ref('r_…') with the reference of a result",
				"ref takes one text literal").at(text, c.Offset)
		}
		table, err := h.hold(ctx, refs, c.Args[0].Text)
		if err != nil {
			at := *AsError(err)
			return nil, at.at(text, c.Offset)
		}
		edits = append(edits, sqltree.Edit{Span: site.Whole(), New: table.SQL()})
	}
	return edits, nil
}

func isRef(c sqltree.Call) bool {
	return c.Table && c.Schema == "" && c.Catalog == "" && sqltree.Fold(c.Name) == Ref
}

func (h *held) hold(ctx context.Context, refs *Refs, name string) (Table, error) {
	if refs == nil {
		return Table{}, NewError(errcode.NotFound, "", "results are not stored here")
	}
	table, release, err := (*refs).Ref(ctx, name)
	if err != nil {
		return Table{}, err
	}
	h.tables, h.releases = append(h.tables, table), append(h.releases, release)
	return table, nil
}
