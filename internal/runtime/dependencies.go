package runtime

import (
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/functions/prelude"
	"github.com/spiced-sql/spiced/internal/data/datasets"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/rowsearch"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/data/views"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/udf"
)

// workerSetup returns the statements that every worker runs at its start. What
// statements name is created when one first names it: see dependencies.
func workerSetup(clients *engine.ClientCatalog) (list []string) {
	if clients != nil {
		list = clients.Setup[:1:1]
	}
	for _, m := range prelude.Macros {
		list = append(list, m.SQL())
	}
	return slices.Concat(list, registry.Macros(), rowsearch.Macros())
}

// dependencies returns what a worker needs for a statement that names the relations
// and functions; the error is why it cannot have one of them. What only this process can
// read, such as the runtime's own tables, databases in memory, and those that are attached
// for writing, is a stream there.
func (g *Generation) dependencies(relations []engine.Relation, names []string) ([]*engine.Dependency, error) {
	s := &resolver{g: g, found: map[string]*engine.Dependency{}}
	s.all(relations, names)
	return s.list, s.err
}

// resolver finds the dependencies of one statement.
type resolver struct {
	g     *Generation
	plans bool                          // statements are planned only: relations have no rows
	found map[string]*engine.Dependency // by name
	list  []*engine.Dependency          // each after those that it uses
	err   error                         // why a worker cannot have one of them; nil is returned instead of that one
}

// missing notes that a worker cannot have an object of the catalog.
func (s *resolver) missing(name string) *engine.Dependency {
	if s.err == nil {
		s.err = engine.NewError(errcode.Internal, "report it as a bug", "no worker can have the %s", name)
	}
	return nil
}

// add adds a dependency after those that it uses. It returns nil if one of these is
// nil.
func (s *resolver) add(name string, create, drop []string, uses ...*engine.Dependency) *engine.Dependency {
	if slices.Contains(uses, nil) {
		return nil
	}
	d := engine.NewDependency(name, create, drop, uses...)
	s.found[name] = d
	s.list = append(s.list, d)
	return d
}

// relation adds a dataset, a view or a table of the runtime.
func (s *resolver) relation(r engine.Relation) *engine.Dependency {
	name := "table " + tables.Key(r)
	if d := s.found[name]; d != nil {
		return d
	}
	if i := slices.IndexFunc(s.g.Datasets, func(d *datasets.Dataset) bool { return d.Relation == r }); i >= 0 {
		return s.table(name, &s.g.Datasets[i].Table, s.g.Datasets[i].Current())
	}
	i := slices.IndexFunc(s.g.Views, func(v *views.View) bool { return v.Relation == r })
	switch {
	case i < 0 && r.Schema == engine.System, s.g.clients != nil && r == s.g.clients.Own:
		return s.own(name, r)
	case i < 0 && s.g.clients != nil && r.Schema == s.g.clients.Schema:
		return s.client(name, r.Name)
	case i < 0:
		return s.missing(name)
	}
	v := s.g.Views[i]
	current := v.Current()
	if current.Copy != nil && !s.plans {
		return s.table(name, &v.Table, current)
	}
	return s.add(name, v.DDLOf(current), v.Drop(), s.all(v.Uses.Relations, v.Uses.Functions)...)
}

// all adds relations and functions.
func (s *resolver) all(relations []engine.Relation, names []string) []*engine.Dependency {
	var uses []*engine.Dependency
	for _, r := range relations {
		uses = append(uses, s.relation(r))
	}
	for _, n := range names {
		uses = append(uses, s.function(n))
	}
	return uses
}

// table adds a public view over attached databases.
func (s *resolver) table(name string, t *tables.Table, v *tables.Version) *engine.Dependency {
	if v.Written || s.plans {
		return s.written(name, t, v)
	}
	var uses []*engine.Dependency
	for _, r := range v.Resources {
		db := r.Database()
		switch {
		case db == nil && len(r.Setup()) > 0:
			uses = append(uses, s.setup(r))
			continue
		case db == nil:
			continue // a file, which the query names
		case db.Path == "":
			return s.written(name, t, v)
		}
		d := s.found["database "+db.Alias]
		if d == nil {
			d = s.add("database "+db.Alias,
				[]string{db.AttachSQL()},
				[]string{"DETACH DATABASE IF EXISTS " + engine.Identifier(db.Alias)})
			d.File = true
		}
		uses = append(uses, d)
	}
	return s.add(name, t.DDLOf(v), t.Drop(), uses...)
}

// written adds a public view over what no other process can attach.
func (s *resolver) written(name string, t *tables.Table, v *tables.Version) *engine.Dependency {
	return s.snapshot(name, t.Relation, v, func(from string) []string {
		there := *v
		there.Query, there.ByKey, there.Writer = "SELECT * FROM "+from, nil, nil
		return t.DDLOf(&there)
	}, t.Drop())
}

// setup adds what makes a source readable that the query names.
func (s *resolver) setup(r *resource.Resource) *engine.Dependency {
	name := "source " + r.Setup()[0]
	d := s.found[name]
	if d == nil {
		d = s.add(name, r.Setup(), nil)
		d.File = true // not within a transaction
	}
	return d
}

// client adds an object of the catalog of a protocol. It is the same for the life of the
// runtime.
func (s *resolver) client(name, object string) *engine.Dependency {
	o := s.g.clients.Object(object)
	if o == nil {
		return s.missing(name)
	}
	return s.add(name, o.Create, nil, s.all(o.Uses, nil)...)
}

// function adds a function.
func (s *resolver) function(called string) *engine.Dependency {
	name := "function " + sqltree.Fold(called)
	if d := s.found[name]; d != nil {
		return d
	}
	if f := s.g.Functions.Get(called); f != nil {
		d := s.add(name, f.DDL(functions.Published().WithKeys(keyColumns(s.g.Datasets))), f.Drop(),
			s.all(f.Uses.Relations, f.Uses.Functions)...)
		if d != nil {
			d.Batch = f.Code()
		}
		return d
	}
	if strings.EqualFold(called, functions.ListUDFs) {
		return s.add(name, []string{udf.ListingMacro()}, nil, s.relation(udf.Listed))
	}
	if slices.ContainsFunc(append(registry.Functions(), rowsearch.Functions()...), func(f *engine.Function) bool {
		return strings.EqualFold(f.Name, called)
	}) {
		return s.add(name, nil, nil) // workerSetup has it
	}
	if schema, macro, ok := strings.Cut(called, "."); ok {
		if c := s.g.clients; c != nil && schema == c.Schema && c.Object(macro) != nil {
			return s.relation(engine.Relation{Schema: schema, Name: macro})
		}
		return s.add(name, nil, nil) // there is none, as DuckDB will say
	}
	return s.missing(name)
}

// files returns the names of the dependencies that hold files open for g.
func (g *Generation) files() map[string]bool {
	names := map[string]bool{}
	add := func(v *tables.Version) {
		for _, r := range v.Resources {
			if db := r.Database(); db != nil {
				names["database "+db.Alias] = true
			}
		}
	}
	for _, d := range g.Datasets {
		add(d.Current())
	}
	for _, v := range g.Views {
		add(v.Current())
	}
	return names
}
