package spiced

import (
	"os"
	"regexp"
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
