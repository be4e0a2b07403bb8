package documents

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools/builtin"
)

// Role is what a column of the dataset is for the tools; a key of params.columns.
type Role string

// The roles.
const (
	RoleID       Role = "id"
	RoleName     Role = "name"
	RoleFolder   Role = "folder"
	RoleContent  Role = "content"
	RoleFeed     Role = "feed"
	RoleSpace    Role = "space"
	RoleMetadata Role = "metadata"
	RoleData     Role = "data"
)

// columnPath has the path of the file of a document: its folder, if no column has that.
const columnPath = "path"

// roles are the columns that are looked for, first to last, if params.columns does not name one.
var roles = []struct {
	role    Role
	columns []string
}{
	{RoleID, []string{"id", columnPath}},
	{RoleName, []string{"name", "title"}},
	{RoleFolder, []string{"folder"}},
	{RoleContent, []string{"content"}},
	{RoleFeed, []string{"source"}},
	{RoleSpace, []string{"space_id"}},
	{RoleMetadata, []string{"metadata"}},
	{RoleData, []string{"data"}},
}

func roleNames() []string {
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = string(r.role)
	}
	return names
}

// columns are the columns of a dataset by role.
type columns map[Role]*builtin.Column

// columnsOf finds the columns of a dataset.
func (c Config) columnsOf(d builtin.Dataset) columns {
	found := columns{}
	for _, r := range roles {
		names := r.columns
		if own := c.Columns[string(r.role)]; own != "" {
			names = []string{own}
		}
		for _, name := range names {
			if col := d.Column(name); col != nil {
				found[r.role] = col
				break
			}
		}
	}
	return found
}

// Missing is why a dataset has no such tool; Tool is "" if it has none at all.
type Missing struct {
	Tool, Param   string // the key of params that is about it: columns.id
	Message, Hint string
}

// Missing returns what the toolset lacks in a dataset.
func (c Config) Missing(d builtin.Dataset) (list []Missing) {
	names := make([]string, len(d.Columns))
	for i, col := range d.Columns {
		names[i] = col.Name
	}
	for _, r := range roles {
		if own := c.Columns[string(r.role)]; own != "" && d.Column(own) == nil {
			list = append(list, Missing{
				Param: "columns." + string(r.role), Message: fmt.Sprintf("dataset %s has no column %q", c.Dataset, own),
				Hint: nearest.Hint(own, names, "its columns are "+strings.Join(names, ", ")),
			})
		}
	}
	found := c.columnsOf(d)
	if found[RoleID] == nil && c.Columns[string(RoleID)] == "" {
		list = append(list, Missing{
			Param: "dataset", Message: fmt.Sprintf("dataset %s has no column id, by which documents are read", c.Dataset),
			Hint: "name one that is different for each row: columns: { id: COLUMN }",
		})
	}
	if len(list) > 0 {
		return list
	}
	for _, def := range definitions {
		m := Missing{Tool: def.Name, Param: "dataset"}
		for _, role := range def.Needs {
			switch col := found[role]; {
			case col == nil:
				m.Message = fmt.Sprintf("dataset %s has no column for %s", c.Dataset, role)
				m.Hint = fmt.Sprintf("name it: columns: { %s: COLUMN }", role)
			case col.Type == "BLOB":
				m.Message = fmt.Sprintf("column %s of dataset %s is binary data", col.Name, c.Dataset)
				m.Hint = "name a column of text, or convert it in a view"
			case role == RoleData && !tabular(col.Type):
				m.Message = fmt.Sprintf("column %s of dataset %s is %s, which has no tables", col.Name, c.Dataset, col.Type)
				m.Hint = "name a column of JSON, lists of structs, or text that has JSON: columns: { data: COLUMN }"
			case def.Name == "search_documents" && !col.Searchable:
				m.Message = fmt.Sprintf("column %s of dataset %s is not searchable", col.Name, c.Dataset)
				m.Hint = fmt.Sprintf("write `columns: [{name: %s, full_text_search: {enabled: true}}]` at the dataset", col.Name)
			}
		}
		if m.Message != "" {
			list = append(list, m)
		}
	}
	return list
}

// Unscoped reports whether the dataset has a column of spaces: its row filter has to be about it.
func (c Config) Unscoped(d builtin.Dataset) bool { return c.columnsOf(d)[RoleSpace] != nil }

// tabular reports whether a type can hold the rows of a table.
func tabular(typ string) bool {
	return typ == "JSON" || typ == "VARCHAR" || strings.HasPrefix(typ, "STRUCT(") || strings.HasPrefix(typ, "MAP(") ||
		strings.HasSuffix(typ, "[]") && (strings.HasPrefix(typ, "STRUCT(") || strings.HasPrefix(typ, "JSON"))
}

// pathPattern matches what is no part of a path: a ./ or / at its start, a / at its end, or . alone.
const pathPattern = `^(\./|/)+|/+$|^\.$`

// query returns the statement of the documents that a caller may read. The row filter of the dataset
// applies, as in every statement; with a space, only its documents are selected of those.
func (c columns) query(d builtin.Dataset) string {
	text := func(r Role, without string) string {
		if c[r] == nil {
			return without
		}
		return "CAST(" + engine.Identifier(c[r].Name) + " AS VARCHAR)"
	}
	id := text(RoleID, "NULL")
	folder := text(RoleFolder, "''")
	if path := d.Column(columnPath); c[RoleFolder] == nil && path != nil {
		folder = "regexp_replace(CAST(" + engine.Identifier(path.Name) + ` AS VARCHAR), '[^/\\]*$', '')`
	}
	fields := []string{
		id + " AS id",
		"coalesce(" + text(RoleName, "NULL") + ", " + id + ") AS name",
		fmt.Sprintf(`regexp_replace(regexp_replace(replace(coalesce(%s, ''), '\', '/'), '/+', '/', 'g'), %s, '', 'g')
			AS folder`, folder, engine.Literal(pathPattern)),
		"coalesce(" + text(RoleFeed, engine.Literal(d.Relation.Name)) + ", '') AS source",
		text(RoleContent, "CAST(NULL AS VARCHAR)") + " AS content",
		c.json(RoleMetadata) + " AS metadata",
		c.json(RoleData) + " AS data",
		c.other(d) + " AS other",
	}
	where := id + " IS NOT NULL"
	if c[RoleSpace] != nil {
		where += " AND " + c.space()
	}
	return fmt.Sprintf("SELECT %s FROM %s WHERE %s", strings.Join(fields, ", "),
		engine.Qualified(d.Relation.Schema, d.Relation.Name), where)
}

// space is the condition that a document belongs to the space of the caller, if that has one.
func (c columns) space() string {
	return fmt.Sprintf("(ctx('space_id') IS NULL OR CAST(%s AS VARCHAR) = ctx('space_id'))",
		engine.Identifier(c[RoleSpace].Name))
}

// json returns the expression of a column as JSON: a text that has JSON is parsed, any other is a text.
// Members of structs that are NULL are left out: every row has all members of the type, which came from
// rows that the caller may not read.
func (c columns) json(r Role) string {
	col := c[r]
	if col == nil {
		return "CAST(NULL AS JSON)"
	}
	name := engine.Identifier(col.Name)
	const without = "json_merge_patch('{}', to_json(%s))"
	switch {
	case col.Type == "VARCHAR":
		return fmt.Sprintf("CASE WHEN json_valid(%s) THEN CAST(%[1]s AS JSON) ELSE to_json(%[1]s) END", name)
	case strings.HasPrefix(col.Type, "STRUCT(") && strings.HasSuffix(col.Type, "[]"):
		return fmt.Sprintf("to_json(list_transform(%s, lambda member: "+without+"))", name, "member")
	case strings.HasPrefix(col.Type, "STRUCT("):
		return fmt.Sprintf("CASE WHEN %s IS NOT NULL THEN "+without+" END", name, name)
	}
	return "to_json(" + name + ")"
}

// other returns the expression of the columns that have no role, as JSON. Long texts are cut.
func (c columns) other(d builtin.Dataset) string {
	var members []string
	for _, col := range d.Columns {
		used := slices.ContainsFunc(roles, func(r struct {
			role    Role
			columns []string
		},
		) bool {
			return c[r.role] != nil && c[r.role].Name == col.Name
		})
		if used || col.Type == "BLOB" {
			continue
		}
		value := engine.Identifier(col.Name)
		if col.Type == "VARCHAR" {
			value = fmt.Sprintf("CASE WHEN length(%s) > %d THEN left(%[1]s, %[2]d) || '…' ELSE %[1]s END", value, MaxOther)
		}
		members = append(members, engine.Literal(col.Name)+": "+value)
	}
	if len(members) == 0 {
		return "CAST(NULL AS JSON)"
	}
	return "to_json({" + strings.Join(members, ", ") + "})"
}
