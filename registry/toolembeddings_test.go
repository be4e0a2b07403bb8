package registry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/registry"
)

// The table has the vectors once a search has needed them, and does not wait while the model
// computes them.
func TestStoredVectors(t *testing.T) {
	model := &fakeModel{name: "m", words: []string{"distance", "rain"}}
	r, _ := start(t)
	publish(t, r, registry.Contents{Tools: catalogue(t), Embeddings: listing{models{model}, []string{"m"}}})
	before := r.StoredVectors()
	if len(before) != r.Current().Len() || strings.Contains(strings.Join(before, " "), "true") {
		t.Errorf("before a search: %s", before)
	}
	if _, err := r.Search(t.Context(), registry.SearchRequest{Query: "the distance", Wait: 10 * time.Second}); err != nil {
		t.Fatal(err)
	}
	after := r.StoredVectors()
	for _, row := range after {
		if !strings.Contains(row, "true 2 2") { // computed, dimensions, numbers
			t.Errorf("after a search: %s", row)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d rows, %d before", len(after), len(before))
	}
}

// listing are models that can be listed.
type listing struct {
	models
	names []string
}

func (l listing) Names() []string { return l.names }
