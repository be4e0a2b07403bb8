package spicepod

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFilesOutsideOfTheFolder: files that a Spicepod names are in its folder, also after symbolic
// links, and an error shows nothing of the others.
func TestFilesOutsideOfTheFolder(t *testing.T) {
	const head = "version: v1\nkind: Spicepod\nname: test\nruntime: {functions: {enabled: true}}\n"
	const function = "functions: [{name: f, signature: {returns: int64}, "
	for _, c := range []struct {
		name, section string
		refused       bool
	}{
		{"a parent's file", function + "from: exec, body_ref: ../passwd}]", true},
		{"an absolute path", function + "from: sql, body_ref: OUTSIDE/passwd}]", true},
		{"a link", function + "from: exec, body_ref: link}]", true},
		{"a linked folder", function + "from: exec, body_ref: linked/passwd}]", true},
		{"a view", "views: [{name: v, sql_ref: ../passwd}]", true},
		{"a component", "datasets: [{ref: ../passwd}]", true},
		{"a module", function + "from: wasm, params: {module: ../passwd}}]", true},
		{"a file of the folder", function + "from: sql, body_ref: in/body.sql}]", false},
		{"a link in the folder", function + "from: sql, body_ref: again.sql}]", false},
		{"an absolute path of the folder", function + "from: sql, body_ref: INSIDE/in/body.sql}]", false},
		{"a way out and back", function + "from: sql, body_ref: ../pod/in/body.sql}]", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			outside := t.TempDir()
			dir := filepath.Join(outside, "pod")
			section := strings.NewReplacer("OUTSIDE", outside, "INSIDE", dir).Replace(c.section)
			for name, text := range map[string]string{"passwd": "root:x:hunter2\n", "pod/spicepod.yaml": head + section + "\n", "pod/in/body.sql": "42"} {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(outside, name)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(outside, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for link, to := range map[string]string{"link": "../passwd", "linked": "..", "again.sql": "in/body.sql"} {
				if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
					t.Fatal(err)
				}
			}
			linked := filepath.Join(outside, "linked")
			if err := os.Symlink("pod", linked); err != nil {
				t.Fatal(err)
			}
			for _, start := range []string{dir, linked} { // a Spicepod may be behind a link
				pod, err := Load(start, testBodies...)
				text := ""
				if err != nil {
					text = err.Error()
				} else {
					text = pod.Faults().Error()
				}
				if strings.Contains(text, "is outside of the folder of the Spicepod") != c.refused || strings.Contains(text, "hunter2") {
					t.Errorf("%s: got %s", start, text)
				}
			}
		})
	}
}
