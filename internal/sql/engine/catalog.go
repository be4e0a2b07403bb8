package engine

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// Function is what the guard must know about a declared function.
type Function struct {
	Name      string // as declared
	Signature string // for messages: f(x int64) → int64
	Args      []FunctionArg
	Table     bool   // used in FROM
	Random    bool   // each evaluation may give another value
	Once      bool   // its body evaluates an argument more than once
	Costly    bool   // its body, or that of a function that it calls, has a costly call ([sqltree.Costly])
	Traits    Traits // of the relations and functions that its body uses
	Asks      []Ask  // what its body asks for
	// Reads are the relations that its body reads, also through views and functions.
	Reads []Relation
	// Conditional: it is hidden from some callers ([Contents.Hides]).
	Conditional bool
	// Gated: statements of some callers may not call it ([Contents.Gates]).
	Gated   bool
	Tool    string // the tool that a caller may call instead; "" if there is none
	NotOnce string // why arguments that change with each evaluation are refused; "" if they are allowed
	// Constant is the qualified name of the form for calls whose arguments are constants,
	// with the same parameters, of a table function by position; "" if there is none.
	Constant string
	// Alone is the qualified name of a table function with the same parameters for a
	// statement that is only a call of a scalar function, with constant arguments. It
	// returns the rows, in [AloneColumn]: more than one is an error, and none is NULL. "" if
	// there is none.
	Alone string
}

// AloneColumn is the column of [Function.Alone].
const AloneColumn = "__spiced_result"

// FunctionArg is an argument of a [Function].
type FunctionArg struct {
	Name    string
	Type    string // DuckDB's
	Numeric bool
	Table   bool // takes a table, not a value
	// Optional says that a call may omit it.
	Optional bool
	// Default is the constant expression that is written for an omitted argument; "" if the
	// function has a default of its own.
	Default string
}

// Relation is a table or view that statements may read.
type Relation struct{ Schema, Name string }

// Limits of what is cached for statements.
const (
	verdictsCached = 4096     // verdicts that a catalog caches
	textCached     = 16 << 10 // bytes of a text whose verdict or plan is cached
)

// Catalog is what the statements of one generation may name. It is immutable
// except for the state that the database keeps in it.
type Catalog struct {
	Generation uint64
	relations  map[Relation]Relation // folded → as declared
	functions  map[string]*Function  // by folded name
	schemas    map[string]bool       // of relations, folded, without public
	contents   Contents

	serial  uint64     // set by Publish
	renewed bool       // see Renew
	changed []Relation // see Renew
	users   atomic.Int64
	retired func()
	gone    func() // set by Publish: notifies the drain

	mu       sync.RWMutex
	verdicts map[string]*verdict
}

// Contents are the contents of a [Catalog]. Every field may be zero.
type Contents struct {
	Generation uint64
	Relations  []Relation
	Functions  []*Function
	Traits     map[Relation]Traits
	// Reads are the relations that each view reads, also through views and functions.
	Reads map[Relation][]Relation

	// Targets are what an INSERT, UPDATE or DELETE of a relation changes. Relations that are
	// not in it are read-only.
	Targets map[Relation]Target

	// Keys are the columns for which there are macros of [ByKey], by folded name of a
	// relation.
	Keys map[Relation][]KeyColumn

	// Dependencies returns what another process needs for a statement that names the
	// relations and functions, each after those that it uses. Functions that are not declared
	// and are called by a schema of relations, which may have none of that name, are
	// written schema.name, folded. The error is why no other process can have one of them,
	// and what the statement's caller gets. It is called while the catalog is in use. Nil:
	// statements that name any run in this process.
	Dependencies func(relations []Relation, functions []string) ([]*Dependency, error)

	// Unserved returns the error of a statement that names a relation, or in schema public
	// a function, that is declared and does not serve, because it is loading or has a
	// fault; nil if there is no such one. Names are folded. Nil: all that is declared serves.
	Unserved func(Object, Relation) *Error

	// Failed returns what callers get instead of the error of a statement that reads files,
	// which may have changed, and names the relations and functions. It must be quick and
	// must not use the database. Nil: they get the error.
	Failed func([]Relation, []*Function, *Error) *Error

	// Open returns what makes relations readable that the statement names, by publishing
	// them, or fetches what it asks for; nil if there is nothing to wait for. It must be
	// quick; what it returns may take long, and its error ends the statement. Nil: all are
	// readable.
	Open func(Reading) func(context.Context) error

	// Asks are what reading a relation asks for: itself, or of a view others. See [Asks].
	Asks map[Relation][]Ask

	// Hides returns which of the declared functions are hidden from the caller of the context:
	// its own statements cannot call them, as if they were not declared, while bodies and
	// views can. Names are in any case. Nil, or a nil result: none.
	Hides func(context.Context) func(function string) bool

	// Gates returns which of the declared functions the caller of the context may not call in
	// its own statements, because a call requires approval; bodies and views can. Names are
	// in any case. Nil, or a nil result: none.
	Gates func(context.Context) func(function string) bool

	// Written are table functions in place of whose calls the guard writes queries, by folded
	// name. Declared functions of the same name precede them.
	Written map[string]Written

	// Published runs at the moment when new statements begin to see the catalog,
	// before any of them does. It must be quick and must not use the database.
	Published func()

	// Retired runs once, when the catalog has been replaced and the last statement
	// that saw it has ended.
	Retired func()
}

// Target is what a statement that changes a relation writes to.
type Target struct {
	// Table is the qualified SQL name of the table behind the relation; "" if it cannot be
	// written.
	Table string
	// Writer writes to a table that is not DuckDB's: Table is that of [OutsideTable.DDL].
	// Nil: Table is written itself.
	Writer Writer
	// ReadOnly is why it cannot be written, if that is not its declaration.
	ReadOnly string
}

// NewCatalog makes the catalog of a generation.
func NewCatalog(contents Contents) *Catalog {
	c := &Catalog{
		Generation: contents.Generation,
		relations:  make(map[Relation]Relation, len(contents.Relations)),
		functions:  make(map[string]*Function, len(contents.Functions)),
		schemas:    map[string]bool{},
		contents:   contents,
		verdicts:   map[string]*verdict{},
	}
	for _, r := range contents.Relations {
		c.relations[Relation{sqltree.Fold(r.Schema), sqltree.Fold(r.Name)}] = r
		c.schemas[sqltree.Fold(r.Schema)] = r.Schema != Public
	}
	for _, f := range contents.Functions {
		c.functions[sqltree.Fold(f.Name)] = f
	}
	if contents.Retired != nil {
		c.retired = sync.OnceFunc(contents.Retired)
	}
	return c
}

// Function returns the function of that name, or nil.
func (c *Catalog) Function(name string) *Function { return c.functions[sqltree.Fold(name)] }

// Relation returns the relation that a reference means, if it is declared. Another catalog
// than the runtime's own is a part of the schema: see [SchemaOf].
func (c *Catalog) Relation(catalog, schema, name string) (Relation, bool) {
	if schema = SchemaOf(catalog, schema); schema == "" {
		schema = Public
	}
	r, ok := c.relations[Relation{sqltree.Fold(schema), sqltree.Fold(name)}]
	if !ok && sqltree.Fold(schema) == mainSchema {
		r, ok = c.relations[Relation{Public, sqltree.Fold(name)}]
	}
	return r, ok
}

// SchemaOf returns the schema that a reference names with a catalog: catalog.schema, or only
// the schema if the catalog is the runtime's own or none.
func SchemaOf(catalog, schema string) string {
	if foreign(catalog) {
		return catalog + "." + schema
	}
	return schema
}

// foreign reports whether a reference names another catalog than the runtime's own.
func foreign(catalog string) bool { return catalog != "" && sqltree.Fold(catalog) != CatalogName }

// Declares reports whether a relation of a schema is declared, or with the name ""
// whether the schema has any.
func (c *Catalog) Declares(schema, name string) bool {
	if name == "" {
		return c.schemas[sqltree.Fold(schema)]
	}
	_, ok := c.Relation("", schema, name)
	return ok
}

// mainSchema is DuckDB's name of the default schema.
const mainSchema = "main"

// FunctionNames returns the declared functions' names, sorted.
func (c *Catalog) FunctionNames() []string {
	names := make([]string, 0, len(c.functions))
	for _, f := range c.functions {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return names
}

// RelationNames returns the declared relations as a statement may write them,
// sorted; those in schema public without the schema.
func (c *Catalog) RelationNames() []string {
	return c.names(func(Relation) bool { return true })
}

func (c *Catalog) names(of func(Relation) bool) []string {
	names := make([]string, 0, len(c.relations))
	for _, r := range c.relations {
		if !of(r) {
			continue
		}
		if r.Schema == Public {
			names = append(names, r.Name)
			continue
		}
		names = append(names, r.Schema+"."+r.Name)
	}
	slices.Sort(names)
	return names
}

func (c *Catalog) verdict(sql string) *verdict {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.verdicts[sql]
}

// Unserved returns the error of [Contents.Unserved], or nil.
func (c *Catalog) Unserved(o Object, r Relation) *Error {
	if c.contents.Unserved == nil {
		return nil
	}
	return c.contents.Unserved(o, r)
}

// unserved returns the error of a name that is declared and does not serve, or nil.
func (c *Catalog) unserved(o Object, schema, name string) *Error {
	r := Relation{sqltree.Fold(schema), sqltree.Fold(name)}
	if r.Schema == "" || r.Schema == mainSchema {
		r.Schema = Public
	}
	return c.Unserved(o, r)
}

// Names resolves the names in a text; a [Catalog] does.
type Names interface {
	// Relation returns the declared relation that a reference names.
	Relation(catalog, schema, name string) (Relation, bool)
	// Function returns the declared function of that name, or nil.
	Function(name string) *Function
	// RelationNames and FunctionNames list all names, for suggestions.
	RelationNames() []string
	FunctionNames() []string
	// Keys returns the columns of a relation for which there are macros of [ByKey].
	Keys(Relation) []KeyColumn
}

var _ Names = (*Catalog)(nil)

// restricted is a catalog with only the relations and functions that a caller may name.
type restricted struct {
	*Catalog
	allow func(Relation) bool    // nil: all
	hides func(name string) bool // nil: none
}

func (r restricted) allows(relation Relation) bool { return r.allow == nil || r.allow(relation) }

func (r restricted) hidden(name string) bool { return r.hides != nil && r.hides(name) }

func (r restricted) Relation(catalog, schema, name string) (Relation, bool) {
	relation, ok := r.Catalog.Relation(catalog, schema, name)
	return relation, ok && r.allows(relation)
}

func (r restricted) Function(name string) *Function {
	if r.hidden(name) {
		return nil
	}
	return r.Catalog.Function(name)
}

func (r restricted) unserved(o Object, schema, name string) *Error {
	if schema == "" {
		schema = Public
	}
	if o == ObjectTable && !r.allows(Relation{sqltree.Fold(schema), sqltree.Fold(name)}) ||
		o == ObjectFunction && r.hidden(name) {
		return nil
	}
	return r.Catalog.unserved(o, schema, name)
}

func (r restricted) RelationNames() []string { return r.names(r.allows) }

func (r restricted) FunctionNames() []string {
	return slices.DeleteFunc(r.Catalog.FunctionNames(), r.hidden)
}

// verdictFor returns the cached verdict for the values of a request, or nil.
func (c *Catalog) verdictFor(sql string, req *Request) *verdict {
	v := c.verdict(sql)
	if v == nil || len(v.params) == 0 {
		return v
	}
	kinds := req.given().kinds(v.params)
	if kinds == v.kinds {
		return v
	}
	return c.verdict(sql + "\x00" + kinds)
}

func (c *Catalog) cache(sql string, v *verdict) {
	if len(sql) > textCached {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.verdicts) >= verdictsCached {
		clear(c.verdicts)
	}
	c.verdicts[sql] = v
	if len(v.params) > 0 {
		c.verdicts[sql+"\x00"+v.kinds] = v
	}
}

// release ends one use, taken under the commit lock by acquire.
func (c *Catalog) release() {
	if c.users.Add(-1) != 0 {
		return
	}
	if c.retired != nil {
		c.retired()
	}
	if c.gone != nil {
		c.gone()
	}
}

// acquire returns the current catalog, in use until it is released, and its
// epoch. If they were read separately, a publication could come between and the
// statement would see other functions than those in the catalog.
func (db *DB) acquire() (*Catalog, uint64) {
	db.commit.RLock()
	defer db.commit.RUnlock()
	db.current.users.Add(1)
	return db.current, db.epoch.Load()
}

// Renew returns a catalog with the same content and generation, for a publication
// that changes only the rows of these relations.
func (c *Catalog) Renew(changed ...Relation) *Catalog { return c.RenewTargets(nil, changed...) }

// RenewTargets is Renew for a publication after which these relations have other targets.
func (c *Catalog) RenewTargets(targets map[Relation]Target, changed ...Relation) *Catalog {
	contents := c.contents
	contents.Published, contents.Retired = nil, nil
	if len(targets) > 0 {
		contents.Targets = maps.Clone(contents.Targets)
		maps.Copy(contents.Targets, targets)
	}
	return &Catalog{
		Generation: c.Generation, relations: c.relations, functions: c.functions, schemas: c.schemas,
		contents: contents, verdicts: map[string]*verdict{}, renewed: true, changed: changed,
	}
}
