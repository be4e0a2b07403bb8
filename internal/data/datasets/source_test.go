package datasets

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/data/views"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

func TestBalanced(t *testing.T) {
	for text, want := range map[string]bool{
		"DECIMAL(10,2)": true, `STRUCT("a)" INT)[]`: true, "INT)": false, "INT) x (": false, `"`: false,
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
	w.stop()
	w.start(func(o *Options) { o.Limits = Limits{Files: 2, Datasets: 2} })
	for _, n := range []string{"a", "b", "c"} {
		w.file("d/"+n+".csv", "a\n1\n")
	}
	problems := w.reload("datasets: [{name: a, from: 'file:d/a.csv'}, {name: b, from: 'file:d/*.csv'}, {name: c, from: 'file:d/c.csv'}]\n")
	if len(problems) != 2 || !strings.Contains(problems[0].Message, "more than 2 files") || !strings.Contains(problems[1].Message, "more than 2 datasets") {
		t.Error(problems)
	}
}

// An accelerated view is loaded again when something that it reads has changed.
func TestOutdatedViews(t *testing.T) {
	relation := func(name string) engine.Relation { return engine.Relation{Schema: "public", Name: name} }
	view := func(name, reads string, accelerated bool) *served {
		v := &views.View{Uses: views.Uses{Relations: []engine.Relation{relation(reads)}}}
		v.Relation = relation(name)
		if accelerated {
			v.Acceleration = &spicepod.Acceleration{}
		}
		return &served{Table: &v.Table, view: v}
	}
	d := &Dataset{}
	d.Relation = relation("t")
	all := map[string]*served{"t": {Table: &d.Table, dataset: d}, "v": view("v", "t", false), "w": view("w", "v", true), "x": view("x", "y", true)}
	if got := outdated(all, map[engine.Relation]bool{relation("t"): true}); len(got) != 1 || got[0].Name != "w" {
		t.Errorf("outdated: %v", got)
	}
}
