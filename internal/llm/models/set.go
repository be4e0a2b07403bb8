package models

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/toolloop"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// Options are shared by all models.
type Options struct {
	Registry   *registry.Registry // calls the tools
	Catalog    *registry.Catalog  // the tools of the generation
	Embeddings *embeddings.Set    // nil means none
	HTTP       *http.Client       // nil: that of package upstream
	Log        *slog.Logger       // nil: discarded
	Memory     *toolloop.Memory   // of turns that wait for clients' tools; nil means none
	Pins       *Pins              // of sessions; nil means none
	SessionPin time.Duration      // how long a session without requests keeps its tools; 0 means not at all
	Done       func(Call)         // if set, called at the end of each chat
	Agents     *Agents            // of the catalog's tools that are agents; nil: there are none
}

// Set is the models and agents of one generation. It is immutable and safe for concurrent
// use; the zero value is empty.
type Set struct {
	models  []*Model // in the order of declaration, agents last
	byName  map[string]*Model
	catalog *registry.Catalog
}

// NewSet opens every entry of pod.Models and pod.Agents. Of models with a problem, only
// those with warnings are served. Models with an unchanged
// declaration in prev, which may be nil, keep their connections.
func NewSet(pod *spicepod.Pod, prev *Set, o Options) (*Set, spicepod.Problems) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Embeddings == nil {
		o.Embeddings = &embeddings.Set{}
	}
	s := &Set{byName: map[string]*Model{}, catalog: o.Catalog}
	b := &builder{pod: pod, prev: prev, opts: o, offer: offer{
		catalog: o.Catalog, meta: o.Registry.MetaTools(),
		shows: o.Registry.DescribeTool(), sets: pod.Toolsets,
	}, relations: relations(pod)}
	for _, t := range pod.Tools {
		b.offer.entries = append(b.offer.entries, t.Name)
	}
	for i := range pod.Models {
		m := b.model(i)
		s.models = append(s.models, m)
		s.byName[m.info.Name] = m
	}
	b.agents(s)
	o.Agents.use(s)
	return s, b.problems
}

// builder builds the models of a set.
type builder struct {
	pod       *spicepod.Pod
	prev      *Set
	opts      Options
	offer     offer
	relations []string
	problems  spicepod.Problems
}

func (b *builder) entry(i int) *entry {
	declared := b.pod.Models[i]
	return &entry{declared: declared, http: b.opts.HTTP, Entry: spicepod.Entry{
		Pod: b.pod, Path: fmt.Sprintf("models[%d]", i), Component: "model " + declared.Name, Params: declared.Params,
	}}
}

// model opens an entry. If that fails, Info of the model has the reason.
func (b *builder) model(i int) *Model {
	declared, e := b.pod.Models[i], b.entry(i)
	m := &Model{opts: b.opts, info: Info{
		Name: declared.Name, From: declared.From, Description: declared.Description, Status: StatusReady,
		ToolPlan: ToolPlan{Declared: fmt.Sprint(orEmpty(declared.Params[e.toolsKey()])), Mode: ModeNone},
	}}
	if problem := b.load(m, e); problem != nil {
		b.problems = append(b.problems, *problem)
		m.info.Status, m.info.Error = StatusError, problem.Located()
	}
	return m
}

func orEmpty(value any) any {
	if value == nil {
		return ""
	}
	return value
}

// load opens the entry into m.
func (b *builder) load(m *Model, e *entry) *spicepod.Problem {
	s, problem := e.open()
	if problem != nil {
		return problem
	}
	b.problems = append(b.problems, e.Problems...) // warnings
	p, err := s.wish.plan(b.offer, b.opts.Embeddings)
	if err != nil {
		return e.refused(err, b.offer.catalog)
	}
	for _, w := range p.warnings {
		b.problems = append(b.problems, e.Remark(e.at(w.param), w.hint, w.message))
	}
	m.settings = s
	m.allow(e, b.relations)
	for _, i := range e.unmatched(b.relations) {
		b.problems = append(b.problems, e.Remark(fmt.Sprintf(".datasets[%d]", i),
			"the declared ones are "+listed(b.relations),
			fmt.Sprintf("no dataset or view matches %q", e.declared.Datasets[i])))
	}
	m.useTools(p, b.offer)
	m.connect(e, b.prev.get(m.info.Name))
	b.logPlan(m, p)
	return nil
}

// refused returns the problem of a model that cannot have `tools: search_registry`.
func (e *entry) refused(err error, c *registry.Catalog) *spicepod.Problem {
	hint := ""
	var name reservedError
	if errors.As(err, &name) {
		hint = name.hint(c.Get(string(name)).Declared)
		if path := e.Pod.ToolPath(string(name)); path != "" {
			hint = name.hint(e.Pod.At(path + ".name").String())
		}
	}
	if errors.Is(err, embeddings.ErrUnknownModel) {
		return e.Problem(spicepod.ParamPath("tool_embedding_model"), hint, "%s", err)
	}
	return e.Problem(e.at("tools"), hint, "%s", err)
}

// at returns the path of a param; `tools` may be declared by its older name.
func (e *entry) at(param string) string {
	if param == "tools" {
		param = e.toolsKey()
	}
	return spicepod.ParamPath(param)
}

// connect reuses the provider of the previous model, with its connections,
// if nothing that it depends on has changed.
func (m *Model) connect(e *entry, last *Model) {
	m.fingerprint = spicepod.Fingerprint([]any{e.declared.Name, e.declared.From, e.declared.Script, e.Params})
	if last != nil && last.provider != nil && last.fingerprint == m.fingerprint && last.opts.HTTP == m.opts.HTTP {
		m.provider = last.provider
		return
	}
	m.provider = e.provider(m.settings)
}

// logPlan logs the plan, unless the previous generation had the same one.
func (b *builder) logPlan(m *Model, p *plan) {
	log := b.opts.Log.With("model", m.info.Name)
	if last := b.prev.get(m.info.Name); last == nil || last.info.Mode != m.info.Mode || last.info.Reason != m.info.Reason {
		log.Info("tools of a model", "mode", m.info.Mode, "reason", m.info.Reason, "tools", m.info.Count)
	}
	if foreign := p.foreign(); m.info.Datasets != nil && len(foreign) > 0 {
		log.Info("the datasets of a model limit its built-in tools only", "datasets", m.info.Datasets, "other_tools",
			listed(foreign))
	}
}

func (s *Set) get(name string) *Model {
	if s == nil {
		return nil
	}
	return s.byName[name]
}

// Model returns the named model. An error is a [*chat.Error] with
// [errcode.ModelNotFound] and the nearest name, or with [errcode.ModelNotLoaded] and
// the reason why the model was not loaded.
func (s *Set) Model(name string) (*Model, error) {
	if m := s.get(name); m != nil {
		return m, m.unavailable()
	}
	message := fmt.Sprintf("the model %q does not exist", truncate.Ellipsis(name, maxName)) +
		nearest.Clause(name, s.names())
	return nil, &chat.Error{Code: errcode.ModelNotFound, Param: "model", Message: message}
}

// maxName limits the length of an unknown name in an error.
const maxName = 100

// Seen returns the set without the agents that are not available to the caller.
func (s *Set) Seen(scope tools.Scope) *Set {
	if s == nil || s.catalog == nil {
		return s
	}
	type key struct{ of *Set }
	view := s.catalog.View(scope)
	return view.Rendered(key{s}, func() any {
		seen := &Set{byName: map[string]*Model{}, catalog: s.catalog}
		for _, m := range s.models {
			if m.seen(view) {
				seen.models = append(seen.models, m)
				seen.byName[m.info.Name] = m
			}
		}
		return seen
	}).(*Set)
}

func (s *Set) names() []string {
	var names []string
	for _, m := range s.All() {
		names = append(names, m.info.Name)
	}
	return names
}

// All returns the models in the order of declaration, including those that were
// not loaded.
func (s *Set) All() []*Model {
	if s == nil {
		return nil
	}
	return append([]*Model(nil), s.models...)
}

// Infos describes the models, in the order of declaration.
func (s *Set) Infos() []Info {
	infos := make([]Info, 0, len(s.All()))
	for _, m := range s.All() {
		infos = append(infos, m.info)
	}
	return infos
}
