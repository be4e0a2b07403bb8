package builtin

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/tools"
)

// access is the set of datasets that a call may read: those permitted to the
// caller, to the tool, and to each tool through which it was called. Each is a
// list of patterns such as sales* or spice.public.orders; without a list, all
// datasets are permitted.
type access [][]string

// restricted reports whether any dataset is denied.
func (a access) restricted() bool { return len(a) > 0 }

// permits reports whether the call may read the relation.
func (a access) permits(r engine.Relation) bool {
	if !a.restricted() {
		return true
	}
	return r.Schema != engine.System && !slices.ContainsFunc(a, func(patterns []string) bool {
		return !within(patterns, r)
	})
}

// filter is permits for the guard, in which nil permits every relation.
func (a access) filter() func(engine.Relation) bool {
	if !a.restricted() {
		return nil
	}
	return a.permits
}

func within(patterns []string, r engine.Relation) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return Matches(p, r) })
}

// Matches reports whether a pattern of datasets, such as sales* or spice.public.orders,
// matches a relation. Schemas and names are compared separately, ignoring case.
func Matches(pattern string, r engine.Relation) bool {
	want := RelationOf(pattern)
	return matches(want.Schema, r.Schema) && matches(want.Name, r.Name)
}

// matches compares without case. An invalid pattern matches nothing.
func matches(pattern, name string) bool {
	plain := strings.NewReplacer("/", "\x00") // path.Match stops at a slash
	ok, err := path.Match(plain.Replace(sqltree.Fold(pattern)), plain.Replace(sqltree.Fold(name)))
	return ok && err == nil
}

// readPatterns parses a list such as "sales*, spice.public.orders".
func readPatterns(text string) ([]string, error) {
	patterns := []string{}
	for part := range strings.SplitSeq(text, ",") {
		p := strings.TrimSpace(part)
		if p == "" {
			continue
		}
		if _, err := path.Match(p, ""); err != nil {
			return nil, fmt.Errorf("%q is not a valid pattern: * matches any text, ? one character, [ab] one of several", p)
		}
		patterns = append(patterns, p)
	}
	if len(patterns) == 0 {
		return nil, errors.New(`it names no table; "*" is every table of schema public`)
	}
	return patterns, nil
}

// visible are the datasets that a call may read, views last.
func visible(all []Dataset, a access) []Dataset {
	var datasets, views []Dataset
	for _, d := range all {
		switch {
		case !a.permits(d.Relation):
		case d.View:
			views = append(views, d)
		default:
			datasets = append(datasets, d)
		}
	}
	return append(datasets, views...)
}

// find finds the dataset for a name given by a model.
func (e Env) find(a access, name string) (Dataset, error) {
	datasets, want := visible(e.Datasets(), a), RelationOf(name)
	for _, d := range datasets {
		if sqltree.Fold(d.Relation.Schema) == want.Schema && sqltree.Fold(d.Relation.Name) == want.Name {
			return d, nil
		}
	}
	if a.permits(want) {
		if err := e.unserved(engine.ObjectTable, want); err != nil {
			return Dataset{}, err
		}
	}
	known := make([]string, len(datasets))
	for i, d := range datasets {
		known[i] = d.short()
	}
	err := tools.NewError(errcode.InvalidArguments, "No table named "+name, "there are no tables")
	if len(known) > 0 {
		err.Hint = "the tables are " + listed(known)
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	return Dataset{}, err.Suggest(last, known).Suggest(name, known) // the whole name takes precedence
}

// listed joins names, and counts those beyond the limit.
func listed(names []string) string {
	if len(names) <= suggestions {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:suggestions], ", "), len(names)-suggestions)
}
