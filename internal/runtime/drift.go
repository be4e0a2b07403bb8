package runtime

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/datasets"
	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// failed returns [engine.Contents.Failed] of the generation: an error about a file names
// the dataset, in the words of a load, and the datasets that the statement reads are
// checked in the background.
func (s *services) failed(g *Generation) func([]engine.Relation, []*engine.Function, *engine.Error) *engine.Error {
	return func(relations []engine.Relation, functions []*engine.Function, e *engine.Error) *engine.Error {
		switch e.Code {
		case errcode.Execution, errcode.NotFound, errcode.Argument, errcode.Internal:
		default:
			return e
		}
		read := g.readBy(relations, functions)
		for _, d := range read {
			s.data.Check(d)
		}
		file := s.db.file(e.Message)
		if file == "" {
			return gone(read, e)
		}
		out := *e
		f := fault.FromDuckDB(e)
		out.Code, out.Class, out.Hint, out.Offset, out.Line, out.Column = errcode.Execution, "", f.Hint, -1, 0, 0
		out.Message = fmt.Sprintf("%s cannot be read: %s", datasetOf(read, file), fault.WithoutRoots(f.Message, s.db.roots))
		return &out
	}
}

// missingColumn matches DuckDB's errors about a column that is not there.
var missingColumn = regexp.MustCompile(`(?:Referenced column|does not have a column named) "([^"]+)"`)

// gone returns an error about a column that one of the datasets had at its load, with
// the hint that its source has other columns now.
func gone(read []*datasets.Dataset, e *engine.Error) *engine.Error {
	match := missingColumn.FindStringSubmatch(e.Message)
	if match == nil {
		return e
	}
	column := match[1]
	for _, d := range read {
		if slices.ContainsFunc(d.Current().Columns, func(c tables.Column) bool { return strings.EqualFold(c.Name, column) }) {
			out := *e
			out.Hint = fmt.Sprintf("dataset %q had the column %q when it was loaded, and its source has it no longer; it is "+
				"being loaded again", d.Declared.Name, column)
			return &out
		}
	}
	return e
}

// sourceMessage is the message of a problem of a function or view, in the words of a load
// if it is about a file.
func (db *database) sourceMessage(list []*datasets.Dataset, component, message string) string {
	if !strings.HasPrefix(component, "function ") && !strings.HasPrefix(component, "view ") {
		return message
	}
	file := db.file(message)
	if file == "" {
		return message
	}
	f := fault.FromDuckDB(engine.NewError(errcode.Execution, "", "%s", message))
	return fmt.Sprintf("it reads %s, which cannot be read: %s", datasetOf(list, file),
		fault.WithoutRoots(f.Message, db.roots))
}

// readBy returns the datasets without acceleration that statements with these names read.
func (g *Generation) readBy(relations []engine.Relation, called []*engine.Function) []*datasets.Dataset {
	var list []*datasets.Dataset
	seen := map[engine.Relation]bool{}
	used := map[string]bool{}
	var read func([]engine.Relation, []string)
	read = func(relations []engine.Relation, names []string) {
		for _, r := range relations {
			if seen[r] {
				continue
			}
			seen[r] = true
			for _, d := range g.Datasets {
				if d.Relation == r && d.Current().Copy == nil {
					list = append(list, d)
				}
			}
			for _, v := range g.Views {
				if v.Relation == r && v.Current().Copy == nil {
					read(v.Uses.Relations, v.Uses.Functions)
				}
			}
		}
		for _, name := range names {
			if f := g.Functions.Get(name); f != nil && !used[f.Name] {
				used[f.Name] = true
				read(f.Uses.Relations, f.Uses.Functions)
			}
		}
	}
	names := make([]string, len(called))
	for i, f := range called {
		names[i] = f.Name
	}
	read(relations, names)
	return list
}

// datasetOf says which of the datasets reads the file.
func datasetOf(list []*datasets.Dataset, file string) string {
	i := slices.IndexFunc(list, func(d *datasets.Dataset) bool { return strings.Contains(d.Current().Query, file) })
	if i < 0 && len(list) == 1 {
		i = 0
	}
	if i < 0 {
		return "a dataset"
	}
	return fmt.Sprintf("dataset %q", list[i].Declared.Name)
}

// file returns the first path in a message that is below a data root, or "".
func (db *database) file(message string) string {
	for _, root := range db.roots {
		if _, after, ok := strings.Cut(message, root+string(filepath.Separator)); ok {
			end := strings.IndexAny(after, "\"'\n")
			if end < 0 {
				end = len(after)
			}
			return filepath.Join(root, after[:end])
		}
	}
	return ""
}

// forCallers returns problems with paths that are relative to the data roots.
func (db *database) forCallers(problems spicepod.Problems) spicepod.Problems {
	out := slices.Clone(problems)
	for i := range out {
		out[i].Message = fault.WithoutRoots(out[i].Message, db.roots)
	}
	return out
}
