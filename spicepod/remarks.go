package spicepod

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
)

// remark warns about what is declared and has no effect, where the declaration alone shows it.
func (p *Pod) remark() {
	for i, d := range p.Datasets {
		r := remarks{p, fmt.Sprintf("datasets[%d]", i), "dataset " + d.Name}
		r.acceleration(d.Acceleration)
		r.embeddings(d.Columns)
	}
	for i, v := range p.Views {
		r := remarks{p, fmt.Sprintf("views[%d]", i), "view " + v.Name}
		r.acceleration(v.Acceleration)
		r.embeddings(v.Columns)
	}
	for i, f := range p.Functions {
		remarks{p, fmt.Sprintf("functions[%d]", i), "function " + f.Name}.use(&f)
	}
}

// remarks adds warnings about the component at a path.
type remarks struct {
	pod             *Pod
	path, component string
}

func (r remarks) add(f Problem) {
	f.Severity, f.Component = Warning, r.component
	r.pod.faults = append(r.pod.faults, f)
}

// acceleration warns about a retention without a check, which removes nothing, and about
// params of other engines.
func (r remarks) acceleration(a *Acceleration) {
	if a == nil || !a.Enabled {
		return
	}
	path := r.path + ".acceleration"
	if !a.RetentionCheckEnabled && (a.RetentionPeriod > 0 || a.RetentionSQL != "") {
		key := "retention_period"
		if a.RetentionPeriod == 0 {
			key = "retention_sql"
		}
		r.add(r.pod.Problem(path+"."+key, key+" has no effect without retention_check_enabled",
			"set retention_check_enabled: true and retention_check_interval, or leave it out"))
	}
	for _, key := range slices.Sorted(maps.Keys(a.Params)) {
		if !strings.HasPrefix(key, "caching_") { // those are checked with the source
			r.add(r.pod.KeyProblem(path+ParamPath(key),
				fmt.Sprintf("acceleration.params.%s has no effect: the copy is in the DuckDB of the process", key),
				"leave it out; runtime.query has the limits of the database"))
		}
	}
}

// use warns about texts for models of a function that is not offered to them.
func (r remarks) use(f *Function) {
	if f.AsToolEffective() {
		return
	}
	why, remedy := "with as_tool: false", "leave it out, or set as_tool: true"
	if f.AsTool == nil {
		why, remedy = "as a table function is offered to models only with as_tool: true", "set as_tool: true, or leave it out"
	}
	for _, one := range []struct {
		key   string
		given bool
	}{{"when_to_use", f.WhenToUse != ""}, {"not_for", f.NotFor != ""}, {"examples", len(f.Examples) > 0}} {
		if one.given {
			r.add(r.pod.KeyProblem(r.path+"."+one.key, one.key+" has no effect "+why, remedy))
		}
	}
}

// embeddings warns about models that are not declared, and about what has no effect.
func (r remarks) embeddings(columns []DatasetColumn) {
	names := make([]string, len(r.pod.Embeddings))
	for i, e := range r.pod.Embeddings {
		names[i] = e.Name
	}
	for i, c := range columns {
		for j, e := range c.Embeddings {
			at := fmt.Sprintf("%s.columns[%d].embeddings[%d]", r.path, i, j)
			if e.From != "" && !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, e.From) }) {
				r.add(r.pod.Problem(at+".from",
					fmt.Sprintf("the embedding model %q is not declared; the column is searched only by words", e.From),
					nearest.Hint(e.From, names, "declare it under embeddings:")))
			}
			if j > 0 {
				r.add(r.pod.Problem(at, "a column has one embedding model; this one has no effect",
					"embed a second column with it, such as one of a view"))
			}
			r.chunking(at+".chunking", e.Chunking)
		}
	}
}

// chunking warns about settings that have no effect.
func (r remarks) chunking(at string, c Chunking) {
	unset := Defaults[Chunking]()
	switch {
	case !c.Enabled && (c.Target != 0 && c.Target != unset.Target || c.Overlap != 0):
		r.add(r.pod.Problem(at, "chunking has no effect without enabled: true", "write enabled: true"))
	case c.Enabled && c.Overlap > c.Target/2:
		most := fmt.Sprintf("chunks repeat at most half of target_chunk_size, %d tokens", c.Target/2)
		r.add(r.pod.Problem(at+".overlap_size", most, "write a smaller overlap_size"))
	}
}
