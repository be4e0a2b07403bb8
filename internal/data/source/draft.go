package source

import (
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
)

// Draft is a declaration that is made of what a user has: a URL, a path or a connection
// string.
type Draft struct {
	From   string
	Name   string // that fits it; "": none
	Params []Setting
	Hidden []Setting // parts of From that are secret
}

// Setting is a param, or a part of a text, with its name.
type Setting struct {
	Name, Value string
	Secret      bool
}

// Set adds a param if it has a value.
func (d *Draft) Set(name, value string, secret bool) {
	if value != "" {
		d.Params = append(d.Params, Setting{name, value, secret})
	}
}

// ParseURL parses a URL that a user has given. Its errors do not show the URL, which may have
// a password.
func ParseURL(text, form string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return nil, fault.New("", "write "+form+"; characters such as @ and / in a password are written as %40 and %2F",
			"the URL cannot be read")
	}
	return u, nil
}

// Credentials returns the user and the password of a URL.
func Credentials(u *url.URL) (user, password string) {
	password, _ = u.User.Password()
	return u.User.Username(), password
}

// notInNames matches what a suggested name has _ instead of.
var notInNames = regexp.MustCompile(`[^\pL\pN]+`)

// NameOf returns a name for the dataset of a path, a URL or the name of a table: the last
// part of it that is no pattern, without an extension.
func NameOf(text string) string {
	parts := strings.Split(strings.Trim(text, "/"), "/")
	for len(parts) > 1 && strings.ContainsAny(parts[len(parts)-1], "*?[=") {
		parts = parts[:len(parts)-1]
	}
	last := strings.Trim(parts[len(parts)-1], ".")
	for ext := path.Ext(last); ext != "" && ext != last && len(ext) < 9; ext = path.Ext(last) {
		last = strings.TrimSuffix(last, ext)
	}
	return nameOf(last)
}

// NameOfTable returns a name for the dataset of a table, whose name may have a schema.
func NameOfTable(name string) string {
	if parts, err := SplitName(name); err == nil {
		name = parts[len(parts)-1]
	}
	return nameOf(name)
}

// nameOf returns a text as a name that needs no quotes.
func nameOf(text string) string {
	name := strings.Trim(strings.ToLower(notInNames.ReplaceAllString(text, "_")), "_")
	if name != "" && strings.Contains("0123456789", name[:1]) {
		name = "data_" + name
	}
	return name
}

// Database is how the tables of a kind of servers are declared.
type Database struct {
	Prefix, Form                     string            // of from, and of a URL
	Host, Port, Name, User, Password string            // params
	Options                          map[string]string // of a URL, with their params
	Hint                             string            // about other options
	IsString                         func(string) bool // recognizes another form, which is the value of a param; nil: none
	String                           string            // that param
}

// Draft makes a declaration of a table and a URL, or of connector:table.
func (b Database) Draft(text, table string) (d Draft, err error) {
	whole := b.IsString != nil && b.IsString(text)
	d = Draft{From: b.Prefix + table, Name: NameOfTable(table)}
	switch {
	case !whole && !strings.Contains(text, "://"):
		return TableDraft(b.Prefix, text, table)
	case table == "":
		return d, fault.New("", "write it after the URL: "+b.Form+" orders", "the table is missing")
	case whole:
		d.Set(b.String, text, true)
		return d, nil
	}
	u, err := ParseURL(text, b.Form)
	if err != nil {
		return d, err
	}
	d.Set(b.Host, u.Hostname(), false)
	d.Set(b.Port, u.Port(), false)
	d.Set(b.Name, strings.Trim(u.Path, "/"), false)
	user, password := Credentials(u)
	d.Set(b.User, user, false)
	d.Set(b.Password, password, true)
	query := u.Query()
	for _, key := range slices.Sorted(maps.Keys(query)) {
		param, ok := b.Options[key]
		if !ok {
			return d, fault.New("", "leave it out"+b.Hint, "the URL has the option %q, which has no param", key)
		}
		value := query.Get(key)
		if strings.HasSuffix(param, "_sslmode") { // the clients of MySQL write VERIFY_CA
			value = strings.ToLower(value)
		}
		d.Set(param, value, false)
	}
	return d, nil
}

// TableDraft makes a declaration of connector:table, or of connector: and a table.
func TableDraft(prefix, text, table string) (Draft, error) {
	target := strings.TrimPrefix(text[len(prefix):], "//")
	if target != "" && table != "" {
		return Draft{}, fault.New("", "write the table once", "%s names the table %q already", text, target)
	}
	target += table
	return Draft{From: prefix + target, Name: NameOfTable(target)}, nil
}
