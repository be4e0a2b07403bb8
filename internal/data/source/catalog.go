package source

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// Lister is a connector that can list the tables of a server, for `catalogs`. The target of
// the declaration may be "".
type Lister interface {
	List(ctx context.Context, d Declaration, o ListOptions) (*Listing, error)
}

// ListOptions are those of a [Lister].
type ListOptions struct {
	Include Patterns
	// Tables and Columns are the most of them; a Lister returns one table more than there
	// may be, but not more, and a fault for too many columns.
	Tables, Columns int
}

// Listing is what a server has.
type Listing struct {
	Tables []ListedTable // that Include matches, by schema and name
	Others []string      // some names that it does not match, if one of its patterns matches none
}

// ListedTable is a table of a server. Its columns are those that the server lists: a load
// finds what they are.
type ListedTable struct {
	Schema, Name string
	From         string          // of a dataset that reads it
	Params       spicepod.Params // of the dataset, in addition to those of the catalog
	Columns      []tables.Column
	Comment      string
}

// Fault returns why a table cannot be served, or nil.
func (t *ListedTable) Fault() error {
	names := map[string]string{}
	switch {
	case len(t.Columns) == 0:
		return fault.New("", "", "it has no columns")
	case !shown(t.Schema) || !shown(t.Name):
		return fault.New("", "", "its name has control characters, or more than %d", maxName)
	}
	for _, c := range t.Columns {
		folded := sqltree.Fold(c.Name)
		switch {
		case !shown(c.Name):
			return fault.New("", "", "the name of a column has control characters, or more than %d", maxName)
		case names[folded] != "":
			return fault.New("", "read it through a view of the server that renames one",
				"its columns %q and %q differ in case only", names[folded], c.Name)
		}
		names[folded] = c.Name
	}
	return nil
}

// maxName is the most characters of a name.
const maxName = 200

func shown(name string) bool {
	return name != "" && len(name) <= maxName && !strings.ContainsFunc(name, unicode.IsControl)
}

// Patterns match names of tables, as schema.table. No patterns match all.
type Patterns struct {
	texts   []string
	regexps []*regexp.Regexp
}

// ParsePatterns parses the patterns of `include`: * matches any characters, ? for one,
// [a-z] and [!a-z] for one of a set, {one,other} for either.
func ParsePatterns(texts []string) (p Patterns, err error) {
	for i, text := range texts {
		translated, ok := translate(text)
		r, err := regexp.Compile("^(?:" + translated + ")$")
		if !ok || err != nil || len(text) > maxPattern {
			return Patterns{}, fault.New(fmt.Sprintf("include[%d]", i),
				"write schema.table with *, ?, [a-z] and {one,other}, for example public.*", "%q is not a pattern",
				truncate.Runes(text, maxPattern))
		}
		p.texts, p.regexps = append(p.texts, text), append(p.regexps, r)
	}
	return p, nil
}

// maxPattern is the most bytes of a pattern.
const maxPattern = 500

// translate returns a pattern as a regular expression that Go and PostgreSQL read alike.
func translate(pattern string) (string, bool) {
	var out strings.Builder
	set, group := false, false
	for i, r := range pattern {
		switch {
		case set && r == ']':
			set = false
			out.WriteRune(r)
		case set && r == '!' && pattern[i-1] == '[':
			out.WriteByte('^')
		case set && (r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_'):
			out.WriteRune(r)
		case set:
			return "", false
		case r == '*':
			out.WriteString(".*")
		case r == '?':
			out.WriteByte('.')
		case r == '[':
			set = true
			out.WriteRune(r)
		case r == '{' && !group:
			group = true
			out.WriteString("(?:")
		case r == '}' && group:
			group = false
			out.WriteByte(')')
		case r == ',' && group:
			out.WriteByte('|')
		default:
			out.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return out.String(), !set && !group && pattern != ""
}

// Match reports whether a table is served.
func (p Patterns) Match(schema, table string) bool {
	for _, r := range p.regexps {
		if r.MatchString(schema + "." + table) {
			return true
		}
	}
	return len(p.regexps) == 0
}

// Regexp returns a regular expression of PostgreSQL's that matches schema.table, "" for all.
func (p Patterns) Regexp() string {
	var all []string
	for _, r := range p.regexps {
		all = append(all, r.String())
	}
	return strings.Join(all, "|")
}

// Unmatched returns a warning for each pattern that matches no table of a listing.
func (p Patterns) Unmatched(l *Listing) (faults []error) {
	for i, r := range p.regexps {
		found := false
		for _, t := range l.Tables {
			if found = r.MatchString(t.Schema + "." + t.Name); found {
				break
			}
		}
		if found {
			continue
		}
		names := append([]string{}, l.Others...)
		for _, t := range l.Tables {
			names = append(names, t.Schema+"."+t.Name)
		}
		hint := "the server has no table that the user can read"
		if len(names) > 0 {
			hint = "it has " + truncate.Ellipsis(strings.Join(names, ", "), fault.MaxMessage)
		}
		f := fault.New(fmt.Sprintf("include[%d]", i), meant(p.texts[i], names, hint), "no table matches %q", p.texts[i])
		f.Warning = true
		faults = append(faults, f)
	}
	return faults
}

// meant asks for what a pattern may have meant: a table without its schema, another name, or
// all tables of a schema.
func meant(pattern string, names []string, otherwise string) string {
	var near []string
	for _, name := range names {
		schema, table, _ := strings.Cut(name, ".")
		if strings.EqualFold(pattern, table) {
			return fmt.Sprintf("did you mean %q?", name)
		}
		near = append(near, name, schema+".*")
	}
	return nearest.Hint(pattern, near, otherwise)
}
