package models

import (
	"path"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/spicepod"
)

// The catalog and schema that a dataset's name may omit.
const (
	catalogName = "spice"
	publicName  = "public"
)

// relations returns the datasets and views of a Spicepod by their declared names,
// sorted.
func relations(pod *spicepod.Pod) []string {
	var names []string
	for _, d := range pod.Datasets {
		names = append(names, d.Name)
	}
	for _, v := range pod.Views {
		names = append(names, v.Name)
	}
	slices.Sort(names)
	return names
}

// allowed returns the names that match any of the patterns; nil patterns match all.
func allowed(names, patterns []string) []string {
	if patterns == nil {
		return names
	}
	list := []string{}
	for _, name := range names {
		if slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) }) {
			list = append(list, name)
		}
	}
	return list
}

// matches reports whether a dataset's name matches a pattern such as sales* or
// spice.public.orders. Schemas and names are compared separately, ignoring case. An
// invalid pattern matches nothing.
func matches(pattern, name string) bool {
	schema, table := split(pattern)
	otherSchema, otherTable := split(name)
	return match(schema, otherSchema) && match(table, otherTable)
}

func split(name string) (schema, table string) {
	schema, table = spicepod.Dataset{Name: strings.TrimSpace(name)}.Qualified()
	schema = strings.TrimPrefix(schema, catalogName+".")
	if schema == "" {
		schema = publicName
	}
	return strings.ToLower(schema), strings.ToLower(table)
}

func match(pattern, name string) bool {
	plain := strings.NewReplacer("/", "\x00") // * of path.Match stops at a slash
	ok, err := path.Match(plain.Replace(pattern), plain.Replace(name))
	return ok && err == nil
}

func validPattern(pattern string) bool {
	_, err := path.Match(pattern, "")
	return err == nil && strings.TrimSpace(pattern) != ""
}
