package spicepod

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/test/cputime"
	"github.com/spiced-sql/spiced/internal/test/golden"
)

const wantPrefix = "# want: "

// splitWants separates the wanted problems at the top of a file from the rest.
func splitWants(text string) (wants []string, rest string) {
	for strings.HasPrefix(text, wantPrefix) {
		line, after, _ := strings.Cut(text, "\n")
		wants = append(wants, strings.TrimPrefix(line, wantPrefix))
		text = after
	}
	return wants, text
}

// loadBad loads a file that must have faults.
func loadBad(t *testing.T, file string) Problems {
	t.Helper()
	within := cputime.Limit(t, 5*time.Second)
	pod, err := Load(file)
	within()
	problems := unsetProblems(pod)
	if len(problems) == 0 && (!errors.As(err, &problems) || pod != nil) {
		t.Fatalf("Load gave %v, %v", pod, err)
	}
	return problems
}

// unsetProblems are the problems of variables that are not set, in file order.
func unsetProblems(pod *Pod) (problems Problems) {
	if pod == nil {
		return nil
	}
	for path := range pod.index.unset {
		e := Entry{Pod: pod, Path: path}
		e.CheckReferences()
		problems = append(problems, e.Problems...)
	}
	problems.Sort()
	return problems
}

// short is a problem as a want line has it.
func short(p Problem, file string) string {
	place := fmt.Sprintf("%d:%d: ", p.Line, p.Column)
	if p.File != filepath.Base(file) {
		place = p.File + ":" + place
	}
	return place + p.Message
}

// TestBadFiles loads each of testdata/bad/*.yaml. Its first lines say which
// problems it has, all of them, in order: `# want: line:column: part of message`.
func TestBadFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			if golden.Update() {
				rewriteWants(t, file)
			}
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			wants, _ := splitWants(string(raw))
			problems := loadBad(t, file)
			if len(problems) != len(wants) {
				t.Fatalf("%d problems, want %d:\n%s", len(problems), len(wants), problems)
			}
			for i, want := range wants {
				place, part, _ := strings.Cut(want, ": ")
				got := short(problems[i], file)
				if !strings.HasPrefix(got, place+": ") || !strings.Contains(got, part) {
					t.Errorf("problem %d is\n%s\nwant\n%s", i, got, want)
				}
			}
		})
	}
}

// rewriteWants puts what a file gives today at its top. The lines at the top
// move the places, so it goes on until nothing changes.
func rewriteWants(t *testing.T, file string) {
	t.Helper()
	for range 3 {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, rest := splitWants(string(raw))
		wants := ""
		for _, p := range loadBad(t, file) {
			wants += wantPrefix + short(p, file) + "\n"
		}
		if err := os.WriteFile(file, []byte(wants+rest), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRendering compares the text form of every bad file with one golden file:
// headings, source lines, carets and hints as people see them.
func TestRendering(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs("testdata/bad")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, file := range files {
		fmt.Fprintf(&out, "== %s ==\n", filepath.Base(file))
		loadBad(t, file).WriteText(&out)
		out.WriteString("\n")
	}
	golden.Equal(t, "testdata/bad.golden", strings.ReplaceAll(out.String(), dir, "DIR"))
}
