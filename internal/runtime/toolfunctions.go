package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/bodies/body"
	"github.com/spiced-sql/spiced/internal/bodies/toolcall"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/llm/models"
	"github.com/spiced-sql/spiced/internal/peers/mcpclient"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin"
	"github.com/spiced-sql/spiced/udf"
)

// This file makes the functions that call tools: the entries of `tools:` with as_sql. They are
// compiled and created with the functions of the Spicepod, so that bodies and views can call
// them. Their tools are found when they are called: those of a server may come later.

// loadBuiltins makes the built-in tools of the enabled domains and the entries of `tools:`. An
// entry with the name of a built-in tool replaces it; one that cannot be made is a problem.
func loadBuiltins(b *build) error {
	env := b.s.ToolEnv()
	if len(b.pod.Metrics) == 0 {
		env.Metrics = nil
	}
	list, err := builtin.Load(env, b.s.tools.domains)
	if err != nil {
		return err
	}
	for i, entry := range b.pod.Tools {
		if entry.Server() {
			continue
		}
		e := spicepod.Entry{
			Pod: b.pod, Path: fmt.Sprintf("tools[%d]", i), Component: "tool " + entry.Name,
			Params: entry.Params,
		}
		switch {
		case entry.Of() != "":
			checkReference(&e, entry)
		case entry.Builtin() == "":
			e.Fail(".from", "write builtin: and a built-in tool, mcp: and a command or URL, spiced: and the URL of another "+
				"runtime, or, with as_sql, tool: and a tool", "tools from %q are not served", entry.Scheme())
		default:
			e.CheckReferences()
		}
		if b.problems(e.Problems); e.Fault() != nil || entry.Of() != "" {
			continue
		}
		at := b.pod.At(e.Path)
		tool, err := builtin.Customise(env, entry, b.pod.Runtime.Tools.Documents, fmt.Sprintf("%s:%d", at.File, at.Line))
		if err != nil {
			b.problem(*e.Problem(".from", "", "%s", err))
			continue
		}
		list = slices.DeleteFunc(list, func(t tools.Tool) bool { return t.Definition().Name == entry.Name })
		list = append(list, tool)
	}
	b.builtins = list
	return nil
}

// checkReference checks an entry that names another tool.
func checkReference(e *spicepod.Entry, entry spicepod.Tool) {
	if len(entry.Params) > 0 {
		e.Fail(".params", "remove them", "an entry from tool: takes no params")
	}
	if !entry.AsSQL {
		e.Fail(".from", "add as_sql: true, or remove the entry",
			"tool %q is there already; an entry from tool: makes a SQL function of it", entry.Of())
	}
}

// declareTools returns the declarations of the functions that call tools. An entry that cannot
// be a function is a problem and remains a tool.
func declareTools(b *build) []functions.ToolDeclaration {
	var list []functions.ToolDeclaration
	for i, entry := range b.pod.Tools {
		if !entry.AsSQL || entry.Server() {
			continue
		}
		name, def, problem := toolOf(b, i)
		if problem == nil && name != "" {
			problem = nameObstacle(b, i)
		}
		if problem == nil && name != "" {
			var d functions.ToolDeclaration
			if d, problem = udf.DeclareTool(b.pod, i, name, def); problem == nil {
				list = append(list, d)
			}
		}
		if problem != nil {
			b.problem(*problem)
		}
	}
	return list
}

// toolOf returns the tool that entry i makes a function of, and its definition, which is nil
// if its server has not answered. It returns "" if the entry has a fault already.
func toolOf(b *build, i int) (name string, def *tools.Definition, problem *spicepod.Problem) {
	entry := b.pod.Tools[i]
	if entry.Of() == "" {
		def = definition(b.builtins, entry.Name)
		if def == nil || entry.Builtin() == "" {
			return "", nil, nil
		}
		return entry.Name, def, nil
	}
	name = strings.ReplaceAll(entry.Of(), "/", "__")
	if len(entry.Params) > 0 {
		return "", nil, nil
	}
	agents, err := (&models.Agents{}).Tools(b.pod)
	if err != nil {
		return "", nil, nil // reported by the catalog
	}
	known := slices.Concat(b.builtins, b.serverTools(), agents)
	if def = definition(known, name); def != nil {
		return def.Name, def, nil
	}
	server, _, _ := strings.Cut(name, "__")
	if declaresServer(b.pod, server) && !hasTools(b.servers, server) {
		return name, nil, nil
	}
	e := spicepod.Entry{Pod: b.pod, Path: fmt.Sprintf("tools[%d]", i), Component: "tool " + entry.Name}
	if slices.ContainsFunc(b.pod.Functions, func(f spicepod.Function) bool {
		return sqltree.Fold(f.Name) == sqltree.Fold(name)
	}) {
		return "", nil, e.Problem(".from", "call it by its name",
			"%q is a function of the Spicepod, which SQL can call", name)
	}
	names := make([]string, len(known))
	for i, t := range known {
		names[i] = t.Definition().Name
	}
	return "", nil, e.Problem(".from", nearest.Hint(name, names,
		"write tool: and the name of a built-in tool, of an agent, or server__tool"), "there is no tool %q", name)
}

// declaresServer reports whether the pod declares a server of that name, which is not connected
// where a Spicepod is only checked.
func declaresServer(pod *spicepod.Pod, name string) bool {
	return slices.ContainsFunc(pod.Tools, func(t spicepod.Tool) bool {
		return t.Server() && sqltree.Fold(t.Name) == sqltree.Fold(name)
	})
}

// hasTools reports whether the server of that name has answered.
func hasTools(servers []*mcpclient.Server, name string) bool {
	return slices.ContainsFunc(servers, func(s *mcpclient.Server) bool {
		return sqltree.Fold(s.Name()) == sqltree.Fold(name) && len(s.Tools()) > 0
	})
}

func definition(list []tools.Tool, name string) *tools.Definition {
	for _, t := range list {
		if sqltree.Fold(t.Definition().Name) == sqltree.Fold(name) {
			return t.Definition()
		}
	}
	return nil
}

// nameObstacle returns why no function can have the name of entry i, or nil.
func nameObstacle(b *build, i int) *spicepod.Problem {
	name := b.pod.Tools[i].Name
	fail := func(format string, args ...any) *spicepod.Problem {
		p := b.pod.KeyProblem(fmt.Sprintf("tools[%d].name", i), fmt.Sprintf("cannot expose tool '%s' as SQL: ", name)+
			fmt.Sprintf(format, args...), "rename it")
		p.Component = "tool " + name
		return &p
	}
	if !b.pod.Runtime.Functions.Enabled {
		return fail("runtime.functions.enabled is false")
	}
	for j := range b.pod.Functions {
		if f := &b.pod.Functions[j]; f.Enabled && sqltree.Fold(f.Name) == sqltree.Fold(name) {
			return fail("a function of that name is declared at %s", b.pod.At(fmt.Sprintf("functions[%d]", j)))
		}
	}
	if b.s.db.Builtins().Has(name) {
		return fail("DuckDB has a function of that name")
	}
	return nil
}

// newToolBody makes the body of a function that calls a tool.
func (s *services) newToolBody(f *functions.Function, spec body.Spec) (body.Body, error) {
	return toolcall.New(spec, func(ctx context.Context, arguments json.RawMessage) tools.Result {
		return s.tools.registry.CallInStatement(ctx, f.Name, f.Tool(), arguments)
	})
}
