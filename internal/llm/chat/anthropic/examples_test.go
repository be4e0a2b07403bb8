package anthropic_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/anthropic"
	"github.com/spiced-sql/spiced/tools"
)

// Examples are in the field of the API that has them, or else in the description.
func TestExamplesOfTools(t *testing.T) {
	r := question("hi")
	r.Tools = []chat.Tool{{
		Name: "freight", Description: "Cost of a parcel.", Parameters: json.RawMessage(`{"type":"object"}`),
		Examples: []tools.Example{{Arguments: json.RawMessage(`{"kg":1}`), Result: json.RawMessage(`5.7`)}},
	}}
	for native, want := range map[bool]string{
		true: `[{"description":"Cost of a parcel.","input_examples":[{"kg":1}],"input_schema":{"type":"object"},` +
			`"name":"freight"}]`,
		false: `[{"description":"Cost of a parcel.\nExample: {\"kg\":1} → 5.7","input_schema":{"type":"object"},"name":"freight"}]`,
	} {
		var body struct{ Tools json.RawMessage }
		if err := json.Unmarshal(sent(t, anthropic.ProviderOptions{Examples: native}, r), &body); err != nil {
			t.Fatal(err)
		}
		got, err := tools.Canonical(body.Tools)
		if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
			t.Errorf("native %t: %v %s", native, err, diff)
		}
	}
}
