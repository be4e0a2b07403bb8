package spiced

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// documentedFile matches the path of a Go file in a document.
var documentedFile = regexp.MustCompile("`([a-z0-9/_]+\\.go)`")

// TestDocumentedFilesExist checks the files that the documents for contributors
// name.
func TestDocumentedFilesExist(t *testing.T) {
	for _, doc := range []string{"docs/architecture.md", "CONTRIBUTING.md"} {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		files := documentedFile.FindAllStringSubmatch(string(text), -1)
		if len(files) == 0 {
			t.Errorf("%s names no file", doc)
		}
		for _, f := range files {
			if _, err := os.Stat(f[1]); err != nil {
				t.Errorf("%s: %v", doc, err)
			}
		}
	}
}

// route matches a route of the HTTP API in a document.
var route = regexp.MustCompile("`((?:GET|POST|PUT|PATCH|DELETE) /[^`]*)`")

// TestRoutesForSpiceExist: the routes of spiced to which docs/coming-from-spice.md maps those of
// Spice are in docs/http.md, which is made of the routes that are served.
func TestRoutesForSpiceExist(t *testing.T) {
	page, err := os.ReadFile("docs/coming-from-spice.md")
	if err != nil {
		t.Fatal(err)
	}
	http, err := os.ReadFile("docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for line := range strings.Lines(string(page)) {
		columns := strings.Split(line, " | ")
		if len(columns) != 2 {
			continue
		}
		for _, r := range route.FindAllStringSubmatch(columns[1], -1) {
			found++
			if !strings.Contains(string(http), "\n### "+r[1]+"\n") {
				t.Errorf("there is no route %s", r[1])
			}
		}
	}
	if found < 30 {
		t.Errorf("the page names %d routes", found)
	}
}
