package mysql

import (
	"maps"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/source"
)

// Draft makes a declaration of a table and mysql://user:password@host:port/database.
func Draft(text, table string) (d source.Draft, err error) {
	const form = "mysql://user:password@host:port/database"
	switch {
	case !strings.Contains(text, "://"):
		return source.TableDraft("mysql:", text, table)
	case table == "":
		return d, fault.New("", "write it after the URL: "+form+" orders", "the table is missing")
	}
	u, err := source.ParseURL(text, form)
	if err != nil {
		return d, err
	}
	user, password := source.Credentials(u)
	d = source.Draft{From: "mysql:" + table, Name: source.NameOfTable(table)}
	d.Set("mysql_host", u.Hostname(), false)
	d.Set("mysql_tcp_port", u.Port(), false)
	d.Set("mysql_db", strings.Trim(u.Path, "/"), false)
	d.Set("mysql_user", user, false)
	d.Set("mysql_pass", password, true)
	query := u.Query()
	for _, key := range slices.Sorted(maps.Keys(query)) {
		param, ok := urlOptions[key]
		if !ok {
			return d, fault.New("", "leave it out; the options are "+strings.Join(slices.Sorted(maps.Keys(urlOptions)), ", "), "the URL has the option %q, which has no param", key)
		}
		value := query.Get(key)
		if param == "mysql_sslmode" { // the clients of MySQL write VERIFY_CA
			value = strings.ToLower(value)
		}
		d.Set(param, value, false)
	}
	return d, nil
}
