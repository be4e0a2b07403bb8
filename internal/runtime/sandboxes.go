package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/spiced-sql/spiced/internal/bodies"
	"github.com/spiced-sql/spiced/internal/bodies/body"
	"github.com/spiced-sql/spiced/internal/bodies/environment"
	"github.com/spiced-sql/spiced/internal/bodies/sandbox"
	"github.com/spiced-sql/spiced/internal/kit/telemetry"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/udf"
)

// triggerBuilt is the trigger of a load that takes packages over which were installed.
const triggerBuilt = "built"

// code is what runs functions that are not SQL.
type code struct {
	bodies    *bodies.Set
	makers    map[string]body.Maker // by scheme
	sandboxes *sandboxes
	shim      []string // the command that becomes a worker of a sandbox
}

// sandboxes installs the packages of sandboxes.
type sandboxes struct {
	store   *environment.Store
	log     *slog.Logger
	reload  func(trigger string)
	offline bool // packages are not installed

	running sync.WaitGroup
	mu      sync.Mutex
	builds  map[string]*packages // of sandboxes with build: auto, by version
}

// packages are an installation of packages that a load began.
type packages struct {
	done   chan struct{}
	err    error // once done is closed
	waited bool  // the load waited until the end
}

// openSandboxes opens the folder of packages: in the state directory if the user gave one.
func openSandboxes(opts Options, stateDir string, log *slog.Logger, reload func(trigger string)) *sandboxes {
	if opts.StateDir == "" {
		stateDir = ""
	}
	return &sandboxes{
		store: environment.NewStore(stateDir), log: log, reload: reload, offline: opts.Offline,
		builds: map[string]*packages{},
	}
}

// close ends the builds that run.
func (s *sandboxes) close() {
	if s != nil {
		s.store.Close()
		s.running.Wait()
	}
}

// watched returns the file that a build writes, if the Spicepod has code.
func (s *sandboxes) watched(pod *spicepod.Pod) []string {
	if file := s.store.BuiltFile(); pod != nil && file != "" &&
		slices.ContainsFunc(pod.Functions, func(f spicepod.Function) bool { return f.BodyKind.InProcess() }) {
		return []string{file}
	}
	return nil
}

// prepareSandboxes makes the environments of the sandboxes. Packages of those with build: auto
// are installed; it waits for that until wait ends.
func prepareSandboxes(ctx, wait context.Context, b *build) {
	s := b.s.sandboxes
	set, problems := environment.Compile(ctx, b.pod, s.store)
	if b.pod.Runtime.Functions.Enabled {
		if s.install(wait, b, set) {
			set, problems = environment.Compile(ctx, b.pod, s.store)
		}
		b.problems(problems)
	}
	b.environments = set
	b.pod = set.Pod().WithEnvironments(func(function string) string {
		if e, f := set.Of(function); e != nil && f.Declared.BodyKind.InProcess() {
			return e.Version()
		}
		return ""
	})
}

// install installs the packages of the sandboxes with build: auto. It reports whether any were
// installed before wait ended; later ones are used by another load.
func (s *sandboxes) install(wait context.Context, b *build, set *environment.Set) (installed bool) {
	var begun []*packages
	for _, e := range set.All() {
		if s.offline || e.Declared.Build != spicepod.BuildAuto || !e.NeedsBuild() || e.Built() || len(e.Functions) == 0 {
			continue
		}
		p := s.begin(e, b.report.Trigger)
		begun = append(begun, p)
		select {
		case <-p.done:
		case <-wait.Done():
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range begun {
		select {
		case <-p.done:
			p.waited = true
			installed = installed || p.err == nil
			reportPackages(b, p.err)
		default:
		}
	}
	return installed
}

// reportPackages reports why packages could not be installed.
func reportPackages(b *build, err error) {
	if list, ok := errors.AsType[spicepod.Problems](err); ok {
		b.problems(list)
	} else if err != nil {
		b.problem(spicepod.Problem{Message: err.Error()})
	}
}

// begin installs the packages of an environment, or joins an installation. One that failed is
// tried again by a load that does not follow it.
func (s *sandboxes) begin(e *environment.Environment, trigger string) *packages {
	key := e.Version()
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.builds[key]; p != nil {
		select {
		case <-p.done:
			if trigger == triggerBuilt || trigger == triggerLoaded {
				return p
			}
		default:
			return p
		}
	}
	p := &packages{done: make(chan struct{})}
	s.builds[key] = p
	s.log.Info("installing the packages of a sandbox", "sandbox", e.Name, "packages", len(e.Dependencies))
	s.running.Go(func() {
		p.err = s.store.Build(context.Background(), e) // ends with the store
		s.mu.Lock()
		close(p.done)
		late := !p.waited
		s.mu.Unlock()
		if late {
			s.reload(triggerBuilt)
		}
	})
	return p
}

// collect removes packages that no one needs.
func (s *sandboxes) collect() {
	s.running.Go(func() {
		for _, key := range s.store.Collect() {
			s.log.Info("removed packages that no sandbox needs", "folder", key)
		}
	})
}

// Environments returns those of the current generation.
func (s *services) Environments() *environment.Set {
	if g := s.Current(); g != nil {
		return g.environments
	}
	return nil
}

// ErrNoSandbox means that there is no sandbox of a name.
var ErrNoSandbox = errors.New("there is no such sandbox")

// BuildSandbox installs the packages of a sandbox, and loads the functions that need them. When
// ctx ends, the installation goes on. Run must be running.
func (rt *Runtime) BuildSandbox(ctx context.Context, name string) error {
	e := rt.Environments().Get(name)
	if e == nil {
		return ErrNoSandbox
	}
	built := e.Built()
	if err := rt.sandboxes.store.Build(ctx, e); err != nil {
		return err
	}
	if built {
		return nil
	}
	_, err := rt.Reload(ctx, triggerBuilt)
	return err
}

// IsolationOf measures how this system isolates the code of a sandbox. shim is the command that
// becomes a worker. It returns nil if no code runs in the sandbox.
func IsolationOf(e *environment.Environment, shim []string) *sandbox.Isolation {
	switch {
	case len(e.Functions) > 0 && e.Declared.Runtime == spicepod.RuntimeWASM:
		return &sandbox.Isolation{On: []string{"WebAssembly"}, Full: true}
	case slices.ContainsFunc(e.Functions, func(f *environment.Function) bool { return f.Declared.BodyKind.InProcess() }):
		i := sandbox.Probe(shim).Networked(e.Declared.Network == spicepod.NetworkAll)
		return &i
	}
	return nil
}

// Isolation measures how the code of a sandbox is isolated.
func (s *services) Isolation(e *environment.Environment) *sandbox.Isolation {
	return IsolationOf(e, s.shim)
}

// workers says what the workers of each sandbox do, for metrics.
func (s *services) workers() map[string]telemetry.SandboxWorkers {
	all := map[string]telemetry.SandboxWorkers{}
	for _, maker := range s.makers {
		m, ok := maker.(interface {
			Workers() map[string]sandbox.Workers
		})
		if !ok {
			continue
		}
		for name, w := range m.Workers() {
			all[name] = telemetry.SandboxWorkers(w)
		}
	}
	return all
}

// tableSandboxes is the introspection table of sandboxes.
const tableSandboxes = "sandboxes"

// sandboxTables are the statements that create spiced.sandboxes, which lists the functions that
// the caller may see.
func sandboxTables() []string {
	rows := engine.Qualified(engine.Core, rowsOf(tableSandboxes))
	return []string{
		"CREATE TABLE " + rows +
			` (name VARCHAR, runtime VARCHAR, description VARCHAR, dependencies VARCHAR[], secrets VARCHAR[], missing_secrets VARCHAR[],
			checksum VARCHAR, built BOOLEAN, functions VARCHAR[], isolation VARCHAR, isolated BOOLEAN, layers VARCHAR[], missing_layers VARCHAR[], network VARCHAR)`,
		"CREATE VIEW " + engine.Qualified(engine.System, tableSandboxes) + " AS SELECT * REPLACE (" +
			udf.FunctionsShown("functions") + " AS functions) FROM " + rows,
	}
}

// fillSandboxes fills spiced.sandboxes with the environments of g. shim is the command that
// becomes a worker.
func fillSandboxes(tx *engine.Tx, g *Generation, shim []string) error {
	if err := tx.Exec("DELETE FROM " + engine.Qualified(engine.Core, rowsOf(tableSandboxes))); err != nil {
		return err
	}
	var rows [][]any
	for _, e := range g.environments.All() {
		var isolated, layers, missing any
		if i := IsolationOf(e, shim); i != nil {
			isolated, layers, missing = i.Full, list(i.On), list(i.Missing)
		}
		rows = append(rows, []any{
			e.Name, string(e.Declared.Runtime), orNull(e.Declared.Description), list(e.Dependencies), list(e.Secrets),
			list(e.MissingSecrets()),
			e.Checksum, e.Built(), e.FunctionNames(), e.Isolation(), isolated, layers, missing, string(e.Declared.Network),
		})
	}
	if err := tx.Insert(engine.Core, rowsOf(tableSandboxes), rows); err != nil {
		return fmt.Errorf("fill spiced.%s: %w", tableSandboxes, err)
	}
	return nil
}

// list returns a list that is not nil.
func list(texts []string) []string { return append([]string{}, texts...) }
