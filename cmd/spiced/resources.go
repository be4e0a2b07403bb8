package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/protocols/mcpserver"
	"github.com/spiced-sql/spiced/internal/runtime"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin"
)

// resourceRows is how many rows of a dataset an MCP client gets.
const resourceRows = 5

// resources describes datasets and functions to MCP clients, with the results of
// the built-in tools.
type resources struct {
	runtime *runtime.Runtime
	tools   builtin.Caller
}

var _ mcpserver.Resources = resources{}

func newResources(d *runtime.Runtime) (resources, error) {
	all, err := builtin.NewCaller(d.ToolEnv())
	return resources{d, all}, err
}

func (r resources) List(scope tools.Scope) []mcpserver.Resource {
	var list []mcpserver.Resource
	var listed []struct{ Table, Description string }
	if r.call(context.Background(), scope, "list_datasets", map[string]any{}, &listed) == nil {
		for _, d := range listed {
			list = append(list, mcpserver.Resource{Kind: mcpserver.Datasets, Name: d.Table, Description: d.Description})
		}
	}
	if g := r.runtime.Current(); g != nil {
		hides := r.runtime.ToolEnv().Hidden(scope)
		for _, f := range g.Functions.Declared() {
			if hidden(f) || hides(f.Name) {
				continue
			}
			list = append(list, mcpserver.Resource{Kind: mcpserver.Functions, Name: f.Name, Description: f.Declared.Description})
		}
	}
	return list
}

func (r resources) Read(ctx context.Context, scope tools.Scope, kind mcpserver.Kind, name string) (string, error) {
	read := r.function
	if kind == mcpserver.Datasets {
		read = r.dataset
	}
	text, err := read(ctx, scope, name)
	var failed *tools.Error
	if errors.As(err, &failed) && failed.Code == errcode.InvalidArguments {
		return "", mcpserver.ErrNoResource
	}
	return text, err
}

// dataset returns the schema and some rows.
func (r resources) dataset(ctx context.Context, scope tools.Scope, name string) (string, error) {
	var schema string
	if err := r.call(ctx, scope, "table_schema", map[string]any{"tables": []string{name}}, &schema); err != nil {
		return "", err
	}
	var rows json.RawMessage
	if err := r.call(ctx, scope, "random_sample", map[string]any{"dataset": name, "limit": resourceRows},
		&rows); err != nil {
		return schema, ctx.Err() // the schema alone is useful too
	}
	return fmt.Sprintf("%s\nSome rows:\n\n```json\n%s\n```\n", schema, rows), nil
}

// hidden reports whether a function is not for models, by as_tool: false.
func hidden(f *functions.Function) bool { return f.Declared.AsTool != nil && !*f.Declared.AsTool }

// function returns the documentation of a function.
func (r resources) function(ctx context.Context, scope tools.Scope, name string) (string, error) {
	if g := r.runtime.Current(); g != nil {
		if f := g.Functions.Get(name); f != nil && hidden(f) {
			return "", mcpserver.ErrNoResource
		}
	}
	var f struct {
		Signature, Description, Volatility, Body string
		Arguments                                []struct{ Name, Type, Description string }
		Examples                                 []json.RawMessage
	}
	if err := r.call(ctx, scope, "describe_function", map[string]any{"name": name}, &f); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "## `%s`\n\n", f.Signature)
	if f.Description != "" {
		fmt.Fprintf(&b, "%s\n\n", f.Description)
	}
	for _, a := range f.Arguments {
		if a.Description != "" {
			fmt.Fprintf(&b, "- `%s`: %s\n", a.Name, a.Description)
		}
	}
	fmt.Fprintf(&b, "\nVolatility: %s\n\n```sql\n%s\n```\n", f.Volatility, strings.TrimSpace(f.Body))
	for _, e := range f.Examples {
		fmt.Fprintf(&b, "\nExample: `%s`\n", e)
	}
	return b.String(), nil
}

func (r resources) call(ctx context.Context, scope tools.Scope, name string, args map[string]any, result any) error {
	return r.tools.Call(registry.WithScope(ctx, scope), scope, name, args, result)
}
