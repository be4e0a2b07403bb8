package functions

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/arrowrows"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/spicepod"
)

// IsSQL reports whether the body is SQL.
func (f *Function) IsSQL() bool { return f.Declared.IsSQL() }

// SQL is the body as SQL: of a function that is not SQL, a call of what runs it.
func (f *Function) SQL() string {
	if f.code != nil {
		return f.body.text
	}
	return f.Source
}

// Code describes a body that is not SQL to what runs it, see package bodies; it is nil for
// SQL. Its types are those that Arrow has as well: DuckDB converts the declared types to them
// and back. The arguments are the table inputs, each a list of its rows, and then those of
// the signature. A value of a table function is a list of its rows.
func (f *Function) Code() *engine.BatchFunction { return f.code }

// buildCode builds a function that is not SQL: its body is a call of the native function for
// its type, see [engine.BatchName].
func (c *compiler) buildCode(u *unit) (*Function, spicepod.Problems) {
	f := *u.read
	f.uses = map[string]string{}
	f.facts = facts{
		counts: make([]int, len(f.Args)), size: 1, random: f.Volatility == spicepod.Volatile,
		writes: f.Declared.Risk.Writes(),
	}
	for i := range f.facts.counts {
		f.facts.counts[i] = 1
	}
	f.Checksum = f.codeChecksum()
	f.code = f.newCode()
	f.body.text = f.codeCall()
	f.Engine = f.engineFunction()
	f.proven = true // its type is the declared one
	return &f, f.warnings
}

// newCode returns the code with its types.
func (f *Function) newCode() *engine.BatchFunction {
	code := &engine.BatchFunction{ID: f.Name + "@" + f.Checksum + f.Declared.Environment}
	for _, t := range f.Tables {
		code.Args = append(code.Args, engine.Column{Name: t.Name, Type: rowsType(t.Columns)})
	}
	for _, a := range f.Args {
		code.Args = append(code.Args, engine.Column{Name: a.Name, Type: carried(a.Type)})
	}
	if code.Returns = rowsType(f.Columns); !f.IsTable() {
		code.Returns = carried(f.Returns)
	}
	return code
}

// carried is the type in which Arrow carries values of a declared one.
func carried(t *Type) *engine.Type { return arrowrows.TypeOf(format.ArrowType(t.Duck())) }

// rowsType is the type of a list of rows.
func rowsType(columns []OutputColumn) *engine.Type {
	row := &engine.Type{ID: engine.Struct}
	for _, c := range columns {
		row.Fields = append(row.Fields, engine.Field{Name: c.Name, Type: carried(c.Type)})
	}
	return &engine.Type{ID: engine.List, Elem: row}
}

// codeCall is the body as SQL.
func (f *Function) codeCall() string {
	code := f.code
	list := []string{engine.Literal(code.ID)}
	for i, arg := range code.Args {
		name := engine.Identifier(arg.Name)
		switch {
		case i < len(f.Tables):
			name = "(SELECT coalesce(list(" + name + "), []) FROM " + name + ")"
		case f.IsTable():
			name = reservedTable + "." + name
		}
		list = append(list, "CAST("+name+" AS "+arg.Type.String()+")")
	}
	call := engine.BatchName(code.Returns) + "(" + strings.Join(list, ", ") + ")"
	if !f.IsTable() {
		return call
	}
	columns := make([]string, len(f.Columns))
	for i, c := range f.Columns {
		columns[i] = "r." + engine.Identifier(c.Name)
	}
	from := ""
	if len(f.Args) > 0 {
		from = " FROM " + reservedTable
	}
	return "SELECT " + strings.Join(columns, ", ") + " FROM (SELECT unnest(" + call + ") AS r" + from + ")"
}

// codeChecksum covers everything in the declaration that affects the result of a call.
func (f *Function) codeChecksum() string {
	d := f.Declared
	sum := sha256.Sum256([]byte(spicepod.Fingerprint(struct {
		Checksum, From, Sandbox, Entrypoint, Tool string
		Dependencies, Secrets                     []string
		Params                                    spicepod.Params
		Limits                                    spicepod.Limits
		Risk                                      spicepod.Risk
	}{f.checksum(), d.From, d.Sandbox, d.Entrypoint, f.tool, d.Dependencies, d.Secrets, d.Params, d.Limits, d.Risk})))
	return hex.EncodeToString(sum[:])[:16]
}

// CodeTypes are the types of the values of the functions that are not SQL, for
// [engine.DB.AddBatches].
func (s *Set) CodeTypes() []*engine.Type {
	var list []*engine.Type
	for _, f := range s.All() {
		if f.code != nil {
			list = append(list, f.code.Returns)
		}
	}
	return list
}

// ToolDeclaration is the declaration of a function that calls a tool.
type ToolDeclaration struct {
	Path     string // of the entry of the Spicepod: "tools[2]"
	Tool     string // the name of the tool
	Declared spicepod.Function
}

// Tool is the name of the tool that the function calls, or "": it is one of the pod's
// functions.
func (f *Function) Tool() string { return f.tool }

// reported are the problems of the unit: those of a function that calls a tool are the
// entry's.
func (u *unit) reported() spicepod.Problems {
	if u.tool == "" {
		return u.problems
	}
	list := slices.Clone(u.problems)
	for i := range list {
		list[i].Component = "tool " + u.declared.Name
		list[i].Message = "cannot expose tool '" + u.declared.Name + "' as SQL: " + list[i].Message
	}
	return list
}

// withLimits returns the declaration with the limits of statements that runtime.tools.limits
// sets for all functions that are not SQL.
func withLimits(d *spicepod.Function, all spicepod.Limits) *spicepod.Function {
	if d.IsSQL() {
		return d
	}
	own := *d
	own.Limits.MaxCalls = cmp.Or(own.Limits.MaxCalls, all.MaxCalls)
	own.Limits.BatchRows = cmp.Or(own.Limits.BatchRows, all.BatchRows)
	return &own
}
