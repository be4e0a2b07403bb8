package mcplock

import (
	"cmp"
	"fmt"
	"slices"
)

// Kind is a kind of [Change].
type Kind string

// The kinds of change.
const (
	Added   Kind = "added"
	Removed Kind = "removed"
	Changed Kind = "changed" // another checksum
)

// Change is a difference between two lists of approved tools.
type Change struct {
	Kind         Kind
	Server, Tool string
	Description  string // its beginning, as in the file; of a removed tool the last one
}

// String returns a line for a terminal, such as "added maps/route: Finds the way."
func (c Change) String() string {
	text := fmt.Sprintf("%s %s/%s", c.Kind, key(c.Server), key(c.Tool))
	if c.Description != "" {
		text += ": " + c.Description
	}
	return text
}

// Diff returns the differences between entries by server, sorted by server and tool.
// Descriptions are not compared.
func Diff(before, after map[string][]Entry) []Change {
	changes := missing(Added, after, before)
	changes = append(changes, missing(Removed, before, after)...)
	for server, entries := range after {
		old := byName(before[server])
		for _, entry := range entries {
			if was, ok := old[entry.Tool]; ok && was.Checksum != entry.Checksum {
				changes = append(changes, change(Changed, server, entry))
			}
		}
	}
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Tool, b.Tool))
	})
	return changes
}

// missing returns changes for the entries of one that other lacks.
func missing(kind Kind, one, other map[string][]Entry) []Change {
	var changes []Change
	for server, entries := range one {
		known := byName(other[server])
		for _, entry := range entries {
			if _, ok := known[entry.Tool]; !ok {
				changes = append(changes, change(kind, server, entry))
			}
		}
	}
	return changes
}

func byName(entries []Entry) map[string]Entry {
	names := make(map[string]Entry, len(entries))
	for _, entry := range entries {
		names[entry.Tool] = entry
	}
	return names
}

func change(kind Kind, server string, entry Entry) Change {
	return Change{kind, server, entry.Tool, firstLine(entry.Description)}
}
