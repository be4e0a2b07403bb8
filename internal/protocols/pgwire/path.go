package pgwire

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/protocols/pgwire/pgcatalog"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire/sqlstate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// searchPath is the setting of the schemas in which unqualified names are looked up.
const searchPath = "search_path"

// systemSchemas exist in addition to those of the declared relations. Their relations are
// found as they are without search_path.
var systemSchemas = []string{engine.Public, `$user`, "pg_catalog", "information_schema", "spiced", ""}

// schemasOf returns the schemas of a value of search_path.
func schemasOf(value string) []string {
	var list []string
	for name := range strings.SplitSeq(value, ",") {
		name = strings.TrimSpace(name)
		if bare, quoted := strings.CutPrefix(name, `"`); quoted {
			name = strings.ReplaceAll(strings.TrimSuffix(bare, `"`), `""`, `"`)
		} else {
			name = sqltree.Fold(name)
		}
		list = append(list, name)
	}
	return list
}

// checkPath refuses a search_path with a schema that is not declared.
func (s *session) checkPath(value string) error {
	for _, name := range schemasOf(value) {
		if slices.Contains(systemSchemas, name) || s.hasRelation != nil && s.hasRelation(name, "") {
			continue
		}
		return sqlstate.Errorf(sqlstate.NoSchema, "name schemas of declared datasets, or public",
			"schema %q does not exist", name)
	}
	return nil
}

// path returns the schemas of search_path, or nil where they mean public alone.
func (s *session) path() []string {
	list := slices.DeleteFunc(schemasOf(s.value(searchPath)), func(name string) bool {
		return name != engine.Public && slices.Contains(systemSchemas, name)
	})
	if len(list) == 0 || list[0] == engine.Public {
		return nil // public comes first
	}
	return list
}

// rewrite is the server's Rewrite for the session of the connection.
func (c *conn) rewrite(sql string) (string, bool) {
	who := c.client.caller
	s := pgcatalog.Session{User: cmp.Or(who.UserID, who.Principal, c.client.user), Path: c.session.path()}
	s.Schema = func(relation string) string {
		for _, schema := range s.Path {
			if c.session.hasRelation(schema, relation) {
				return schema
			}
		}
		return ""
	}
	s.Setting = func(name string) (string, bool) {
		key := strings.ToLower(name)
		value, ok := c.session.values[key]
		if ofTransaction[key] {
			value, ok = c.session.value(key), true
		}
		return value, ok
	}
	return c.server.opts.Rewrite(sql, s)
}
