package search_test

import (
	"testing"

	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/spicepod"
)

// TestDefaultIsWhatIsServed checks that the settings that are measured are those of a
// Spicepod without runtime.tools.search.
func TestDefaultIsWhatIsServed(t *testing.T) {
	pod, err := spicepod.LoadText("spicepod.yaml", "version: v1\nkind: Spicepod\nname: empty\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := search.Of(pod.Runtime.Tools.Search), search.Default(); got != want || got.FullText == 0 {
		t.Errorf("served with %+v, measured with %+v", got, want)
	}
}
