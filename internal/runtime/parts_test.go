package runtime

import (
	"fmt"
	"os"
	"path/filepath"
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

// TestSecretParamsAreMasked: a file that is shown has no literal value of a param that is declared as secret,
// whatever the connector.
func TestSecretParamsAreMasked(t *testing.T) {
	const secret = "literal-0123456789"
	var text strings.Builder
	text.WriteString("version: v1\nkind: Spicepod\nname: p\ndatasets:\n")
	want := 0
	for i, k := range Connectors {
		fmt.Fprintf(&text, "  - name: d%d\n    from: %s:x\n    params:\n      plain: shown%d\n", i, k.Names[0], i)
		for _, p := range k.Params {
			if p.Secret {
				fmt.Fprintf(&text, "      %s: %s\n", p.Name, secret)
				want++
			}
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "spicepod.yaml"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	pod, err := spicepod.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	shown, masked, err := pod.ReadFile("spicepod.yaml")
	if err != nil || masked != want || want < 15 || strings.Contains(shown, secret) || !strings.Contains(shown, "plain: shown7\n") {
		t.Errorf("%d of %d secrets are masked, %v:\n%s", masked, want, err, shown)
	}
}
