package models

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/dialect"
)

// strictField are the names of the field strict of a client's tool, by form, as in the
// tables of package translation.
var strictField = map[chat.Form]string{
	chat.FormOpenAI: "tools[function].function.strict", chat.FormResponses: "tools[function].strict",
	chat.FormAnthropic: "tools[custom].strict",
}

// sayClientTools writes the schemas of the client's tools as the provider takes them, where
// the client did not write them for this form, or the provider takes less of JSON Schema than
// its form: see decision 0079. A schema that the provider takes stays as it is, byte for byte.
func (s *settings) sayClientTools(r *chat.Request, form chat.Form) error {
	own := r.Form == form
	if !own && form != chat.FormAnthropic {
		r.Tools = slices.Clone(r.Tools)
		for i := range r.Tools {
			r.Tools[i].Deferred = false // it has no effect there: see package translation
		}
	}
	if s.dialect == "" || own && s.dialect != dialect.Subset {
		return nil
	}
	r.Tools = slices.Clone(r.Tools)
	for i := range r.Tools {
		t := &r.Tools[i]
		if t.Hosted() || len(t.Parameters) == 0 || own && t.Namespace != "" {
			continue
		}
		said := dialect.Say(t.Parameters, s.dialect)
		if sameSchema(said.Schema, t.Parameters) {
			continue
		}
		if len(said.Names) > 0 {
			// The client gets the calls as the model writes them, piece by piece.
			name := slices.Sorted(maps.Values(said.Names))[0]
			return chat.Invalid(fmt.Sprintf("tools[%d]", i),
				"the argument %q of the tool %q has a name that the model's provider does not take: use letters, digits, _, . "+
					"and -, at most 64",
				truncate.Ellipsis(name, maxShownName), truncate.Ellipsis(t.Name, maxShownName))
		}
		if t.Strict != nil && *t.Strict { // nothing holds the model to what is only described
			r.Ignored = appendNew(r.Ignored, strictField[r.Form])
		}
		t.Parameters, t.Description, t.Strict = said.Schema, said.Describe(t.Description), nil
		if own {
			t.Raw = rewritten(t, form)
		}
	}
	return nil
}

// maxShownName limits a name in an error, in characters.
const maxShownName = 100

func appendNew(list []string, item string) []string {
	if slices.Contains(list, item) {
		return list
	}
	return append(list, item)
}

// sameSchema reports whether a schema was not changed, apart from $schema and $id, which
// every provider takes or ignores at the top but those of [dialect.Subset].
func sameSchema(said, declared json.RawMessage) bool {
	doc, err := tools.Decode(declared)
	object, ok := doc.(map[string]any)
	if err != nil || !ok {
		return false
	}
	delete(object, "$schema")
	delete(object, "$id")
	encoded, err := tools.Encode(object)
	return err == nil && bytes.Equal(encoded, said)
}

// rewritten is a client's tool as it wrote it, with other fields.
func rewritten(t *chat.Tool, form chat.Form) json.RawMessage {
	var outer, fields map[string]json.RawMessage
	if json.Unmarshal(t.Raw, &outer) != nil {
		return nil
	}
	switch {
	case form != chat.FormOpenAI:
		fields = outer
	case json.Unmarshal(outer["function"], &fields) != nil:
		return nil
	}
	schema := "parameters"
	if form == chat.FormAnthropic {
		schema = "input_schema"
	}
	fields[schema] = t.Parameters
	delete(fields, "strict")
	if t.Description != "" {
		fields["description"], _ = tools.Encode(t.Description) // of text
	}
	if form == chat.FormOpenAI {
		outer["function"], _ = tools.Encode(fields) // of JSON
	}
	raw, _ := tools.Encode(outer) // of JSON
	return raw
}
