package postgres

import (
	"regexp"

	"github.com/spiced-sql/spiced/internal/data/source"
)

// settingPattern matches the beginning of libpq's other form of a connection string.
var settingPattern = regexp.MustCompile(`^(host|hostaddr|port|dbname|user|password|sslmode|service)\s*=`)

// isConnectionString reports whether a text is host=… user=… and so on.
func isConnectionString(text string) bool { return settingPattern.MatchString(text) }

var database = source.Database{
	Prefix: "postgres:", Form: "postgres://user:password@host:port/database",
	Host: "pg_host", Port: "pg_port", Name: "pg_db", User: "pg_user", Password: "pg_pass",
	Options: map[string]string{"sslmode": "pg_sslmode", "sslrootcert": "pg_sslrootcert"},
	Hint:    ", or write the whole as --param pg_connection_string=…", IsString: isConnectionString,
	String: "pg_connection_string",
}

// draft makes a declaration of a table and postgres://user:password@host:port/database, or
// host=… user=….
func draft(text, table string) (source.Draft, error) { return database.Draft(text, table) }
