package runtime

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// snapshotTables are the relations that only this process can read. Workers read them as
// streams, whose columns are asked of DuckDB once: those of the runtime's own tables are the
// same for its life, those of a dataset for its version.
type snapshotTables struct {
	db *engine.DB

	mu     sync.Mutex
	byName map[string]*snapshotTable
}

type snapshotTable struct {
	*engine.SnapshotTable
	version *tables.Version // nil: of the runtime
}

// get returns the table of a relation, which is a relation of the runtime if the version
// is nil.
func (s *snapshotTables) get(r engine.Relation, v *tables.Version) (*engine.SnapshotTable, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := tables.Key(r)
	if t := s.byName[name]; t != nil && t.version == v {
		return t.SnapshotTable, nil
	}
	t := &engine.SnapshotTable{Name: name, Relation: r, From: engine.Qualified(r.Schema, r.Name)}
	switch {
	case v != nil:
		t.From = "(" + v.Query + ")"
	case s.db.Handles(r.Schema + "." + r.Name):
		t.Handler = r.Schema + "." + r.Name
	}
	stage, err := s.db.Stage(context.Background())
	if err != nil {
		return nil, err
	}
	defer stage.Close()
	if t.Columns, err = stage.Describe("SELECT * FROM " + t.From); err != nil {
		return nil, fmt.Errorf("the columns of %s: %w", name, err)
	}
	// So that a worker joins the tables as this process would: clients rely on the order
	// of rows that they do not ask for.
	if t.Rows, err = stage.Estimate("SELECT * FROM " + t.From); err != nil {
		return nil, fmt.Errorf("the rows of %s: %w", name, err)
	}
	if s.byName == nil {
		s.byName = map[string]*snapshotTable{}
	}
	s.byName[name] = &snapshotTable{t, v}
	return t, nil
}

// snapshot adds a relation that only this process can read: create returns the statements that
// make it from its rows, in a FROM clause.
func (s *resolver) snapshot(name string, r engine.Relation, v *tables.Version, create func(from string) []string,
	drop []string,
) *engine.Dependency {
	if s.plans && v != nil {
		return s.add(name, create(noRows(v.Columns)), drop)
	}
	t, err := s.g.snapshots.get(r, v)
	if err != nil {
		s.err = cmp.Or(s.err, err)
		return nil
	}
	if s.plans {
		columns, _ := tables.Match(t.Columns, nil) // no column is declared that it may lack
		return s.add(name, create(noRows(columns)), drop)
	}
	d := engine.NewTable(name, t, create(t.Stream()), drop)
	s.found[name], s.list = d, append(s.list, d)
	return d
}

// own adds a table of the runtime.
func (s *resolver) own(name string, r engine.Relation) *engine.Dependency {
	view := engine.Qualified(r.Schema, r.Name)
	return s.snapshot(name, r, nil,
		func(from string) []string {
			return []string{"CREATE OR REPLACE VIEW " + view + " AS SELECT * FROM " + from}
		},
		[]string{"DROP VIEW IF EXISTS " + view})
}
