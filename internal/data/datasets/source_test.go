package datasets

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

func TestSecretParts(t *testing.T) {
	t.Setenv("A", "alpha")
	t.Setenv("B", "be/ta")
	w := newWorld(t)
	for raw, want := range map[string][]string{
		"file:plain.csv":                    nil,
		"${env:A}":                          {"alpha"},
		"https://h/${env:A}":                {"alpha"},
		"https://${env:A}:${env:B}@h/x.csv": {"alpha", "be/ta"},
		"x${ env:B }y${env:A}z":             {"be/ta", "alpha"},
		"${env:A}${env:B}":                  {"alphabe/ta"},
	} {
		from := w.load("datasets: [{name: t, from: '" + raw + "'}]\n").Datasets[0].From
		if got := secretParts(from); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %q, want %q", raw, got, want)
		}
	}
}

func TestParseSource(t *testing.T) {
	for raw, want := range map[string]source{
		"file:a.csv":             {connector: "file", target: "a.csv"},
		"FILE:a.csv":             {connector: "file", target: "a.csv"},
		"file:///a.csv":          {connector: "file", target: "/a.csv"},
		"duckdb:x.db/t":          {connector: "duckdb", target: "x.db/t"},
		"duckdb/main.t":          {connector: "duckdb", target: "main.t"},
		"https://h:8/x.csv?a=b:": {connector: "https", target: "https://h:8/x.csv?a=b:"},
	} {
		got, err := parseSource(spicepod.Text{Raw: raw}, "/dir")
		want.dir, want.shown = "/dir", raw
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", raw, got, err)
		}
	}
}

func TestColumnList(t *testing.T) {
	for text, want := range map[string][]string{"a": {"a"}, "(a, b)": {"a", "b"}, `("a""b", c )`: {`a"b`, "c"}} {
		if got := columnList(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q", text, got)
		}
	}
}

func TestBalanced(t *testing.T) {
	for text, want := range map[string]bool{
		"DECIMAL(10,2)": true, `STRUCT("a)" INT)[]`: true, "INT)": false, "INT) x (": false, "(]": false, `"`: false,
	} {
		if balanced(text) != want {
			t.Errorf("balanced(%q) is not %v", text, want)
		}
	}
}

func TestManyDatasetsLoadAtOnce(t *testing.T) {
	w := newWorld(t)
	var yaml strings.Builder
	yaml.WriteString("runtime: {dataset_load_parallelism: 8}\ndatasets:\n")
	for i := range 40 {
		w.file(fmt.Sprintf("%d.csv", i), fmt.Sprintf("a\n%d\n", i))
		mode := []string{"memory", "file"}[i%2]
		fmt.Fprintf(&yaml, "- {name: t%d, from: 'file:%d.csv', acceleration: {mode: %s, enabled: %v}}\n", i, i, mode, i%3 > 0)
	}
	w.ok(yaml.String())
	for i := range 40 {
		w.want(fmt.Sprintf("SELECT * FROM t%d", i), fmt.Sprint(i))
	}
	if n := len(w.m.StatusOf(w.served, nil)); n != 40 {
		t.Errorf("status of %d datasets", n)
	}
}

func TestLimits(t *testing.T) {
	w := newWorld(t)
	w.m.limits.files, w.m.limits.datasets = 2, 2
	for _, n := range []string{"a", "b", "c"} {
		w.file("d/"+n+".csv", "a\n1\n")
	}
	problems := w.reload("datasets: [{name: a, from: 'file:d/a.csv'}, {name: b, from: 'file:d/*.csv'}, {name: c, from: 'file:d/c.csv'}]\n")
	if len(problems) != 2 || !strings.Contains(problems[0].Message, "more than 2 files") || !strings.Contains(problems[1].Message, "more than 2 datasets") {
		t.Error(problems)
	}
}

// An accelerated view is loaded again when what it reads was made anew.
func TestOutdatedViews(t *testing.T) {
	table := &served{common: &common{relation: engine.Relation{Schema: "public", Name: "t"}}, dataset: &Dataset{}}
	view := func(name, reads string, accelerated bool) *served {
		v := &View{Uses: Uses{Relations: []engine.Relation{{Schema: "public", Name: reads}}}}
		c := &common{relation: engine.Relation{Schema: "public", Name: name}}
		if accelerated {
			c.acceleration = &spicepod.Acceleration{}
		}
		return &served{common: c, view: v}
	}
	all := map[string]*served{"t": table, "v": view("v", "t", false), "w": view("w", "v", true), "x": view("x", "y", true)}
	if got := outdated(all, []*served{table}); len(got) != 1 || got[0] != all["w"] {
		t.Errorf("outdated: %v", got)
	}
}
