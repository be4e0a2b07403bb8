package engine

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFilesAreOfAGroup: the first word of each file's name is a group of the package comment, and
// each group has a file.
func TestFilesAreOfAGroup(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "engine.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^  - ([a-z, ]+):`).FindAllStringSubmatch(file.Doc.Text(), -1) {
		for _, group := range strings.Split(m[1], ", ") {
			groups[group] = 0
		}
	}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		group, _, _ := strings.Cut(strings.TrimSuffix(name, ".go"), "_")
		if _, ok := groups[group]; !ok {
			t.Errorf("%s is of no group of the package comment", name)
		}
		groups[group]++
	}
	for group, files := range groups {
		if files == 0 {
			t.Errorf("group %s has no file", group)
		}
	}
}
