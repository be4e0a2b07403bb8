package lint

import (
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// Rules about the row filter of the dataset of a toolset of documents. A caller without a space asks for
// the documents of all of their spaces.
const (
	NoNullSpace  = "no-null-space" // warning: a caller without a space reads nothing
	NoMembership = "no-membership" // warning: a caller without a space reads every space
)

// CheckSpaces returns the findings about the row filters of the datasets of toolsets. It reads the text of
// a filter alone: what a filter does to rows is not decidable in general.
func CheckSpaces(pod *spicepod.Pod) (found []Finding) {
	for _, s := range pod.Toolsets {
		name, _ := s.Params.String("dataset")
		if s.From == "" || name == "" {
			continue
		}
		for i, d := range pod.Datasets {
			if strings.EqualFold(d.Name, name) && d.RowFilter != "" {
				found = append(found, spaceFindings(d, fmt.Sprintf("datasets[%d].row_filter", i))...)
			}
		}
	}
	return found
}

func spaceFindings(d spicepod.Dataset, path string) []Finding {
	u := usesOf(d.RowFilter)
	f := Finding{Severity: spicepod.Warning, Tool: d.Name, Path: path, Component: "dataset " + d.Name}
	switch {
	case !u.space:
		return nil
	case !u.null:
		f.Rule = NoNullSpace
		f.Message = "its row_filter compares the space of the caller and says nothing of callers without one: " +
			"they read no rows"
		f.Hint = "write what they may read, such as: OR ctx('space_id') IS NULL AND list_contains(members, ctx('user_id'))"
	case !u.user:
		f.Rule = NoMembership
		f.Message = "its row_filter lets callers without a space read rows, and does not test who they are: " +
			"they may read the rows of every space"
		f.Hint = "test that they are a member, such as: ctx('space_id') IS NULL AND list_contains(members, ctx('user_id'))"
	default:
		return nil
	}
	return []Finding{f}
}

// filterUses is what a row filter uses.
type filterUses struct {
	space, user bool // ctx of these
	null        bool // NULL is compared or replaced
}

func usesOf(filter string) (u filterUses) {
	tokens := sqltree.Scan(filter)
	for i, t := range tokens {
		switch {
		case t.Kind == sqltree.String && i >= 2 && tokens[i-1].Is(filter, "(") &&
			strings.EqualFold(tokens[i-2].Name(filter), "ctx"):
			switch strings.Trim(t.Text(filter), "'") {
			case "space_id":
				u.space = true
			case "user_id", "principal":
				u.user = true
			}
		case t.IsName():
			switch strings.ToLower(t.Name(filter)) {
			case "null", "coalesce", "ifnull", "distinct":
				u.null = true
			}
		}
	}
	return u
}
