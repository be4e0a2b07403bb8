// Package environment owns what the code of a sandbox needs to run: packages, secrets, an
// interpreter, and code that is known to fit its declaration.
//
// An [Environment] is the specification of one sandbox: its own dependencies and secrets and
// those of each function in it, without duplicates and in a stable order, with checksums. A
// [Store] installs the packages of environments in a folder, each once:
//
//	store := environment.NewStore(stateDir)
//	set, problems := environment.Compile(ctx, pod, store)
//	env, function := set.Of("analyze_behavior")
//	if function.Fault() == nil {
//		command := exec.Command(env.Interpreter(), "-I", "worker.py")
//		command.Env = env.Variables()
//	}
//	err := store.Build(ctx, env) // uses the network
//
// Compiling runs the interpreter to parse code, and never runs code of the Spicepod.
package environment

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/spicepod"
)

// Set are the environments of a Spicepod, one for each sandbox. A nil Set is empty.
type Set struct {
	list []*Environment // by name
	lost []*Function    // whose sandbox is not declared
	pod  *spicepod.Pod
}

// Pod returns the Spicepod, in which the decorators of functions have filled in what the
// functions do not declare.
func (s *Set) Pod() *spicepod.Pod { return s.pod }

// All returns the environments, sorted by name.
func (s *Set) All() []*Environment {
	if s == nil {
		return nil
	}
	return s.list
}

// Get returns the environment of a sandbox, ignoring case, or nil.
func (s *Set) Get(name string) *Environment {
	for _, e := range s.All() {
		if strings.EqualFold(e.Name, name) {
			return e
		}
	}
	return nil
}

// Names returns the names of the sandboxes, sorted.
func (s *Set) Names() []string {
	var names []string
	for _, e := range s.All() {
		names = append(names, e.Name)
	}
	return names
}

// Of returns the function of a name and the environment it belongs to. The environment is
// nil if the function names an unknown sandbox; both are nil if the body of the function does
// not belong to a sandbox.
func (s *Set) Of(function string) (*Environment, *Function) {
	for _, e := range s.All() {
		for _, f := range e.Functions {
			if strings.EqualFold(f.Name, function) {
				return e, f
			}
		}
	}
	if s != nil {
		for _, f := range s.lost {
			if strings.EqualFold(f.Name, function) {
				return nil, f
			}
		}
	}
	return nil, nil
}

// Environment is the specification of one sandbox. It is immutable.
type Environment struct {
	Name     string
	Declared spicepod.Sandbox // with its defaults, if the Spicepod has no entry
	Path     string           // in the Spicepod: sandboxes[1]; "": it has no entry
	// Dependencies are the requirements of the sandbox and its functions in canonical form,
	// sorted: one for each package and marker.
	Dependencies []string
	// Secrets are the names of the variables that the code sees, sorted.
	Secrets []string
	// Functions are those of the sandbox, sorted by name.
	Functions []*Function
	// Checksum is the SHA-256 over the code, the requirements and the settings, in hex. It
	// does not depend on the order of declarations, nor on the values of secrets.
	Checksum string

	requirements requirements
	variables    []spicepod.Variable // those of Secrets that are set
	python       *Python             // nil: no interpreter is needed, or there is none
	buildKey     string              // of the folder with the packages; "": there are none
	store        *Store
	pod          *spicepod.Pod
	fault        *spicepod.Problem // of the sandbox itself
}

// Function is a function whose body belongs to a sandbox.
type Function struct {
	Name     string
	Path     string // in the Spicepod: functions[2]
	Declared *spicepod.Function
	// Entrypoint is the name that a call runs in the code.
	Entrypoint string
	// Dependencies and Secrets are those of the function alone, as in [Environment].
	Dependencies, Secrets []string
	// Missing are the names of the secrets, also of the sandbox, that are not set.
	Missing []string
	// Checksum has 16 hex digits of the SHA-256 over the code, the requirements and the
	// declaration of the function.
	Checksum string
	// Problems are what is wrong with the function or its sandbox, warnings too.
	Problems spicepod.Problems

	requirements requirements
	runtime      spicepod.SandboxRuntime // of the code
}

// Fault returns the first problem that prevents calls of the function, or nil.
func (f *Function) Fault() *spicepod.Problem {
	for i := range f.Problems {
		if f.Problems[i].Severity == spicepod.Error {
			return &f.Problems[i]
		}
	}
	return nil
}

// Compile returns the environments of a Spicepod, and what is wrong with them. A function with
// a fault does not hold back the others. store says what is built, and caches what is known of
// the code.
func Compile(ctx context.Context, pod *spicepod.Pod, store *Store) (*Set, spicepod.Problems) {
	c := &compiler{pod: pod, store: store, set: &Set{}, decorated: map[int]spicepod.Problems{}}
	c.decorators(ctx)
	c.set.pod = c.pod
	c.sandboxes()
	for i := range c.pod.Functions {
		c.function(i)
	}
	slices.SortFunc(c.set.list, func(a, b *Environment) int { return strings.Compare(a.Name, b.Name) })
	for _, e := range c.set.list {
		slices.SortFunc(e.Functions, func(a, b *Function) int { return strings.Compare(a.Name, b.Name) })
		c.aggregate(e)
		e.Checksum = e.checksum()
	}
	c.check(ctx)
	for _, e := range c.set.list {
		if e.buildKey != "" {
			store.use(e.buildKey)
		}
		c.finish(e)
	}
	c.problems.Sort()
	return c.set, c.problems
}

// compiler is one run of [Compile].
type compiler struct {
	pod      *spicepod.Pod
	store    *Store
	set      *Set
	problems spicepod.Problems

	decorated map[int]spicepod.Problems // of the decorators of functions
}

// sandboxes makes the environments of all sandboxes.
func (c *compiler) sandboxes() {
	for i, s := range c.pod.Sandboxes {
		e := &Environment{Name: s.Name, Declared: s, Path: fmt.Sprintf("sandboxes[%d]", i), store: c.store, pod: c.pod}
		c.set.list = append(c.set.list, e)
		entry := spicepod.Entry{Pod: c.pod, Path: e.Path, Component: "sandbox " + e.Name}
		readNames(&entry, s.Secrets)
		e.requirements = readRequirements(&entry, s.Dependencies, s.Runtime)
		c.problems = append(c.problems, entry.Problems...)
		e.fault = entry.Fault()
	}
	if c.set.Get(spicepod.DefaultSandbox) == nil {
		c.set.list = append(c.set.list,
			&Environment{Name: spicepod.DefaultSandbox, Declared: defaultSandbox(), store: c.store, pod: c.pod})
	}
}

// function adds a function to its sandbox.
func (c *compiler) function(i int) {
	d := &c.pod.Functions[i]
	if !d.Enabled || !d.BodyKind.Sandboxed() {
		return
	}
	f := &Function{
		Name: d.Name, Path: fmt.Sprintf("functions[%d]", i), Declared: d,
		Entrypoint: cmp.Or(d.Entrypoint, d.Name),
	}
	entry := spicepod.Entry{Pod: c.pod, Path: f.Path, Component: "function " + d.Name}
	name := cmp.Or(d.Sandbox, spicepod.DefaultSandbox)
	e := c.set.Get(name)
	if e == nil {
		entry.Fail(".sandbox", nearest.Hint(name, c.set.Names(), "declare it under sandboxes, or use one of "+
			strings.Join(c.set.Names(), ", ")), "there is no sandbox %q", name)
		c.problems = append(c.problems, entry.Problems...)
		f.Problems = entry.Problems
		c.set.lost = append(c.set.lost, f)
		return
	}
	f.runtime = cmp.Or(d.BodyKind.Runtime, e.Declared.Runtime)
	readNames(&entry, d.Secrets)
	f.requirements = readRequirements(&entry, d.Dependencies, f.runtime)
	unread := len(c.pod.Unset(f.Path)) > 0 // reported where the function is compiled
	if strings.TrimSpace(d.Body) == "" && !unread && f.runtime == spicepod.RuntimePython {
		entry.Fail("", "add body: or body_ref: with a definition of "+f.Entrypoint, "the function has no code")
	}
	f.Dependencies, f.Secrets = f.requirements.texts(), sortedSet(d.Secrets)
	f.Problems = append(entry.Problems, c.decorated[i]...)
	f.Checksum = f.checksum()
	e.Functions = append(e.Functions, f)
}

// aggregate merges the requirements and secrets of a sandbox with those of its functions. A
// function with a fault in its declaration adds nothing.
func (c *compiler) aggregate(e *Environment) {
	var all requirements
	for _, r := range e.requirements {
		all = all.add(r)
	}
	secrets, owner := slices.Clone(e.Declared.Secrets), map[string]string{}
	for _, name := range secrets {
		owner[name] = e.Path
	}
	for _, f := range e.Functions {
		if f.Fault() != nil {
			continue
		}
		for _, r := range f.requirements {
			all = all.add(r)
		}
		for _, name := range f.Secrets {
			owner[name] = cmp.Or(owner[name], f.Path)
		}
		secrets = append(secrets, f.Secrets...)
	}
	e.requirements, e.Dependencies, e.Secrets = all, all.texts(), sortedSet(secrets)
	if e.fault == nil {
		c.conflicts(e)
	}
	for _, name := range e.Secrets {
		v := c.pod.Variable(owner[name], name)
		if v.Message == "" {
			e.variables = append(e.variables, v)
			continue
		}
		c.missing(e, v)
	}
}

// missing makes the functions that need a variable unavailable.
func (c *compiler) missing(e *Environment, v spicepod.Variable) {
	for _, f := range e.Functions {
		path := ""
		if i := slices.Index(f.Declared.Secrets, v.Name); i >= 0 {
			path = fmt.Sprintf("%s.secrets[%d]", f.Path, i)
		} else if i := slices.Index(e.Declared.Secrets, v.Name); i >= 0 {
			path = fmt.Sprintf("%s.secrets[%d]", e.Path, i)
		} else {
			continue
		}
		f.Missing = append(f.Missing, v.Name)
		p := c.pod.Problem(path, ReasonMissingSecret+": "+v.Message, v.Hint)
		p.Component = "function " + f.Name
		f.Problems = append(f.Problems, p)
	}
}

// ReasonMissingSecret begins the message of a function that is unavailable because a variable
// is not set.
const ReasonMissingSecret = "missing_secret"

// conflicts refuses requirements that exclude each other.
func (c *compiler) conflicts(e *Environment) {
	if len(e.requirements) > maxRequirements {
		entry := spicepod.Entry{Pod: c.pod, Path: cmp.Or(e.Path, "functions"), Component: "sandbox " + e.Name}
		entry.Fail("", "split the sandbox", "sandbox %q and its functions need %d packages; the limit is %d", e.Name,
			len(e.requirements), maxRequirements)
		e.fault = entry.Fault()
		c.problems = append(c.problems, entry.Problems...)
		return
	}
	for _, r := range e.requirements {
		one, other, found := r.conflict()
		if !found {
			continue
		}
		entry := spicepod.Entry{Pod: c.pod, Path: r.paths[len(r.paths)-1], Component: "sandbox " + e.Name}
		var at []string
		for _, p := range r.paths {
			at = append(at, c.pod.At(p).String())
		}
		entry.Fail("", "use the same version everywhere, or give the functions different sandboxes",
			"sandbox %q needs %s%s and %s%s, which exclude each other: see %s", e.Name, r.name, one, r.name, other,
			strings.Join(at, ", "))
		e.fault = entry.Fault()
		c.problems = append(c.problems, entry.Problems...)
		return
	}
}

// finish reports for each function what is wrong with its sandbox, and collects the problems
// of the functions.
func (c *compiler) finish(e *Environment) {
	unbuilt := e.fault == nil && e.buildKey != "" && !e.Built()
	for _, f := range e.Functions {
		entry := spicepod.Entry{Pod: c.pod, Path: f.Path, Component: "function " + f.Name}
		switch {
		case e.fault != nil:
			entry.Problems = append(entry.Problems, entry.Problem(".sandbox", "", "").Waits(e.fault.Component, "runs in"))
		case unbuilt && f.runtime == spicepod.RuntimePython && f.Fault() == nil:
			entry.Fail(".sandbox", e.BuildHint(), "the packages of its sandbox %q are not installed", e.Name)
		}
		f.Problems = append(f.Problems, entry.Problems...)
		c.problems = append(c.problems, f.Problems...)
	}
}

// defaultSandbox returns what the sandbox default is without an entry.
func defaultSandbox() spicepod.Sandbox {
	s := spicepod.NewSandbox()
	s.Name = spicepod.DefaultSandbox
	return s
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// maxSecrets and maxSecretName limit `secrets:`.
const (
	maxSecrets    = 100
	maxSecretName = 128
)

// reservedPrefixes begin the names of variables that change what a process is.
var reservedPrefixes = []string{"LD_", "DYLD_", "PYTHON"}

// reservedNames are the variables that the runtime sets for the code.
var reservedNames = []string{"PATH", "HOME", "TMPDIR", "LANG", "LC_ALL"}

// readNames checks `secrets:`.
func readNames(entry *spicepod.Entry, names []string) {
	if len(names) > maxSecrets {
		entry.Fail(".secrets", "", "%d secrets are too many; the limit is %d", len(names), maxSecrets)
		return
	}
	for i, name := range names {
		path := fmt.Sprintf(".secrets[%d]", i)
		switch {
		case !variableName.MatchString(name) || len(name) > maxSecretName:
			// The text may be a secret itself: it is not shown.
			entry.Fail(path, "write the name of a variable, such as API_KEY, and set the variable in the environment, "+
				".env.local or .env", "the secret is not the name of a variable")
		case slices.Contains(reservedNames, name) ||
			slices.ContainsFunc(reservedPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }):
			entry.Fail(path, "use another name", "the variable %s is a setting of processes, and not passed on to code", name)
		}
	}
}

// readRequirements reads `dependencies:`.
func readRequirements(entry *spicepod.Entry, texts []string, runtime spicepod.SandboxRuntime) (all requirements) {
	if len(texts) > 0 && runtime != spicepod.RuntimePython {
		entry.Fail(".dependencies", "leave dependencies out",
			"dependencies are packages of Python, and this runs %s", runtime)
		return nil
	}
	if len(texts) > maxRequirements {
		entry.Fail(".dependencies", "", "%d dependencies are too many; the limit is %d", len(texts), maxRequirements)
		return nil
	}
	for i, text := range texts {
		path := fmt.Sprintf(".dependencies[%d]", i)
		r, err := parseRequirement(text)
		if err != nil {
			hint := ""
			if wrong, ok := err.(*requirementError); ok { //nolint:errorlint // not wrapped
				hint = wrong.hint
			}
			entry.Fail(path, hint, "%s", err)
			continue
		}
		r.paths = []string{entry.Path + path}
		all = all.add(r)
	}
	return all
}

// sortedSet returns the texts sorted, each once.
func sortedSet(texts []string) []string {
	list := slices.Clone(texts)
	slices.Sort(list)
	return slices.Compact(list)
}

// Isolation says how the code is isolated, as the Spicepod asks for it.
func (e *Environment) Isolation() string { return string(e.Declared.Isolation) }

// FunctionNames returns the names of the functions, sorted.
func (e *Environment) FunctionNames() []string {
	names := make([]string, len(e.Functions))
	for i, f := range e.Functions {
		names[i] = f.Name
	}
	return names
}

// MissingSecrets returns the names of the secrets that are not set, sorted.
func (e *Environment) MissingSecrets() []string {
	return slices.DeleteFunc(slices.Clone(e.Secrets), func(name string) bool {
		return slices.ContainsFunc(e.variables, func(v spicepod.Variable) bool { return v.Name == name })
	})
}

// NeedsBuild reports whether packages must be installed before the code can run.
func (e *Environment) NeedsBuild() bool { return e.buildKey != "" }

// Built reports whether the packages are installed now; true if there are none.
func (e *Environment) Built() bool {
	return e.buildKey == "" && len(e.Dependencies) == 0 || e.buildKey != "" && e.store.has(e.buildKey)
}

// BuildHint says how the packages are installed. It shows no path of the server.
func (e *Environment) BuildHint() string {
	if e.Declared.Build == spicepod.BuildAuto {
		return "build: auto is installing them: try again in a moment; the log says if it has failed"
	}
	command := "run: spiced sandbox build " + e.Name
	if e.store.ofState {
		command += " --state-dir DIR, with the folder of this server"
	}
	return command + "; or POST to /v1/sandboxes/" + e.Name + "/build; or write build: auto"
}

// Python returns the interpreter that the environment is made for; nil: the sandbox does not
// run Python, or no interpreter was found.
func (e *Environment) Python() *Python { return e.python }

// Interpreter returns the path of the interpreter with the packages, or "" if there is none.
func (e *Environment) Interpreter() string {
	switch {
	case e.python == nil:
		return ""
	case e.buildKey == "":
		return e.python.Executable
	}
	return e.store.interpreter(e.buildKey)
}

// ReadOnly returns the folders that the interpreter reads, in addition to those of the system.
func (e *Environment) ReadOnly() []string {
	if e.python == nil {
		return nil
	}
	list := slices.Clone(e.python.Folders)
	if e.buildKey != "" {
		list = append(list, e.store.folder(e.buildKey))
	}
	return list
}

// Variables returns the secrets that are set, as NAME=value. Never print or log them.
func (e *Environment) Variables() []string {
	list := make([]string, len(e.variables))
	for i, v := range e.variables {
		list[i] = v.Name + "=" + v.Value.Reveal()
	}
	return list
}

// Version differs between environments of a store in which the same code may behave
// differently: also by the values of secrets. It differs between runs of the process.
func (e *Environment) Version() string {
	s := newSum(e.store.salt, e.Checksum, e.Interpreter(), fmt.Sprint(e.Built()))
	s.list(e.Variables())
	return s.hex()[:digits]
}
