package udf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// ToolSet is the tools of the functions of one generation. It is immutable; nil is an empty
// set.
type ToolSet struct {
	Tools   []tools.Tool // by name
	NoTools []NoTool     // the other functions, by name

	db    Querier
	owner string
	// documents are the settings that the tools were made with.
	documents spicepod.ToolDocuments
	made      map[*functions.Function]madeTool
}

// madeTool is a tool with what it was made with.
type madeTool struct {
	tool   tools.Tool
	traits engine.Traits
	reads  []engine.Relation
}

// NoTool is a function that is not offered as a tool.
type NoTool struct {
	Name   string
	Reason string // with what would make it a tool
}

// NewToolSet makes the tools of all functions of set. It reuses a tool of prev, with its
// queue, if the function is the same, at the same position.
func NewToolSet(db Querier, set *functions.Set, o ToolOptions, prev *ToolSet) *ToolSet {
	s := &ToolSet{db: db, owner: o.Owner, documents: o.Documents, made: map[*functions.Function]madeTool{}}
	o.Functions = set
	for _, f := range set.All() {
		if f.Tool() != "" {
			continue
		}
		with := madeTool{traits: o.traits(f), reads: o.reads(f)}
		if tool := prev.reuse(s, f, with); tool != nil {
			s.add(f, tool, with)
			continue
		}
		if n := obstacle(f); n != nil {
			s.NoTools = append(s.NoTools, *n)
			continue
		}
		tool, err := Tool(db, f, o)
		if err != nil {
			s.NoTools = append(s.NoTools, NoTool{f.Name, err.Error()})
			continue
		}
		s.add(f, tool, with)
	}
	slices.SortFunc(s.Tools, func(a, b tools.Tool) int {
		return strings.Compare(a.Definition().Name, b.Definition().Name)
	})
	slices.SortFunc(s.NoTools, func(a, b NoTool) int { return strings.Compare(a.Name, b.Name) })
	return s
}

func (s *ToolSet) add(f *functions.Function, tool tools.Tool, with madeTool) {
	s.Tools = append(s.Tools, tool)
	with.tool = tool
	s.made[f] = with
}

// reuse returns the tool of f in s, if it is still valid in next. A function whose
// declaration, position or callees changed is another *Function.
func (s *ToolSet) reuse(next *ToolSet, f *functions.Function, with madeTool) tools.Tool {
	if s == nil || s.db != next.db || s.owner != next.owner ||
		s.documents != next.documents || s.made[f].traits != with.traits ||
		!slices.Equal(s.made[f].reads, with.reads) {
		return nil
	}
	return s.made[f].tool
}

// obstacle says why f cannot be a tool; nil if it can.
func obstacle(f *functions.Function) *NoTool {
	no := func(format string, args ...any) *NoTool { return &NoTool{f.Name, fmt.Sprintf(format, args...)} }
	switch {
	case f.Declared.AsTool != nil && !*f.Declared.AsTool:
		return no("it has as_tool: false")
	case !f.Declared.AsToolEffective():
		return no("a table function is a tool only with as_tool: true")
	case len(f.Tables) > 0:
		return no("it takes the table %q, which a model cannot pass; read a dataset in its body instead", f.Tables[0].Name)
	case !tools.ValidName(f.Name):
		return no("models cannot call %q; a tool's name has letters, digits, _ and -, at most %d", f.Name, tools.MaxName)
	}
	return nil
}
