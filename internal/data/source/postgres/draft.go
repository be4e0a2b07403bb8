package postgres

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/source"
)

// settingPattern matches the beginning of libpq's other form of a connection string.
var settingPattern = regexp.MustCompile(`^(host|hostaddr|port|dbname|user|password|sslmode|service)\s*=`)

// IsConnectionString reports whether a text is host=… user=… and so on.
func IsConnectionString(text string) bool { return settingPattern.MatchString(text) }

// Draft makes a declaration of a table and postgres://user:password@host:port/database, or
// host=… user=….
func Draft(text, table string) (d source.Draft, err error) {
	const form = "postgres://user:password@host:port/database"
	whole := IsConnectionString(text)
	switch {
	case !whole && !strings.Contains(text, "://"):
		return source.TableDraft("postgres:", text, table)
	case table == "":
		return d, fault.New("", "write it after the URL: "+form+" orders", "the table is missing")
	case whole:
		d = source.Draft{From: "postgres:" + table, Name: source.NameOfTable(table)}
		d.Set("pg_connection_string", text, true)
		return d, nil
	}
	u, err := source.ParseURL(text, form)
	if err != nil {
		return d, err
	}
	user, password := source.Credentials(u)
	d = source.Draft{From: "postgres:" + table, Name: source.NameOfTable(table)}
	d.Set("pg_host", u.Hostname(), false)
	d.Set("pg_port", u.Port(), false)
	d.Set("pg_db", strings.Trim(u.Path, "/"), false)
	d.Set("pg_user", user, false)
	d.Set("pg_pass", password, true)
	query := u.Query()
	for _, key := range slices.Sorted(maps.Keys(query)) {
		switch key {
		case "sslmode", "sslrootcert":
			d.Set("pg_"+key, query.Get(key), false)
		default:
			return d, fault.New("", "leave it out, or write the whole as --param pg_connection_string=…", "the URL has the option %q, which has no param", key)
		}
	}
	return d, nil
}
