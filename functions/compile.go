package functions

import (
	"context"
	"reflect"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/spiced-sql/spiced/functions/prelude"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// Compile parses and orders the enabled functions of the pod. Every problem has its
// exact position, inside the body too, and the component it belongs to.
//
// reuse is the running generation, or nil. A function with an equal declaration that
// calls the same functions is taken from there without being parsed again. A function
// with a problem keeps its last good version if reuse has one that still works, and
// so does a function that was removed but is still called. Otherwise it is omitted,
// and each caller has a problem that names it.
//
// tools are the functions that call tools; they are compiled as those of the pod are.
//
// Nothing is bound to tables or other functions yet: see [Function.Create].
func Compile(ctx context.Context, db *engine.DB, pod *spicepod.Pod, relations []engine.Relation, reuse *Set,
	tools ...ToolDeclaration,
) (*Set, spicepod.Problems) {
	c := &compiler{
		db: db, pod: pod, reuse: reuse,
		relations: engine.NewCatalog(engine.Contents{Relations: relations}),
		units:     make(map[string]*unit, len(pod.Functions)),
		done:      make(map[string]*Function, len(pod.Functions)),
	}
	c.collect(tools)
	c.read(ctx)
	c.keepCalled()
	groups := c.order()
	for _, group := range groups {
		for _, u := range group {
			u.group = group
		}
	}
	for _, group := range groups {
		c.buildGroup(ctx, group)
	}
	index := make(map[string]int, len(c.list))
	for _, u := range c.list {
		c.problems = append(c.problems, u.reported()...)
		index[u.key] = u.index
	}
	c.problems.Sort()
	return newSet(c.built, index), c.problems
}

// compiler is one run of [Compile].
type compiler struct {
	db        *engine.DB
	pod       *spicepod.Pod
	reuse     *Set
	relations *engine.Catalog
	stages    chan *engine.Stage // idle ones, while units are read

	list     []*unit          // in the order of the Spicepod
	units    map[string]*unit // by folded name
	done     map[string]*Function
	built    []*Function // callees before callers
	problems spicepod.Problems
}

// unit is a declaration that is being compiled to a [Function].
type unit struct {
	declared *spicepod.Function
	tool     string // that it calls
	index    int
	path     string
	key      string    // folded name
	old      *Function // of the running generation, or nil
	same     bool      // old has the same declaration
	lastGood bool      // the declaration is an old one, whose source is known to be good
	read     *Function // types and body, when not same
	built    *Function // a leaf, built while others were read
	callees  []string  // folded names of declared functions, once each
	problems spicepod.Problems

	group []*unit // it and the units in the same dependency cycle
	begun bool    // the group has been built, or is being built
	cycleSearch
}

// component names the unit in problems.
func (u *unit) component() string {
	if u.tool != "" {
		return "tool " + u.declared.Name
	}
	return "function " + u.declared.Name
}

// cycleSearch is the state of a unit in the search for cycles.
type cycleSearch struct {
	number, low int
	onStack     bool
}

// collect lists the enabled declarations and refuses duplicate names.
func (c *compiler) collect(tools []ToolDeclaration) {
	for i := range c.pod.Functions {
		d := &c.pod.Functions[i]
		if d.Enabled {
			c.addUnit(&unit{declared: d, index: i, path: "functions[" + itoa(i) + "]", key: fold(d.Name)})
		}
	}
	for i := range tools {
		d := &tools[i].Declared
		c.addUnit(&unit{
			declared: d, tool: tools[i].Tool, index: len(c.pod.Functions) + i, path: tools[i].Path,
			key: fold(d.Name),
		})
	}
}

func (c *compiler) addUnit(u *unit) {
	u.declared = withLimits(u.declared, c.pod.Runtime.Tools.Limits)
	d := u.declared
	c.list = append(c.list, u)
	if c.nameTaken(u) {
		return
	}
	c.units[u.key] = u
	u.old = c.reuse.Get(d.Name)
	u.same = u.old != nil && u.old.Name == d.Name && u.old.tool == u.tool && reflect.DeepEqual(u.old.Declared, *d)
}

// nameTaken reports whether another function has the name.
func (c *compiler) nameTaken(u *unit) bool {
	r := &reader{pod: c.pod, path: u.path, name: u.declared.Name}
	of := [2]string{"user function", "scalar UDF"}
	if u.declared.Kind == spicepod.KindTable {
		of[0] = "user table function"
	}
	switch first := c.units[u.key]; {
	case first != nil:
		if first.declared.Kind == spicepod.KindTable {
			of[1] = "table function"
		}
		r.fail(".name", "the other one is at "+c.pod.At(first.path+".name").String(), "%s", takenMessage(of))
	case c.db.Builtins().Has(u.key) || grammar[u.key]:
		r.fail(".name", "DuckDB has a function of that name", "%s", takenMessage(of))
	case u.key == ListUDFs:
		of[1] = "table function"
		r.fail(".name", "it lists the functions", "%s", takenMessage(of))
	default:
		return false
	}
	u.problems = r.problems
	return true
}

func takenMessage(of [2]string) string {
	return "failed to register " + of[0] + " because a " + of[1] +
		" with this name is already registered; rename the function to avoid changing query semantics"
}

// ListUDFs is the table function that lists all functions.
const ListUDFs = "list_udfs"

// grammar are the names of calls that are in DuckDB's grammar, not in its catalog.
var grammar = map[string]bool{
	"array": true, "cast": true, "coalesce": true, "columns": true, "exists": true, "extract": true,
	"grouping": true, "grouping_id": true, "if": true, "ifnull": true, "not": true, "nullif": true, "overlay": true,
	"position": true, "row": true, "struct": true, "substring": true, "trim": true, "try_cast": true, "unpack": true,
	"values": true,
	"map":    true, "any": true, "all": true, "some": true, "in": true, "case": true, "lambda": true, "collation": true,
	"operator": true,
}

// read parses the declarations that the running generation does not have, on all
// processors: DuckDB's parser takes most of the time.
func (c *compiler) read(ctx context.Context) {
	c.stages = make(chan *engine.Stage, runtimeProcs())
	group := errgroup.Group{}
	group.SetLimit(cap(c.stages))
	for _, u := range c.list {
		if u.same || len(u.problems) > 0 {
			continue
		}
		group.Go(func() error { c.readUnit(ctx, u); c.leaf(ctx, u); return nil })
	}
	group.Wait() // no error: each unit has its own problems
	close(c.stages)
	for s := range c.stages {
		s.Close()
	}
	for _, u := range c.list {
		c.link(u)
	}
}

// readUnit parses the types and the body of one declaration. Faults in the types do not
// hide those that the body has whatever its types are.
func (c *compiler) readUnit(ctx context.Context, u *unit) {
	d := u.declared
	r := &reader{pod: c.pod, path: u.path, name: d.Name}
	f := &Function{
		Declared: *d, Path: u.path, Name: d.Name, Kind: d.Kind, Volatility: d.Volatility,
		Source: dedent(d.Body), Position: c.pod.At(u.path),
	}
	if f.tool = u.tool; u.tool == "" && !u.lastGood {
		r.source(d)
	}
	readable := len(r.problems) == 0
	r.signature(f, d)
	u.problems = r.problems
	if readable && f.IsSQL() {
		if err := c.readBody(ctx, f, len(u.problems) > 0); err != nil {
			u.problems = append(u.problems, f.bodyProblem(c.pod, err))
		}
	}
	if len(u.problems) > 0 {
		return
	}
	u.read = f
	if !f.IsSQL() {
		return
	}
	for _, call := range f.body.parsed.st.Calls {
		if name := fold(call.Name); !slices.Contains(f.calls, name) {
			f.calls = append(f.calls, name)
		}
	}
}

// readBody parses the body of f. Without types, it also checks what [builder] would
// otherwise check later.
func (c *compiler) readBody(ctx context.Context, f *Function, untyped bool) (err error) {
	f.body.text = bodyText(f.Declared.Body)
	if err = f.parse(ctx, c.db); err == nil {
		err = f.inlineCTEs(ctx, c.db)
	}
	if err != nil {
		return quoteReserved(f, err)
	}
	if untyped && len(f.Args) == len(f.Declared.Signature.Args) {
		return (&builder{c: c, f: f, p: f.body.parsed}).columns()
	}
	return nil
}

// leaf builds and proves a unit that needs only DuckDB's own functions, while others
// are read. c.done is still empty. One with a WITH clause is proven when it is created, since
// it may have to be tried elsewhere before.
func (c *compiler) leaf(ctx context.Context, u *unit) {
	if u.read == nil || !u.read.IsSQL() || u.read.HasWith() || len(u.read.body.parsed.st.Relations) > 0 ||
		slices.ContainsFunc(u.read.calls, func(name string) bool {
			return c.units[name] != nil || c.reuse.Get(name) != nil
		}) {
		return
	}
	f, problems := c.build(u)
	if !problems.HasErrors() {
		if p := c.proveLeaf(ctx, f); p != nil {
			problems = append(problems, *p)
		}
	}
	if u.problems = problems; !problems.HasErrors() {
		u.built = f
	}
}

// proveLeaf proves f on an idle stage, or on a new one.
func (c *compiler) proveLeaf(ctx context.Context, f *Function) *spicepod.Problem {
	var stage *engine.Stage
	select {
	case stage = <-c.stages:
	default:
		var err error
		if stage, err = c.db.Stage(ctx); err != nil {
			return nil // it is proven when it is created
		}
		// The type is known without the optimizer, in less than half the time.
		for _, sql := range append(prelude.Plain(true), "PRAGMA disable_optimizer") {
			if stage.Exec(sql) != nil {
				break // slower, but correct
			}
		}
	}
	var p *spicepod.Problem
	err := stage.Run(ctx, func() error { p = f.Prove(stage, c.pod, Published()); return nil })
	f.proven = err == nil && p == nil
	select {
	case c.stages <- stage:
	default:
		stage.Close()
	}
	return p
}

// inputs are the tables that the body of a table function sees.
func (f *Function) inputs() []string {
	var names []string
	for _, t := range f.Tables {
		names = append(names, t.Name)
	}
	if len(f.Args) > 0 {
		names = append(names, reservedTable)
	}
	return names
}

// link resolves the declared functions that u calls.
func (c *compiler) link(u *unit) {
	for _, name := range u.calls() {
		if c.units[name] != nil {
			u.callees = append(u.callees, name)
		}
	}
}

// buildGroup builds the functions of one group: one function, or the functions of a
// dependency cycle.
func (c *compiler) buildGroup(ctx context.Context, group []*unit) {
	if group[0].begun {
		return
	}
	for _, u := range group {
		u.begun = true
	}
	if len(group) > 1 || slices.Contains(group[0].callees, group[0].key) {
		for _, u := range group {
			c.cycle(u, group)
		}
		return
	}
	u := group[0]
	if u.problems.HasErrors() {
		c.keep(ctx, u)
		return
	}
	if u.built != nil {
		c.add(u.key, u.built)
		return
	}
	if f := c.unchanged(u); f != nil {
		c.add(u.key, f)
		return
	}
	if u.read == nil {
		c.readUnit(ctx, u) // the same declaration, but a callee changed
	}
	if len(u.problems) == 0 {
		f, problems := c.build(u)
		u.problems = problems
		if !problems.HasErrors() {
			c.add(u.key, f)
			return
		}
	}
	c.keep(ctx, u)
}

// source is the parsed version of the unit's body, or nil.
func (u *unit) source() *Function {
	if u.read != nil {
		return u.read
	}
	return u.old
}

// calls are the folded names of everything that the unit's body calls.
func (u *unit) calls() []string {
	switch {
	case u.same:
		return u.old.calls
	case u.read != nil:
		return u.read.calls
	}
	return nil
}

func (c *compiler) add(key string, f *Function) {
	c.done[key] = f
	c.built = append(c.built, f)
}

// Relation, Function, RelationNames and FunctionNames let the engine judge a body by
// the functions compiled so far.
func (c *compiler) Relation(catalog, schema, name string) (engine.Relation, bool) {
	return c.relations.Relation(catalog, schema, name)
}

func (c *compiler) Function(name string) *engine.Function {
	if f := c.done[fold(name)]; f != nil {
		return f.Engine
	}
	return nil
}

// Keys returns nothing: a body reads the public view.
func (c *compiler) Keys(engine.Relation) []engine.KeyColumn { return nil }

func (c *compiler) RelationNames() []string { return c.relations.RelationNames() }

func (c *compiler) FunctionNames() []string {
	names := make([]string, 0, len(c.built))
	for _, f := range c.built {
		names = append(names, f.Name)
	}
	return names
}

var _ engine.Names = (*compiler)(nil)
