package copies

import (
	"context"
	"errors"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// onlyTable declares one relation, whose schema may be left out.
type onlyTable struct {
	*engine.Catalog
	schema string
}

// Relation returns the relation that a reference names.
func (o onlyTable) Relation(catalog, schema, name string) (engine.Relation, bool) {
	if schema == "" {
		schema = o.schema
	}
	return o.Catalog.Relation(catalog, schema, name)
}

// OwnQuery checks a query that may read its table only, and returns it as a query of the
// temporary view [Load].Source, with what it needs of the view. key is the one of the
// acceleration that has it.
func OwnQuery(ctx context.Context, db *engine.DB, t *tables.Table, key, text string) (string, *sqltree.Filter, error) {
	path := "acceleration." + key
	fail := func(err error) (string, *sqltree.Filter, error) {
		e := engine.AsError(err)
		return "", nil, fault.At(path, e.Offset, e.Hint, "%s", fault.SelectMessage(e.Message))
	}
	st, err := db.Parse(ctx, text)
	if err != nil {
		return fail(err)
	}
	switch {
	case len(st.Shows) > 0 || len(st.Params) > 0:
		return "", nil, fault.New(path, "write SELECT … FROM "+t.Name+" WHERE …", "%s is one SELECT without parameters", key)
	case len(st.Relations) == 0:
		return "", nil, fault.New(path, "write SELECT … FROM "+t.Name+" WHERE …", "%s does not read %q", key, t.Name)
	}
	only := onlyTable{engine.NewCatalog(engine.Contents{Relations: []engine.Relation{t.Relation}}), t.Relation.Schema}
	for _, r := range st.Relations {
		if _, ok := only.Relation(r.Catalog, r.Schema, r.Name); !ok {
			return "", nil, fault.At(path, r.Offset, "it may read "+t.Name+" only", "%s reads %q", key, r.Name)
		}
	}
	if _, err := db.Check(text, st, only); err != nil {
		return fail(err)
	}
	if err := db.CheckCTEs(text, st, only); err != nil {
		return fail(err)
	}
	tokens := sqltree.Scan(text)
	var edits []sqltree.Edit
	for _, r := range st.Relations {
		if span, ok := sqltree.LocateRelation(text, tokens, r); ok {
			edits = append(edits, sqltree.Edit{Span: span, New: engine.Identifier(t.Relation.Name)})
		}
	}
	edited, _ := sqltree.Apply(text, edits)
	query, _ := tables.TrimStatement(edited)
	return query, st.Filter, nil
}

// RetainedQuery checks a retention_sql as a write of a client is checked, and returns the
// query of the rows that it leaves.
func RetainedQuery(ctx context.Context, db *engine.DB, t *tables.Table) (string, error) {
	const key = "retention_sql"
	retained, origin, err := db.Remaining(t.Acceleration.RetentionSQL)
	if err != nil {
		e := engine.AsError(err)
		return "", fault.At("acceleration."+key, e.Offset, e.Hint, "%s", e.Message)
	}
	query, _, err := OwnQuery(ctx, db, t, key, retained)
	if f := (*fault.Fault)(nil); errors.As(err, &f) && f.Offset >= 0 {
		f.Offset = origin(f.Offset)
	}
	return query, err
}

// CheckRetained returns an error if the retention_sql of a table does not fit the columns of a
// query of its rows.
func CheckRetained(ctx context.Context, db *engine.DB, t *tables.Table, rows string) error {
	if t.Acceleration.RetentionSQL == "" {
		return nil
	}
	retained, err := RetainedQuery(ctx, db, t)
	if err != nil {
		return err
	}
	if _, err = tables.Describe(ctx, db, retainedOf(t, rows, retained)); err != nil {
		e := engine.AsError(err)
		return fault.New("acceleration.retention_sql", e.Hint, "%s", fault.FirstLines(e.Message))
	}
	return nil
}

// retainedOf returns a query as a whole, for rows of the table.
func retainedOf(t *tables.Table, rows, query string) string {
	return "WITH " + engine.Identifier(t.Relation.Name) + " AS (" + rows + ") SELECT * FROM (" + query + "\n)"
}
