package documents

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spiced-sql/spiced/tools"
)

// analysis is the answer of analyze_document.
type analysis struct {
	ID     string          `json:"id"`
	Name   string          `json:"name"`
	Answer json.RawMessage `json:"answer"` // a text or, of an agent with returns, an object
}

// ofAnalyst are the tools of an analyst, each with the argument that is the document it works on.
var ofAnalyst = []struct{ tool, document string }{
	{"read_document", "id"}, {"grep_documents", "document_id"}, {"search_documents", "document_id"},
}

// analyze answers analyze_document. The analyst gets tools that read this document alone, under their
// names and without the argument that names one, and no other tools: whatever a document tells it to
// do, it can do no more than read that document.
func (t *toolset) analyze(ctx context.Context, d *definition, in tools.Input) (any, error) {
	var args struct{ ID, Question string }
	if err := json.Unmarshal(in.Raw, &args); err != nil {
		return nil, err
	}
	about, err := one[infoResult](ctx, t, mustDefinition("document_info"), in)
	if err != nil {
		return nil, err
	}
	dataset, err := t.env.Lookup(in.Scope, t.config.Dataset)
	if err != nil {
		return nil, err
	}
	missing := t.config.Missing(dataset)
	var own []tools.Tool
	for _, o := range ofAnalyst {
		if has(missing, o.tool) {
			continue
		}
		without := []string{o.document}
		if o.tool == "search_documents" {
			without = append(without, "feeds")
		}
		def := mustDefinition(o.tool)
		tool, err := t.make(def, def.tool(t.config, without...), map[string]any{o.document: args.ID})
		if err != nil {
			return nil, err
		}
		own = append(own, tool)
	}
	size := int64(0)
	if about.Characters != nil {
		size = *about.Characters
	}
	task := fmt.Sprintf("Answer a question about the document %q, which has %d characters. Your tools read it.\n\n%s",
		about.Name, size, args.Question)
	answer, err := t.env.Work(ctx, t.config.Analyst, task, own, in.Scope)
	if err != nil {
		return nil, err
	}
	return analysis{about.ID, about.Name, answer}, nil
}

// mustDefinition returns the definition of a tool.
func mustDefinition(name string) *definition {
	for _, d := range definitions {
		if d.Name == name {
			return d
		}
	}
	panic("no tool " + name) // a name in this package
}

// has reports whether a tool is missing.
func has(list []Missing, tool string) bool {
	for _, m := range list {
		if m.Tool == tool || m.Tool == "" {
			return true
		}
	}
	return false
}
