package spiced

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	codeSpan       = regexp.MustCompile("`([^`\n]+)`")
	documentedPath = regexp.MustCompile(`^[\w./-]*(/[\w.-]+|\.go)$`)
	documentedName = regexp.MustCompile(`^(?:([a-z]\w*)\.)?([A-Z]\w*[a-z]\w*)(?:\(.*\))?$`)
)

// TestDocumentedCodeExists checks the code that the documents for contributors name: the path of
// a file or folder, from the root or from internal; the base name of a file; and an exported
// name, with or without its package.
func TestDocumentedCodeExists(t *testing.T) {
	bases, names := map[string]bool{}, map[string]bool{}
	files, err := goFiles()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		bases[path.Base(file)] = true
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range declaredNames(parsed) {
			names[name], names[parsed.Name.Name+"."+name] = true, true
		}
	}
	exists := func(name string) bool {
		_, err := os.Stat(name)
		_, below := os.Stat(path.Join("internal", name))
		return err == nil || below == nil || bases[name]
	}
	for _, doc := range []string{"docs/style.md", "docs/architecture.md", "CONTRIBUTING.md"} {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		checked := 0
		for _, span := range codeSpan.FindAllStringSubmatch(string(text), -1) {
			if documentedPath.MatchString(span[1]) {
				checked++
				if !exists(span[1]) {
					t.Errorf("%s: there is no file or folder %s", doc, span[1])
				}
			} else if name := documentedName.FindStringSubmatch(span[1]); name != nil {
				checked++
				if !names[strings.TrimPrefix(name[1]+"."+name[2], ".")] {
					t.Errorf("%s: no package declares %s", doc, span[1])
				}
			}
		}
		if checked == 0 {
			t.Errorf("%s names no code", doc)
		}
	}
}

// declaredNames returns the names of the functions, methods, types, variables and constants of
// a file.
func declaredNames(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names = append(names, d.Name.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, spec.Name.Name)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names
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

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```$")
	dropped = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinksExist: each relative link of a Markdown file names a file, and its anchor a heading of
// that file.
func TestLinksExist(t *testing.T) {
	checked, anchors := 0, map[string]map[string]bool{} // of headings, by file
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && file != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
			return fs.SkipDir
		}
		if d.IsDir() || path.Ext(file) != ".md" {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, l := range link.FindAllStringSubmatch(codeSpan.ReplaceAllString(fenced.ReplaceAllString(string(text), ""), ""), -1) {
			to, anchor, _ := strings.Cut(l[1], "#")
			if strings.Contains(to, ":") {
				continue // of another site
			}
			checked++
			if to = path.Join(path.Dir(file), to); l[1][0] == '#' {
				to = file
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: the link %s names no file", file, l[1])
				continue
			}
			if anchors[to] == nil {
				if anchors[to], err = anchorsOf(to); err != nil {
					return err
				}
			}
			if anchor != "" && !anchors[to][anchor] {
				t.Errorf("%s: %s has no heading #%s", file, to, anchor)
			}
		}
		return nil
	})
	if err != nil || checked < 100 {
		t.Errorf("%d links: %v", checked, err)
	}
}

// anchorsOf returns the anchors of the headings of a Markdown file, as GitHub makes them. A folder
// has none.
func anchorsOf(file string) (map[string]bool, error) {
	found := map[string]bool{}
	if path.Ext(file) != ".md" {
		return found, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for _, h := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
		anchor := strings.ReplaceAll(strings.ToLower(dropped.ReplaceAllString(h[1], "")), " ", "-")
		next := anchor
		for i := 1; found[next]; i++ {
			next = fmt.Sprint(anchor, "-", i)
		}
		found[next] = true
	}
	return found, nil
}
