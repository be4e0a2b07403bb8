package spiced

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// translated are words of docs/style.md that have a standard term instead.
var translated = regexp.MustCompile(`(?i)\b(` + strings.Join([]string{
	`doors?`, `kept results?`, `remembered results?`, `told`, `anew`, `nobody`, `stands? for`,
	`(is|are) none`, `what is so`, `(is|are) to be`, `in a circle`, `mend(s|ed|ing)?`,
	`crew`, `tells? whether`, `of ours`, `whoever may`, `is not spoken`, `stands? aside`, `beside (those|the|its|it|them|one)`,
	`of which`, `as far as`, `(say|says|said|saying) so`, `words alone`, `at the edge`, `(not|was) taken over`,
}, "|") + `)\b`)

// unchecked are files that hold the words as data.
var unchecked = []string{
	"english_test.go", "docs/style.md",
	"internal/find/lint/trust.go", "internal/find/lint/trust_test.go", // phrases of attacks
}

func TestPlainEnglish(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && path != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
			return fs.SkipDir
		}
		switch {
		case slices.ContainsFunc(unchecked, func(p string) bool { return path == p || strings.HasPrefix(path, p+"/") }):
			return nil
		case strings.HasSuffix(path, ".go"):
			return plainGo(t, path)
		case strings.HasSuffix(path, ".md"), !d.IsDir() && strings.HasPrefix(path, "internal/console/src/"):
			return plainText(t, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// phrases returns the phrases of text that docs/style.md replaces, except those that are
// allowed.
func phrases(text string) []string {
	return translated.FindAllString(allowed.ReplaceAllString(text, ""), -1)
}

// allowed are "there is none", the field "door" of the audit log, and standard relative clauses:
// "one of which".
var allowed = regexp.MustCompile(`(?i)there (is|are) none|"door"|door=|\b(one|some|each|none|many|most|all|both|any|two) of which\b`)

// plainGo checks the comments and strings of a Go file.
func plainGo(t *testing.T, path string) error {
	src, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	fset := token.NewFileSet()
	file := fset.AddFile(path, -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, scanner.ScanComments)
	// A phrase may go on in the next line of a comment.
	comment, at, last := "", token.NoPos, 0
	flush := func() { plain(t, fset, at, comment); comment = "" }
	for {
		pos, tok, lit := s.Scan()
		switch line := fset.Position(pos).Line; {
		case tok == token.EOF:
			flush()
			return nil
		case tok == token.COMMENT:
			if comment == "" || line > last+1 {
				flush()
				at = pos
			}
			comment, last = comment+" "+strings.TrimSpace(strings.TrimPrefix(lit, "//")), line
		case tok == token.STRING:
			plain(t, fset, pos, lit)
		}
	}
}

func plain(t *testing.T, fset *token.FileSet, pos token.Pos, text string) {
	for _, phrase := range phrases(text) {
		t.Errorf("%s: %q; docs/style.md has the term", fset.Position(pos), phrase)
	}
}

func plainText(t *testing.T, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		for _, phrase := range phrases(line) {
			t.Errorf("%s:%d: %q; docs/style.md has the term", path, n, phrase)
		}
	}
	return nil
}
