package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

type describeFunctionArgs struct {
	Name string `json:"name" doc:"Name of the function, as list_udfs shows it."`
}

// description is the full description of a declared function.
type description struct {
	Name        string           `json:"name"`
	Signature   string           `json:"signature"`
	Kind        string           `json:"kind"`
	Description string           `json:"description,omitempty"`
	Volatility  string           `json:"volatility"`
	Tables      []tableInput     `json:"tables,omitempty"`
	Arguments   []argument       `json:"arguments"`
	Returns     *valueType       `json:"returns,omitempty"` // of a scalar function
	Columns     []columnType     `json:"columns,omitempty"` // of a table function
	Body        string           `json:"body"`
	Checksum    string           `json:"checksum"`
	File        string           `json:"file,omitempty"`
	Line        int              `json:"line,omitempty"`
	Examples    []map[string]any `json:"examples,omitempty"`
	Lineage     lineage          `json:"lineage"`
}

type valueType struct {
	Type string `json:"type"`     // as declared
	SQL  string `json:"sql_type"` // DuckDB's
}

type argument struct {
	Name string `json:"name"`
	valueType
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required"`
	Default     *any   `json:"default,omitempty"` // nil: no default; may be null
}

type columnType struct {
	Name string `json:"name"`
	valueType
	Description string `json:"description,omitempty"`
}

type tableInput struct {
	Name    string       `json:"name"`
	Columns []columnType `json:"columns"`
}

// lineage are the dependencies and dependents of a function.
type lineage struct {
	Functions []string `json:"functions,omitempty"`
	Tables    []string `json:"tables,omitempty"`
	Columns   []string `json:"columns,omitempty"`
	UsedBy    []string `json:"used_by,omitempty"` // functions
}

func newDescribeFunction(env Env, c custom) (tools.Tool, error) {
	def := c.define(tools.Definition{
		Name: "describe_function",
		Description: "Describes one user-defined function: its signature, arguments, result, SQL body, where it " +
			"is declared, " +
			"examples from its tests, and what it reads. " +
			"Use it before calling a function in SQL, or to explain how a figure is calculated.",
		Returns: json.RawMessage(`{"type":"object","properties":{
			"name":{"type":"string"},"signature":{"type":"string"},"kind":{"enum":["scalar","table"]},
			"description":{"type":"string"},"volatility":{"enum":["immutable","stable","volatile"]},
			"tables":{"type":"array","items":{"type":"object"}},
			"arguments":{"type":"array","items":{"type":"object"}},
			"returns":{"type":"object"},
			"columns":{"type":"array","items":{"type":"object"}},
			"body":{"type":"string"},"checksum":{"type":"string"},"file":{"type":"string"},"line":{"type":"integer"},
			"examples":{"type":"array","items":{"type":"object"},"description":"Calls and what they give."},
			"lineage":{"type":"object"}},
			"required":["name","signature","kind","volatility","arguments","body","checksum","lineage"]}`),
		Tags: []string{"functions"},
	})
	return tools.Typed(def, func(_ context.Context, a describeFunctionArgs, in tools.Input) (description, error) {
		set, name, hides := env.Functions(), unquoted(a.Name), env.Hidden(in.Scope)
		f := set.Get(name)
		if f != nil && !hides(name) {
			return describe(set, f, hides), nil
		}
		if !hides(name) {
			if err := env.unserved(engine.ObjectFunction,
				engine.Relation{Schema: engine.Public, Name: sqltree.Fold(name)}); err != nil {
				return description{}, err
			}
		}
		return description{}, unknownFunction(set, a.Name, hides)
	})
}

func unknownFunction(set *functions.Set, name string, hides func(string) bool) error {
	names := make([]string, 0, set.Len())
	for _, f := range set.Declared() {
		if !hides(f.Name) {
			names = append(names, f.Name)
		}
	}
	err := tools.NewError(errcode.InvalidArguments, fmt.Sprintf("there is no user-defined function %q", name),
		"none is declared")
	if len(names) > 0 {
		err.Hint = "the functions are " + listed(names)
	}
	return err.Suggest(name, names)
}

func describe(set *functions.Set, f *functions.Function, hides func(string) bool) description {
	d := description{
		Name: f.Name, Signature: f.Signature(), Kind: string(f.Kind), Description: f.Declared.Description,
		Volatility: string(f.Volatility), Arguments: []argument{}, Body: f.Source, Checksum: f.Checksum,
		File: f.Position.File, Line: f.Position.Line, Lineage: lineageOf(set, f, hides),
	}
	signature := f.Declared.Signature
	for i, t := range f.Tables {
		d.Tables = append(d.Tables, tableInput{t.Name, columnTypes(t.Columns, signature.Tables[i].Columns)})
	}
	for i, a := range f.Args {
		declared := signature.Args[i]
		arg := argument{
			Name: a.Name, valueType: typeOf(a.Type), Description: declared.Description,
			Required: declared.IsRequired(),
		}
		if declared.HasDefault {
			value := encodable(declared.Default)
			arg.Default = &value
		}
		d.Arguments = append(d.Arguments, arg)
	}
	if f.Returns != nil {
		t := typeOf(f.Returns)
		d.Returns = &t
	}
	d.Columns = columnTypes(f.Columns, signature.Returns.Columns)
	for _, t := range f.Declared.Tests {
		d.Examples = append(d.Examples, example(t))
	}
	return d
}

func typeOf(t *functions.Type) valueType { return valueType{t.String(), t.SQL()} }

func columnTypes(columns []functions.OutputColumn, declared []spicepod.Column) []columnType {
	var out []columnType
	for i, c := range columns {
		out = append(out, columnType{c.Name, typeOf(c.Type), declared[i].Description})
	}
	return out
}

// example is a test as a call and its result.
func example(t spicepod.FunctionTest) map[string]any {
	out := map[string]any{"args": map[string]any{}}
	if t.Name != "" {
		out["name"] = t.Name
	}
	if len(t.Args) > 0 {
		out["args"] = encodable(t.Args)
	}
	if len(t.Tables) > 0 {
		tables := map[string]any{}
		for name, rows := range t.Tables {
			list := make([]any, len(rows))
			for i, row := range rows {
				list[i] = encodable(row)
			}
			tables[name] = list
		}
		out["tables"] = tables
	}
	switch t.Expects() {
	case spicepod.ExpectError:
		out["error"] = t.Error
	case spicepod.ExpectRows:
		out["rows"] = encodable(t.Rows)
	default:
		out["returns"] = encodable(t.Returns)
	}
	return out
}

func lineageOf(set *functions.Set, f *functions.Function, hides func(string) bool) lineage {
	l := lineage{Functions: slices.DeleteFunc(slices.Clone(f.Uses.Functions), hides)}
	for _, r := range f.Uses.Relations {
		l.Tables = append(l.Tables, tableName(r))
	}
	for _, c := range f.Uses.Columns {
		name := tableName(c.Relation) + "." + namePart(c.Column)
		if !slices.Contains(l.Columns, name) {
			l.Columns = append(l.Columns, name)
		}
	}
	for _, other := range set.Declared() {
		calls := func(name string) bool { return sqltree.Fold(name) == sqltree.Fold(f.Name) }
		if slices.ContainsFunc(other.Uses.Functions, calls) && !hides(other.Name) {
			l.UsedBy = append(l.UsedBy, other.Name)
		}
	}
	return l
}

func tableName(r engine.Relation) string { return Dataset{Relation: r}.short() }
