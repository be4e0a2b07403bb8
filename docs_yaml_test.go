package spiced

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/spicepod"
)

// yamlBlock matches a block of YAML.
var yamlBlock = regexp.MustCompile("(?sm)^```yaml\n(.*?)^```$")

// sections are the top-level keys with which a part of a Spicepod in the documentation begins.
var sections = []string{
	"agents", "catalogs", "datasets", "embeddings", "functions", "metrics", "models", "rerankers", "runtime", "sandboxes",
	"search_tests", "secrets", "semantic_models", "snapshots", "tools", "toolsets", "views",
}

var (
	// reference matches a reference to a variable, and bodyRef the file of a body.
	reference = regexp.MustCompile(`\$\{(?:env|secrets):(\w+)\}`)
	bodyRef   = regexp.MustCompile(`body_ref: ([\w.]+)`)
	// omitted matches what is missing of a part of a Spicepod, which may be the reader's.
	omitted = regexp.MustCompile(`\b(is|are) required\b|\bis not declared$`)
)

// TestYAMLOfDocs: the parts of Spicepods that the pages show have the keys and values that a
// Spicepod may have. They may leave out what is required.
func TestYAMLOfDocs(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range yamlBlock.FindAllStringSubmatchIndex(string(text), -1) {
			block := string(text[at[2]:at[3]])
			if key, _, _ := strings.Cut(block, ":"); !slices.Contains(sections, key) {
				continue
			}
			checked++
			if wrong := problemsOf(t, block); len(wrong) > 0 {
				var b strings.Builder
				wrong.WriteText(&b)
				t.Errorf("%s:%d:\n%s", page, 1+strings.Count(string(text[:at[2]]), "\n"), &b)
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d blocks were checked", checked)
	}
}

// problemsOf returns the problems of a Spicepod with this part, for which its variables and
// the files of bodies are there.
func problemsOf(t *testing.T, part string) spicepod.Problems {
	t.Helper()
	files := map[string]string{"spicepod.yaml": "version: v1\nkind: Spicepod\nname: docs\n" + part}
	for _, m := range reference.FindAllStringSubmatch(part, -1) {
		files[".env"] += m[1] + "=value-of-" + m[1] + "\n"
	}
	for _, m := range bodyRef.FindAllStringSubmatch(part, -1) {
		files[m[1]] = "body"
	}
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := spicepod.Load(dir)
	var problems spicepod.Problems
	if err != nil && !errors.As(err, &problems) {
		t.Fatal(err)
	}
	return slices.DeleteFunc(problems, func(p spicepod.Problem) bool { return omitted.MatchString(p.Message) })
}

// TestYAMLOfDocsIsChecked: a wrong key and a wrong value are found.
func TestYAMLOfDocsIsChecked(t *testing.T) {
	wrong := problemsOf(t, "sandboxes:\n  - { name: a, network: some, memory: 1GiB }\n  - { network: none }\n")
	if len(wrong) != 2 {
		t.Errorf("got %v", wrong)
	}
}
