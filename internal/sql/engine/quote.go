package engine

import "strings"

// Literal renders s as a SQL string literal.
func Literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// Identifier renders s as a quoted SQL identifier.
func Identifier(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// Qualified renders a name in one of the runtime's schemas.
func Qualified(schema, name string) string {
	return CatalogName + "." + Identifier(schema) + "." + Identifier(name)
}
