package runtime

import (
	"reflect"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/doctable"
	"github.com/spiced-sql/spiced/spicepod"
)

// TestBodyKinds: a scheme has one kind, keys are those of functions, and docs/bodies.md has a row
// for each kind.
func TestBodyKinds(t *testing.T) {
	keys := map[string]bool{}
	for f := range reflect.TypeFor[spicepod.Function]().Fields() {
		keys[f.Tag.Get("yaml")] = true
	}
	schemes := map[string]bool{"sql": true}
	documented := doctable.Read(t, "../../docs/bodies.md", "from")
	for _, k := range bodyKinds {
		described := false
		for _, scheme := range k.Schemes {
			if schemes[scheme] {
				t.Errorf("two kinds of bodies have the scheme %s", scheme)
			}
			schemes[scheme] = true
			for from := range documented {
				described = described || strings.Contains(from, "`"+scheme+"`") || strings.Contains(from, scheme+":")
			}
		}
		if !described {
			t.Errorf("docs/bodies.md has no row for functions from %v", k.Schemes)
		}
		for _, key := range k.Keys {
			if !keys[key] {
				t.Errorf("functions have no key %s, which those from %v take", key, k.Schemes)
			}
		}
	}
}
