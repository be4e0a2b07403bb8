package udf

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// ToolHandler is the engine's handler that calls a tool for SQL: its input is
// {"tool": name, "arguments": {…}}, its output the result as JSON, which must be a scalar
// or null.
const ToolHandler = "as_sql"

// ToolFunction is a tool that statements call as a function: an entry of
// `tools:` with as_sql. It is called once for each row.
type ToolFunction struct {
	Name   string
	Engine *engine.Function
	entry  spicepod.Tool
	ddl    string
}

// NewToolFunction makes the function of entry i of the pod's tools, whose tool has the
// definition def. A problem has its position in the entry.
func NewToolFunction(pod *spicepod.Pod, i int, def *tools.Definition) (*ToolFunction, *spicepod.Problem) {
	entry := pod.Tools[i]
	fail := func(below, hint, format string, args ...any) (*ToolFunction, *spicepod.Problem) {
		p := pod.Problem(fmt.Sprintf("tools[%d]%s", i, below), fmt.Sprintf("cannot expose tool '%s' as SQL: ", entry.Name)+fmt.Sprintf(format, args...), hint)
		p.Component = "tool " + entry.Name
		return nil, &p
	}
	if entry.Signature == nil {
		return fail(".as_sql", "add signature: with args and returns", "`as_sql: true` but no `signature:`")
	}
	if len(entry.Signature.Tables) > 0 {
		return fail(".signature.tables", "", "a tool takes no tables")
	}
	if entry.Signature.Returns.Type == "" {
		return fail(".signature", "name one type, such as utf8", "`signature.returns` is required and is one type")
	}
	returns, err := wideType(entry.Signature.Returns.Type)
	if err != nil {
		return fail(".signature.returns", hintOf(err), "returns: %s", err)
	}
	f := &ToolFunction{Name: entry.Name, entry: entry, Engine: &engine.Function{Name: entry.Name, Random: true}}
	var declared, params, object []string
	for j, a := range entry.Signature.Args {
		t, err := wideType(a.Type)
		if err != nil {
			return fail(fmt.Sprintf(".signature.args[%d].type", j), hintOf(err), "arg '%s': %s", a.Name, err)
		}
		arg := engine.FunctionArg{Name: a.Name, Type: t.SQL(), Numeric: t.Numeric(), Optional: !a.IsRequired()}
		if arg.Optional {
			if arg.Default, err = t.Literal(a.Default); err != nil {
				return fail(fmt.Sprintf(".signature.args[%d].default", j), "", "the default of arg '%s': %s", a.Name, err)
			}
		}
		f.Engine.Args = append(f.Engine.Args, arg)
		declared = append(declared, a.Name+" "+t.String())
		params = append(params, engine.Identifier(a.Name)+" "+t.SQL())
		object = append(object, engine.Literal(a.Name)+", "+engine.Identifier(a.Name))
	}
	f.Engine.Signature = fmt.Sprintf("%s(%s) → %s", entry.Name, strings.Join(declared, ", "), returns)
	input := fmt.Sprintf("json_object('tool', %s, 'arguments', json_object(%s))::VARCHAR", engine.Literal(def.Name), strings.Join(object, ", "))
	f.ddl = fmt.Sprintf("CREATE OR REPLACE FUNCTION %s(%s) AS CAST((%s(%s, %s)::JSON)->>'$' AS %s)",
		engine.Qualified(engine.Public, entry.Name), strings.Join(params, ", "), engine.Native, engine.Literal(ToolHandler), input, returns.SQL())
	return f, nil
}

// wideType is the type of an argument or result of a tool: whole numbers are int64, others
// float64.
func wideType(declared string) (*functions.Type, error) {
	t, err := functions.ParseType(declared)
	if err != nil {
		return nil, err
	}
	switch t.Duck().ID {
	case engine.TinyInt, engine.SmallInt, engine.Integer, engine.BigInt, engine.UTinyInt, engine.USmallInt, engine.UInteger:
		return functions.ParseType("int64")
	case engine.Float, engine.Double:
		return functions.ParseType("float64")
	case engine.Varchar, engine.Boolean:
		if !t.Duck().JSON {
			return t, nil
		}
	}
	return nil, fmt.Errorf("type %s is not supported; use integers up to int64, floats, utf8 or boolean", t)
}

func hintOf(err error) string {
	var wrong *functions.TypeError
	if errors.As(err, &wrong) {
		return wrong.Hint
	}
	return ""
}

// DDL is the statement that creates the function.
func (f *ToolFunction) DDL() string { return f.ddl }

// Same reports whether f and old are created by the same statement.
func (f *ToolFunction) Same(old *ToolFunction) bool { return old != nil && f.ddl == old.ddl }

// Create creates the function.
func (f *ToolFunction) Create(tx *engine.Tx) error { return tx.Exec(f.ddl) }

// Drop removes it.
func (f *ToolFunction) Drop() string {
	return "DROP FUNCTION IF EXISTS " + engine.Qualified(engine.Public, f.Name)
}

// FillTools lists the tools that are functions in list_udfs, with source "tool", and
// removes all others with it.
func FillTools(tx *engine.Tx, list []*ToolFunction) error {
	if err := tx.Exec("DELETE FROM " + engine.Qualified(engine.Core, rowsOf(tableUDFs)) + ` WHERE "source" = 'tool'`); err != nil {
		return err
	}
	var rows [][]any
	for _, f := range list {
		rows = append(rows, []any{f.Name, "tool", "scalar", "volatile", f.entry.From, textOrNull(f.entry.Description)})
	}
	return tx.Insert(engine.Core, rowsOf(tableUDFs), rows)
}

// Named returns the function of that name in any case, or nil.
func Named(list []*ToolFunction, name string) *ToolFunction {
	for _, f := range list {
		if sqltree.Fold(f.Name) == sqltree.Fold(name) {
			return f
		}
	}
	return nil
}
