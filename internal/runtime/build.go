package runtime

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/access/auth"
	"github.com/spiced-sql/spiced/internal/data/datasets"
	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/peers/mcpclient"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// build makes the next generation out of a Spicepod, beside the old one.
//
// prepare reads, loads and tests everything without changing what serves;
// publish makes it in one transaction. A fault of one component leaves it out,
// with all that uses it, or keeps its last good version.
type build struct {
	d        *Runtime
	pod      *spicepod.Pod
	old      *Generation // never nil
	report   *Report
	datasets []*datasets.Dataset
	views    []*datasets.View
	set      *functions.Set
	declared []engine.Relation          // datasets and views, loaded or not, and the system tables
	missing  map[engine.Relation]string // declared, but not to be had: what to say
	order    []component

	embeddings     *embeddings.Set
	embeddingsHash string
	servers        []*mcpclient.Server
	keys           *auth.Keyring
}

func newBuild(d *Runtime, pod *spicepod.Pod, report *Report) *build {
	old := d.Current()
	if old == nil {
		old = &Generation{Pod: &spicepod.Pod{}}
	}
	return &build{d: d, pod: pod, old: old, report: report, missing: map[engine.Relation]string{}}
}

// problem notes a problem; one that was met before, when the component was
// tested, say, is noted once.
func (b *build) problem(p spicepod.Problem) {
	if !slices.Contains(b.report.Problems, p) {
		b.report.Problems = append(b.report.Problems, p)
	}
}

func (b *build) problems(list spicepod.Problems) {
	for _, p := range list {
		b.problem(p)
	}
}

// prepare compiles and loads. It changes nothing that serves.
func (b *build) prepare(ctx context.Context) {
	b.remarks()
	b.prepareEmbeddings()
	b.prepareServers(ctx)
	b.prepareDatasets(ctx)
	b.compileFunctions(ctx)
	b.compileViews(ctx)
	b.arrange()
	b.test(ctx)
}

// remarks warns of what is declared and does nothing.
func (b *build) remarks() {
	if keys := b.pod.NotServed(); len(keys) > 0 {
		p := b.pod.Problem(keys[0], "not served yet: "+strings.Join(keys, ", "), "this build reads these keys and does nothing with them")
		p.Severity = spicepod.Warning
		b.problem(p)
	}
	if len(b.pod.Functions) > 0 && !b.pod.Runtime.Functions.Enabled {
		p := b.pod.KeyProblem("functions", "User-defined functions are declared but disabled. Set `runtime.functions.enabled: true` to register spicepod `functions:` entries.", "")
		b.problem(p)
	}
	for _, root := range b.pod.DataRoots() {
		if !slices.Contains(b.d.roots, root) {
			p := b.pod.Problem("runtime.data_roots", fmt.Sprintf("the data root %s takes effect at the next start", root), "restart spiced: the engine was locked without it")
			p.Severity = spicepod.Warning
			b.problem(p)
		}
	}
}

func relationOf(schema, name string) engine.Relation {
	if schema == "" {
		schema = engine.Public
	}
	return engine.Relation{Schema: schema, Name: name}
}

// prepareDatasets loads what is new. A dataset that cannot be loaded keeps its
// last good version.
func (b *build) prepareDatasets(ctx context.Context) {
	ready, problems := b.d.data.Prepare(ctx, b.pod)
	b.problems(problems)
	b.declared = append(b.declared, SystemRelations()...)
	have := map[engine.Relation]bool{}
	for _, d := range ready {
		have[d.Relation] = true
		b.datasets = append(b.datasets, d)
	}
	for i := range b.pod.Datasets {
		r := relationOf(b.pod.Datasets[i].Qualified())
		b.declared = append(b.declared, r)
		if have[r] {
			continue
		}
		if last := b.standIn(i); last != nil {
			b.datasets = append(b.datasets, last)
			continue
		}
		b.missing[r] = fmt.Sprintf("dataset %q, which could not be loaded", b.pod.Datasets[i].Name)
	}
}

func (b *build) lastDataset(r engine.Relation) *datasets.Dataset {
	for _, d := range b.old.Datasets {
		if d.Relation == r {
			return d
		}
	}
	return nil
}

func (b *build) compileFunctions(ctx context.Context) {
	for i := range b.pod.Views {
		b.declared = append(b.declared, relationOf(b.pod.Views[i].Qualified()))
	}
	if !b.pod.Runtime.Functions.Enabled {
		return
	}
	set, problems := functions.Compile(ctx, b.d.db, b.pod, b.declared, b.old.Functions)
	b.set = set
	b.problems(problems)
}

// compileViews compiles the views by what is declared; a view with a fault
// keeps its last good version.
func (b *build) compileViews(ctx context.Context) {
	for i := range b.pod.Views {
		last := b.lastView(relationOf(b.pod.Views[i].Qualified()))
		if last != nil && last.Hash == spicepod.Fingerprint(b.pod.Views[i]) {
			b.revive(component{view: last})
		}
	}
	names := engine.NewCatalog(0, b.declared, append(baseFunctions(), b.set.Engine()...))
	for i := range b.pod.Views {
		r := relationOf(b.pod.Views[i].Qualified())
		last := b.lastView(r)
		v, problem := datasets.CompileView(ctx, b.d.db, b.pod, i, names, b.reusable(last))
		if problem != nil {
			b.problem(*problem)
			if v = last; v != nil && !b.revive(component{view: v}) {
				v = nil
			}
		}
		if v == nil {
			b.missing[r] = fmt.Sprintf("view %q, which has a fault", b.pod.Views[i].Name)
			continue
		}
		b.views = append(b.views, v)
	}
}

func (b *build) lastView(r engine.Relation) *datasets.View {
	for _, v := range b.old.Views {
		if v.Relation == r {
			return v
		}
	}
	return nil
}

// reusable returns v unless a function it calls has changed, since the text of
// its calls depends on their signatures.
func (b *build) reusable(v *datasets.View) *datasets.View {
	if v == nil {
		return nil
	}
	for _, name := range v.Uses.Functions {
		if f := b.set.Get(name); f == nil || !f.Same(b.old.Functions.Get(name)) {
			return nil
		}
	}
	return v
}

// generation is what the build made.
func (b *build) generation() *Generation {
	return &Generation{
		Number: b.old.Number + 1, Pod: b.pod, Functions: b.set,
		Datasets: b.datasets, Views: b.views, Published: time.Now(),
		Embeddings: b.embeddings, embeddingsHash: b.embeddingsHash, servers: b.servers,
		order: slices.Clone(b.order), keys: b.keys,
	}
}
