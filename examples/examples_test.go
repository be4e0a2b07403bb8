package examples_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/examples"
	"github.com/spiced-sql/spiced/spicepod"
)

// pods are the Spicepods that must load, from this folder.
var pods = []string{
	"quickstart",
	"flights",
	"agents",
	"bodies",
	"documents",
	"scripted",
	"../testdata/spicepods/seeds",
	"../testdata/spicepods/types",
	"../testdata/spicepods/ishvana",
	"../testdata/spicepods/documents",
}

func load(t *testing.T, path string) *spicepod.Pod {
	t.Helper()
	pod, err := spicepod.Load(path)
	var problems spicepod.Problems
	if errors.As(err, &problems) {
		var b strings.Builder
		problems.WriteText(&b)
		t.Fatal(b.String())
	}
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func TestExamplesLoadWithoutProblems(t *testing.T) {
	t.Setenv("SPICED_DATA", t.TempDir())
	for _, path := range pods {
		t.Run(filepath.Base(path), func(t *testing.T) {
			pod := load(t, path)
			if unserved := pod.NotServed(); len(unserved) > 0 {
				t.Errorf("uses what is not served: %v", unserved)
			}
			if !pod.Runtime.Functions.Enabled {
				t.Error("its functions are not enabled")
			}
			for _, d := range pod.Datasets {
				if d.Description == "" {
					t.Errorf("dataset %s has no description", d.Name)
				}
			}
		})
	}
}

func TestQuickstartStandsAlone(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, examples.Quickstart()); err != nil {
		t.Fatal(err)
	}
	pod := load(t, dir)
	for _, f := range pod.Functions {
		if f.Description == "" {
			t.Errorf("function %s has no description", f.Name)
		}
		if f.Body == "" {
			t.Errorf("function %s has no body", f.Name)
		}
	}
	for _, d := range pod.Datasets {
		path := strings.TrimPrefix(d.From.Reveal(), "file:")
		if _, err := os.Stat(filepath.Join(dir, path)); err != nil {
			t.Error(err)
		}
	}
}

func TestReadmesNameEveryFunction(t *testing.T) {
	readme, err := os.ReadFile("quickstart/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range load(t, "quickstart").Functions {
		if !strings.Contains(string(readme), "`"+f.Name+"`") {
			t.Errorf("quickstart/README.md does not name %s", f.Name)
		}
	}
}
