package spicepod

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// testBodies are as the kinds of bodies exec and wasm have them.
var testBodies = []BodyKind{{Schemes: []string{"exec"}, Process: true}, {Schemes: []string{"wasm"}, FileParam: "module"}}

// TestModules loads functions whose bodies are WebAssembly modules: their bytes are kept.
func TestModules(t *testing.T) {
	module := "\x00asm\x01\x00\x00\x00\xFF\xFE\r\n\x00"
	head := "version: v1\nkind: Spicepod\nname: test\nfunctions:\n- {name: f, signature: {args: [], returns: int64}, "
	for _, c := range []struct{ name, function, want string }{
		{"body_ref", "from: wasm, body_ref: f.wasm}", ""},
		{"params.module", "params: {module: f.wasm}, from: wasm}", ""},
		{"both", "from: wasm, body_ref: f.wasm, params: {module: f.wasm}}", "WASM function has both `params.module` and `body` or `body_ref`; provide exactly one"},
		{"no file", "from: wasm, params: {module: g.wasm}}", `failed to read module "g.wasm": no such file`},
		{"as SQL", "from: sql, body_ref: f.wasm}", "the file is a WebAssembly module, not SQL"},
		{"too large", "from: wasm, body_ref: large.wasm}", "too large: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, data := range map[string]string{"spicepod.yaml": head + c.function + "\n", "f.wasm": module} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if c.name == "too large" {
				large := filepath.Join(dir, "large.wasm")
				if err := os.WriteFile(large, []byte(module), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Truncate(large, MaxModuleBytes+1); err != nil {
					t.Fatal(err)
				}
			}
			pod, err := Load(dir, testBodies...)
			var problems Problems
			switch {
			case c.want == "" && err != nil:
				t.Fatal(err)
			case c.want == "":
				if pod.Functions[0].Body != module {
					t.Errorf("the body is %q", pod.Functions[0].Body)
				}
			case !errors.As(err, &problems) || !strings.Contains(problems.Error(), c.want):
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}
