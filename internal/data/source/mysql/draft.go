package mysql

import (
	"maps"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/source"
)

var database = source.Database{
	Prefix: "mysql:", Form: "mysql://user:password@host:port/database",
	Host: "mysql_host", Port: "mysql_tcp_port", Name: "mysql_db", User: "mysql_user", Password: "mysql_pass",
	Options: urlOptions,
	Hint:    "; the options are " + strings.Join(slices.Sorted(maps.Keys(urlOptions)), ", "),
}

// draft makes a declaration of a table and mysql://user:password@host:port/database.
func draft(text, table string) (source.Draft, error) { return database.Draft(text, table) }
