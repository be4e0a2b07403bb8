package eval

import (
	"encoding/json"
	"testing"

	"github.com/spiced-sql/spiced/internal/find/search"
)

// The texts of a third of the tools are made of their declarations alone, the same each time.
func TestDocumented(t *testing.T) {
	set := &Set{Name: "s", Tools: []search.Document{
		{Name: "get_forecast", Description: "Forecast of the weather.", Parameters: json.RawMessage(
			`{"properties":{"city":{"description":"The city (e.g., 'Paris')."},"unit":{"enum":["C","F"]},"days":{"default":3},"x":{}}}`)},
		{Name: "frobnicate", Description: "Frobnicates."},
		{Name: "quux", Description: "Quuxes a quuz."},
	}, Queries: []Query{{ID: "1", Text: "umbrella", Relevant: []string{"get_forecast"}}}}
	d := set.Documented()
	one := d.Tools[0]
	if want := "Somebody asks about rain, umbrella, sunny, temperature, hot, cold, wind, snow, storm, outside, degrees, " +
		"what is, tell me, see, know, check, look up."; one.WhenToUse != want {
		t.Errorf("when_to_use: %s", one.WhenToUse)
	}
	if len(one.Examples) != 1 || one.Examples[0] != `{"city":"Paris","days":3,"unit":"C"}` {
		t.Errorf("examples: %s", one.Examples)
	}
	for i, other := range d.Tools[1:] {
		if other.WhenToUse != "" || other.Examples != nil || set.Tools[i].WhenToUse != "" {
			t.Errorf("%s: %+v", other.Name, other)
		}
	}
	before, _, _ := set.Run(t.Context(), Options{Settings: search.Default()})
	after, _, _ := d.Run(t.Context(), Options{Settings: search.Default()})
	if before.NDCG10 != 0 || after.NDCG10 != 100 {
		t.Errorf("nDCG %v, then %v", before.NDCG10, after.NDCG10)
	}
}
