package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/access/availability"
	"github.com/spiced-sql/spiced/internal/data/datasets"
	"github.com/spiced-sql/spiced/internal/data/views"
	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// build makes the next generation of a Spicepod while the old one serves.
//
// prepare reads, loads and tests everything without changing what is in service;
// publish creates it in one transaction. A component with a fault is replaced by
// its last good version or left out with everything that uses it.
type build struct {
	s        *services
	strict   bool
	pod      *spicepod.Pod
	old      *Generation // an empty one before the first load
	report   *Report
	datasets []*datasets.Dataset
	views    []*views.View
	// unloadable is how many accelerated views would not load in a server: only a command that
	// reads in place finds them after it has published.
	unloadable int
	set        *functions.Set
	declared   []engine.Relation          // datasets and views, loaded or not, and the system tables
	missing    map[engine.Relation]string // declared but not served: their components
	waiting    *waiting                   // declared but not served yet; relations are missing too
	order      []component
	// failedMetrics are the metrics whose tests ended the transaction of an attempt to publish, by hash.
	failedMetrics map[string]bool

	embeddings *embeddings.Set
	documents  *documentsOf // nil: no toolset of documents
	outside
	access
}

func newBuild(s *services, pod *spicepod.Pod, report *Report, strict bool) *build {
	old := s.Current()
	if old == nil {
		old = &Generation{Pod: &spicepod.Pod{}}
	}
	return &build{
		s: s, strict: strict, pod: pod, old: old, report: report, missing: map[engine.Relation]string{},
		waiting: newWaiting(), failedMetrics: map[string]bool{},
	}
}

// problem reports a problem. One that was reported before, for example by a test
// of the component, is reported once.
func (b *build) problem(p spicepod.Problem) {
	p.Message = b.s.db.sourceMessage(b.datasets, p.Component, p.Message)
	if !slices.Contains(b.report.Problems, p) {
		b.report.Problems = append(b.report.Problems, p)
	}
}

func (b *build) problems(list spicepod.Problems) {
	for _, p := range list {
		b.problem(p)
	}
}

// prepare compiles, loads and tests. It waits for loads until wait ends, or until they
// end if wait is ctx. It changes nothing that is in service.
func (b *build) prepare(ctx, wait context.Context) error {
	b.remarks()
	if b.embeddings = b.lastEmbeddings(); b.embeddings == nil {
		set, problems := embeddings.NewSet(b.pod, embeddings.Options{})
		b.embeddings = set
		b.problems(problems)
	}
	b.prepareSources(ctx, wait)
	prepareSandboxes(ctx, wait, b)
	readToolsets(b)
	policy, problems := availability.Compile(b.pod, b.old.policy)
	b.policy = policy
	b.problems(problems)
	checkApprovers(b)
	if err := b.s.db.wait(); err != nil {
		return err
	}
	if err := errors.Join(loadBuiltins(b), makeToolsets(b)); err != nil {
		return err
	}
	b.compileFunctions(ctx)
	b.compileViews(ctx)
	b.arrange()
	makeBodies(ctx, b)
	b.wait()
	return cmp.Or(b.test(ctx), ctx.Err())
}

// remarks warns about declarations without effect.
func (b *build) remarks() {
	b.problems(b.pod.NotServed())
	b.problems(b.pod.Faults())
	if len(b.pod.Functions) > 0 && !b.pod.Runtime.Functions.Enabled {
		p := b.pod.KeyProblem("functions",
			"User-defined functions are declared but disabled. Set `runtime.functions.enabled: true` to register spicepod "+
				"`functions:` entries.", "")
		b.problem(p)
	}
	remarkFiles(b)
	for _, root := range b.pod.DataRoots() {
		if !slices.Contains(b.s.db.roots, root) {
			p := b.pod.Problem("runtime.data_roots", fmt.Sprintf("the data root %s takes effect at the next start", root),
				"restart spiced: the engine was locked without it")
			p.Severity = spicepod.Warning
			b.problem(p)
		}
	}
}

// prepareSources connects to new MCP servers and begins to load new datasets. A
// dataset that cannot be loaded, or is not loaded yet, is replaced by its last good
// version.
func (b *build) prepareSources(ctx, wait context.Context) {
	r := datasets.Request{Pod: b.pod, Loaded: b.report.Trigger == triggerLoaded}
	if wait != ctx {
		r.Enough = wait.Done()
	}
	var faults spicepod.Problems
	var connecting sync.WaitGroup
	connecting.Go(func() { b.servers, faults = b.s.tools.servers.Prepare(wait, b.pod) })
	p := b.s.data.Prepare(ctx, r)
	connecting.Wait()
	b.pod = p.Pod
	b.problems(faults)
	b.problems(p.Problems)
	b.declared = append(b.declared, SystemRelations()...)
	have := map[engine.Relation]bool{}
	for _, d := range p.Ready {
		have[d.Relation] = true
		b.datasets = append(b.datasets, d)
	}
	b.report.Loading = len(p.Loading)
	for _, c := range p.Catalogs {
		b.waiting.catalogs[sqltree.Fold(c.Name)] = c
		if c.Loading {
			b.report.Loading++
		}
	}
	loading := map[engine.Relation]*datasets.Load{}
	for _, l := range p.Loading {
		loading[l.Dataset.Relation] = l
	}
	for i := range b.pod.Datasets {
		r := relationOf(b.pod.Datasets[i].Qualified())
		b.declared = append(b.declared, r)
		if have[r] {
			continue
		}
		load := loading[r]
		if last := b.lastGood(i, load != nil); last != nil {
			b.datasets = append(b.datasets, last)
			continue
		}
		b.missing[r] = "dataset " + b.pod.Datasets[i].Name
		if load != nil {
			b.waiting.addRelation(r, &waiter{what: fmt.Sprintf("dataset %q", b.pod.Datasets[i].Name), load: load})
		}
	}
}

func (b *build) compileFunctions(ctx context.Context) {
	for i := range b.pod.Views {
		b.declared = append(b.declared, relationOf(b.pod.Views[i].Qualified()))
	}
	if !b.pod.Runtime.Functions.Enabled {
		declareTools(b) // reports those that are not served
		return
	}
	set, problems := functions.Compile(ctx, b.s.DB(), b.pod, b.declared, b.old.Functions, declareTools(b)...)
	b.set = set
	b.problems(problems)
}

// compileViews compiles the views. A view with a fault is replaced by its last
// good version.
func (b *build) compileViews(ctx context.Context) {
	for i := range b.pod.Views {
		last := b.lastView(relationOf(b.pod.Views[i].Qualified()))
		if last != nil && last.Hash == spicepod.Fingerprint(b.pod.Views[i]) {
			b.restore(component{view: last})
		}
	}
	names := engine.NewCatalog(engine.Contents{
		Relations: b.declared,
		Functions: append(baseFunctions(), b.set.Engine()...),
		Unserved:  func(o engine.Object, r engine.Relation) *engine.Error { return unlisted(b, o, r) },
	})
	for i := range b.pod.Views {
		r := relationOf(b.pod.Views[i].Qualified())
		last := b.lastView(r)
		v, problem := views.Compile(ctx, b.s.DB(), b.pod, i, names, b.reusable(last))
		if problem != nil {
			b.problem(*problem)
			if v = last; v != nil && !b.restore(component{view: v}) {
				v = nil
			}
		}
		if v == nil {
			b.missing[r] = "view " + b.pod.Views[i].Name
			continue
		}
		b.views = append(b.views, v)
		if err := v.LoadFault(); err != nil {
			b.problem(v.Problem(err))
		}
	}
}

func (b *build) generation() *Generation {
	return &Generation{
		Number: b.old.Number + 1, Pod: b.pod, Functions: b.set,
		Datasets: b.datasets, Views: b.views, Published: time.Now(),
		Embeddings: b.embeddings,
		outside: outside{
			servers: b.servers, environments: b.environments, snapshots: &b.s.db.snapshots, clients: b.s.db.clients,
		},
		order: slices.Clone(b.order), access: b.access, waiting: b.waiting, listing: b.waiting.listing(),
	}
}
