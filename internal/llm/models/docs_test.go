package models

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/test/podtest"
	"github.com/spiced-sql/spiced/spicepod"
)

const modelsPage = "../../../docs/models.md"

// yamlBlock matches an example of the documentation.
var yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// TestDocsOfParams: docs/models.md has a row for each param of every model, and a page for each
// provider, which names the params of the provider.
func TestDocsOfParams(t *testing.T) {
	page := readPage(t, modelsPage)
	for _, p := range slices.Concat(common, remote) {
		if !strings.Contains(page, "`"+p.Name+"`") {
			t.Errorf("docs/models.md does not have params.%s", p.Name)
		}
	}
	for _, p := range providers {
		path := "provider-" + p.name + ".md"
		if !strings.Contains(page, "| `"+p.name+":<") || !strings.Contains(page, "]("+path+")") {
			t.Errorf("docs/models.md does not have the provider %s and a link to %s", p.name, path)
		}
		own := readPage(t, filepath.Join(filepath.Dir(modelsPage), path))
		for _, param := range p.known() {
			of := !slices.ContainsFunc(slices.Concat(common, remote), func(c spicepod.Param) bool { return c.Name == param.Name })
			if of && !regexp.MustCompile("`"+param.Name+"[`:]").MatchString(own) {
				t.Errorf("docs/%s does not have params.%s", path, param.Name)
			}
		}
	}
}

// TestDocsOfExamples opens each model that the pages of providers and docs/models.md declare.
func TestDocsOfExamples(t *testing.T) {
	for _, variable := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_API_KEY", "GEMINI_API_KEY"} {
		t.Setenv(variable, "sk-example")
	}
	pages, err := filepath.Glob("../../../docs/provider-*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(pages, modelsPage) {
		opened := 0
		for _, block := range yamlBlock.FindAllStringSubmatch(readPage(t, path), -1) {
			pod := podtest.Load(t, block[1])
			for i := range pod.Models {
				opened++
				e := (&builder{pod: pod}).entry(i)
				if _, problem := e.open(); problem != nil || len(e.Problems) > 0 {
					t.Errorf("%s: model %s: %v %v", path, pod.Models[i].Name, problem, e.Problems)
				}
			}
		}
		if opened == 0 {
			t.Errorf("%s declares no model", path)
		}
	}
}

func readPage(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
