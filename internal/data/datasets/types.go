package datasets

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spiced-sql/spiced/spicepod"
)

// typeAliases are Spice's names of simple types. The runtime gives the whole
// grammar through Options.Type.
var typeAliases = map[string]string{
	"int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT",
	"uint8": "UTINYINT", "uint16": "USMALLINT", "uint32": "UINTEGER", "uint64": "UBIGINT",
	"float32": "FLOAT", "float64": "DOUBLE", "utf8": "VARCHAR", "large_utf8": "VARCHAR", "string": "VARCHAR",
	"boolean": "BOOLEAN", "bool": "BOOLEAN", "binary": "BLOB", "large_binary": "BLOB",
	"date32": "DATE", "date64": "TIMESTAMP_MS",
}

// typeText is what the text of a type may be made of; with balanced brackets
// it cannot leave the CAST it is put in.
var typeText = regexp.MustCompile(`^[\p{L}_][\p{L}\p{N}_ ,.()\[\]"]*$`)

// columnTypes returns the DuckDB type of each declared column.
func (m *Manager) columnTypes(columns []spicepod.DatasetColumn) ([]string, error) {
	types := make([]string, len(columns))
	for i, c := range columns {
		if c.Type == "" {
			continue
		}
		duck, err := m.duckType(c.Type)
		if err != nil {
			return nil, newFault(fmt.Sprintf("columns[%d].type", i), "write a type such as int64, utf8 or DECIMAL(10,2)", "%s", err)
		}
		types[i] = duck
	}
	return types, nil
}

func (m *Manager) duckType(name string) (string, error) {
	if m.opts.Type != nil {
		if duck, err := m.opts.Type(name); err == nil {
			return duck, nil
		}
	}
	if duck := typeAliases[strings.ToLower(strings.TrimSpace(name))]; duck != "" {
		return duck, nil
	}
	if !typeText.MatchString(name) || !balanced(name) {
		return "", fmt.Errorf("%q is not a type", name)
	}
	return name, nil
}

// balanced reports whether quotes and brackets close in order.
func balanced(s string) bool {
	var open []rune
	quoted := false
	for _, r := range s {
		switch {
		case r == '"':
			quoted = !quoted
		case quoted:
		case r == '(' || r == '[':
			open = append(open, r)
		case r == ')' || r == ']':
			want := map[rune]rune{')': '(', ']': '['}[r]
			if len(open) == 0 || open[len(open)-1] != want {
				return false
			}
			open = open[:len(open)-1]
		}
	}
	return !quoted && len(open) == 0
}
