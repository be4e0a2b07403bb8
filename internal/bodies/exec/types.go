package exec

import (
	"fmt"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/bodies/sandbox"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// types sets the types of a declaration that the signature has.
func (m *draft) types(d *sandbox.Declaration) {
	signature := m.spec.Declared.Signature
	for i, t := range signature.Tables {
		d.ArgTypes = append(d.ArgTypes, m.rowsOf(fmt.Sprintf(".signature.tables[%d].columns", i), t.Columns))
	}
	for i, a := range signature.Args {
		d.ArgTypes = append(d.ArgTypes, m.typeOf(fmt.Sprintf(".signature.args[%d].type", i), a.Type))
	}
	const returns = ".signature.returns"
	if signature.Returns.Columns != nil {
		d.ReturnType = m.rowsOf(returns, signature.Returns.Columns)
	} else {
		d.ReturnType = m.typeOf(returns, signature.Returns.Type)
	}
}

func (m *draft) typeOf(path, declared string) sandbox.Type {
	t, err := functions.ParseType(declared)
	if err != nil {
		m.entry.Fail(path, "", "%s", err)
		return sandbox.Type{}
	}
	out := partsOf(t.Duck())
	out.Name = declared
	return out
}

// rowsOf is the type of the rows of a table.
func (m *draft) rowsOf(path string, columns []spicepod.Column) sandbox.Type {
	row := sandbox.Type{}
	for i, c := range columns {
		row.Parts = append(row.Parts, m.typeOf(fmt.Sprintf("%s[%d].type", path, i), c.Type))
	}
	return sandbox.Type{Parts: []sandbox.Type{row}}
}

// partsOf says which parts of a type are JSON.
func partsOf(t *engine.Type) sandbox.Type {
	out, fields := sandbox.Type{JSON: t.JSON}, t.Fields
	switch t.ID {
	case engine.Map:
		fields = t.Elem.Fields
	case engine.List, engine.Array:
		out.Parts = []sandbox.Type{partsOf(t.Elem)}
	}
	for _, f := range fields {
		out.Parts = append(out.Parts, partsOf(f.Type))
	}
	return out
}
