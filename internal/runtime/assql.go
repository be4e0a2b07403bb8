package runtime

import (
	"fmt"

	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/udf"
)

// toolFunctions are the entries of `tools:` with as_sql as functions. One that
// cannot be made is a problem and stays a tool.
func (m *maker) toolFunctions(c *registry.Catalog) []*udf.ToolFunction {
	var list []*udf.ToolFunction
	for i, entry := range m.pod.Tools {
		def := c.Get(entry.Name)
		if !entry.AsSQL || def == nil {
			continue
		}
		f, problem := udf.NewToolFunction(m.pod, i, def)
		if problem == nil {
			problem = m.toolFunctionObstacle(i)
		}
		if problem != nil {
			m.problem(*problem)
			continue
		}
		list = append(list, f)
	}
	return list
}

// makeToolFunctions makes those that are new or changed and drops those that
// are gone.
func (m *maker) makeToolFunctions(g *Generation) error {
	for _, old := range m.old.toolFunctions {
		if udf.Named(g.toolFunctions, old.Name) == nil && m.set.Get(old.Name) == nil {
			if err := m.tx.Exec(old.Drop()); err != nil {
				return fmt.Errorf("drop function %s: %w", old.Name, err)
			}
			m.made = append(m.made, "function "+old.Name)
		}
	}
	for _, f := range g.toolFunctions {
		if f.Same(udf.Named(m.old.toolFunctions, f.Name)) {
			continue
		}
		if err := f.Create(m.tx); err != nil {
			return fmt.Errorf("function of tool %s: %w", f.Name, err)
		}
		m.made = append(m.made, "function "+f.Name)
	}
	return udf.FillTools(m.tx, g.toolFunctions)
}

// toolFunctionObstacle is why the tool of entry i cannot be a function.
func (m *maker) toolFunctionObstacle(i int) *spicepod.Problem {
	name := m.pod.Tools[i].Name
	fail := func(format string, args ...any) *spicepod.Problem {
		p := m.pod.KeyProblem(fmt.Sprintf("tools[%d].name", i), fmt.Sprintf("cannot expose tool '%s' as SQL: ", name)+fmt.Sprintf(format, args...), "rename it")
		p.Component = "tool " + name
		return &p
	}
	switch {
	case !m.pod.Runtime.Functions.Enabled:
		return fail("runtime.functions.enabled is false")
	case m.set.Get(name) != nil:
		return fail("a function of that name is declared at %s", m.set.Get(name).Position)
	case m.d.db.Builtins().Has(name):
		return fail("DuckDB has a function of that name")
	}
	return nil
}
