package runtime

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/spicepod"
)

// TestRemarks loads what is declared and is not there: a warning names each.
func TestRemarks(t *testing.T) {
	pod := files{"o.csv": "id,text\n1,a\n", "spicepod.yaml": `version: v1
kind: Spicepod
name: p
runtime:
  data_roots: [., nodir]
  extensions: { directory: nodir }
  mcp: { pinned_tools: [list_datasets, list_dataset] }
datasets:
- { name: o, from: "file:o.csv", time_column: ordred }
- { name: kept, from: "file:o.csv", acceleration: { mode: file } }
- { name: made, from: "file:o.csv", acceleration: { mode: file_create } }
- { name: searched, from: "file:o.csv", columns: [{ name: text, full_text_search: { row_id: nope } }] }
`}
	r := start(t, pod, func(o *Options) { o.Serves = true })
	want := []string{
		"the data root nodir is not a folder", "runtime.extensions.directory is not a folder",
		`there is no tool "list_dataset" to pin (did you mean "list_datasets"?)`,
		`dataset o: the source has no column "ordred"`,
		"dataset kept: mode: file keeps the rows in the state directory; without one, they are loaded again at each start",
		`dataset searched: the source has no column "nope"`,
	}
	problems := r.reload().Problems
	if len(problems) != len(want) {
		t.Errorf("got %d problems, want %d:", len(problems), len(want))
	}
	for i, p := range problems {
		if i < len(want) && !strings.Contains(p.Error(), want[i]) || (p.Severity == spicepod.Warning) != (i < 5) {
			t.Errorf("got %v, want %s", p, want[min(i, len(want)-1)])
		}
	}
	r.want("SELECT count(*) FROM spiced.load_errors WHERE component = 'dataset kept'", "1")

	for name, option := range map[string]func(*Options){
		"with a state directory": func(o *Options) { o.Serves, o.StateDir = true, filepath.Join(t.TempDir(), "state") },
		"of a command that ends": func(*Options) {},
	} {
		for _, p := range start(t, pod, option).reload().Problems {
			if strings.Contains(p.Message, "state directory") {
				t.Errorf("%s: got %v", name, p)
			}
		}
	}
}
