package models

import (
	"path"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools/builtin"
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
// spice.public.orders.
func matches(pattern, name string) bool { return builtin.Matches(pattern, builtin.RelationOf(name)) }

func validPattern(pattern string) bool {
	_, err := path.Match(pattern, "")
	return err == nil && strings.TrimSpace(pattern) != ""
}
