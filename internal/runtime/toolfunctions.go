package runtime

import (
	"fmt"

	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/udf"
)

// toolFunctions returns the entries of `tools:` with as_sql as functions. One
// that cannot be a function is a problem and remains a tool.
func (a *attempt) toolFunctions(c *registry.Catalog) []*udf.ToolFunction {
	var list []*udf.ToolFunction
	for i, entry := range a.pod.Tools {
		def := c.Get(entry.Name)
		if !entry.AsSQL || def == nil {
			continue
		}
		f, problem := udf.NewToolFunction(a.pod, i, def)
		if problem == nil {
			problem = a.toolFunctionObstacle(i)
		}
		if problem != nil {
			a.problem(*problem)
			continue
		}
		list = append(list, f)
	}
	return list
}

// makeToolFunctions creates those that are new or differ and drops the others
// of the current generation.
func (a *attempt) makeToolFunctions(g *Generation) error {
	for _, old := range a.old.toolFunctions {
		if udf.Named(g.toolFunctions, old.Name) == nil && a.set.Get(old.Name) == nil {
			if err := a.tx.Exec(old.Drop()); err != nil {
				return fmt.Errorf("drop function %s: %w", old.Name, err)
			}
			a.made = append(a.made, "function "+old.Name)
		}
	}
	for _, f := range g.toolFunctions {
		if f.Same(udf.Named(a.old.toolFunctions, f.Name)) {
			continue
		}
		if err := f.Create(a.tx); err != nil {
			return fmt.Errorf("function of tool %s: %w", f.Name, err)
		}
		a.made = append(a.made, "function "+f.Name)
	}
	return udf.FillTools(a.tx, g.toolFunctions)
}

// toolFunctionObstacle returns why the tool of entry i cannot be a function, or
// nil.
func (a *attempt) toolFunctionObstacle(i int) *spicepod.Problem {
	name := a.pod.Tools[i].Name
	fail := func(format string, args ...any) *spicepod.Problem {
		p := a.pod.KeyProblem(fmt.Sprintf("tools[%d].name", i), fmt.Sprintf("cannot expose tool '%s' as SQL: ", name)+fmt.Sprintf(format, args...), "rename it")
		p.Component = "tool " + name
		return &p
	}
	switch {
	case !a.pod.Runtime.Functions.Enabled:
		return fail("runtime.functions.enabled is false")
	case a.set.Get(name) != nil:
		return fail("a function of that name is declared at %s", a.set.Get(name).Position)
	case a.s.db.Builtins().Has(name):
		return fail("DuckDB has a function of that name")
	}
	return nil
}
