package lint_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/find/lint"
	"github.com/spiced-sql/spiced/tools"
)

// rule returns the findings of one rule, as message and hint.
func rule(name string, list ...*tools.Definition) (found []string) {
	for _, f := range lint.Check(list) {
		if f.Rule == name {
			found = append(found, f.Tool+" "+f.Message+" / "+f.Hint)
		}
	}
	return found
}

// Two tools are confused if a search for what one of them does finds the other one first.
func TestConfusedTools(t *testing.T) {
	lookup := tool("lookup_customer", "Find a customer order. By its number.", `{}`)
	find := tool("find_customer_order", "Customer order search by the day of delivery.", `{}`)
	other := tool("weather", "Forecast of rain and wind.", `{}`)
	want := []string{`lookup_customer a search for "Find a customer order" finds "find_customer_order" first / ` +
		`say in when_to_use of both when which is meant: only "lookup_customer" is about lookup, its, number; ` +
		`only "find_customer_order" is about search, day, delivery`}
	if diff := cmp.Diff(want, rule(lint.ConfusedTools, lookup, find, other)); diff != "" {
		t.Error(diff)
	}
	// when_to_use that says the difference ends it.
	lookup.WhenToUse = "Find a customer order whose number is known."
	lookup.Description = "Look an order up by its number."
	if found := rule(lint.ConfusedTools, lookup, find, other); found != nil {
		t.Error(found)
	}
}

// The first sentence is that of a comment of code, too.
func TestConfusedByIndentedDescriptions(t *testing.T) {
	lookup := tool("lookup_customer", "\n    Find a customer\n    order.\n\n    Args:\n        n: number\n    ", `{}`)
	find := tool("find_customer_order", "Customer order search by the day of delivery.", `{}`)
	found := rule(lint.ConfusedTools, lookup, find)
	if len(found) != 1 || !strings.HasPrefix(found[0], `lookup_customer a search for "Find a customer order." finds`) {
		t.Error(found)
	}
}

func TestUses(t *testing.T) {
	d := tool("f", good, `{}`)
	d.WhenToUse, d.Budget = "Somebody asks how far it is between two places on the earth.", 5
	want := []string{"f models are not sent its when_to_use: the budget is 5 tokens / " +
		"shorten the texts, or raise runtime.tools.documents.tokens"}
	if diff := cmp.Diff(want, rule(lint.LeftOut, d)); diff != "" {
		t.Error(diff)
	}
	d.Examples = []tools.Example{{Arguments: json.RawMessage(`{"x":"a text of more than five tokens"}`)}}
	want[0] = strings.Replace(want[0], "when_to_use", "when_to_use, examples[0]", 1)
	if diff := cmp.Diff(want, rule(lint.LeftOut, d)); diff != "" {
		t.Error(diff)
	}
	d.WhenToUse, d.FromTests = "", true // the user wrote none
	if found := rule(lint.LeftOut, d); found != nil {
		t.Error(found)
	}
	d.Budget = 0 // nothing is sent, as the Spicepod says
	if found := rule(lint.LeftOut, d); found != nil {
		t.Error(found)
	}
	d.Withheld = "it reads a dataset with a column mask"
	want = []string{"f its tests are not shown as examples: it reads a dataset with a column mask / write examples with invented values"}
	if diff := cmp.Diff(want, rule(lint.WithheldExample, d)); diff != "" {
		t.Error(diff)
	}
}
