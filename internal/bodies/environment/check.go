package environment

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/spicepod"
)

// Limits of the checks of code.
const (
	maxSource  = 1 << 20          // bytes of the code of a function
	checkLimit = 30 * time.Second // for all functions of a load
	maxFacts   = 64 << 20         // bytes of what is known of them
)

//go:embed check.py
var checkScript string

// facts are what check.py says of the code of a function.
type facts struct {
	Error *struct {
		Message string
		Offset  int
	}
	Functions map[string]*definition
	Defined   []string // other names of the module
	Imports   []imported
	Sandboxes []argument // the names in calls of registry.register_sandbox
}

// definition is a def or async def of the module.
type definition struct {
	Offset     int
	Parameters []parameter
	Any        bool // takes keyword arguments of any name
	Returns    bool // has a type hint of its result
	Async      bool
	Tool       *decorator // nil: it has none
}

type parameter struct {
	Name       string
	Required   bool
	Positional bool // cannot be passed by name
	Offset     int
}

// imported is the import of a module that is not Python's own.
type imported struct {
	Name   string // of the top-level module; of a relative import, with its dots
	Full   string
	Offset int
}

// check finds the interpreter, if code needs one, and checks the code of all functions.
func (c *compiler) check(ctx context.Context) {
	var unchecked []*Function
	var withPython []*Environment
	for _, e := range c.set.list {
		var code []*Function
		for _, f := range e.Functions {
			if f.runtime == spicepod.RuntimePython && strings.TrimSpace(f.Declared.Body) != "" {
				code = append(code, f)
			}
		}
		if e.Declared.Runtime == spicepod.RuntimePython && len(code)+len(e.Dependencies) > 0 {
			withPython = append(withPython, e)
			unchecked = append(unchecked, code...)
		}
	}
	if len(withPython) == 0 {
		return
	}
	python, err := c.store.findPython(ctx)
	if err != nil {
		c.withoutPython(withPython, err)
		return
	}
	for _, e := range withPython {
		e.python, e.buildKey = python, e.key(python)
	}
	known := c.store.factsOf(ctx, python, unchecked)
	for _, e := range withPython {
		for _, f := range e.Functions {
			if k, ok := known[f]; ok {
				c.judge(e, f, k)
			}
		}
	}
}

// withoutPython reports that the sandboxes have no interpreter.
func (c *compiler) withoutPython(list []*Environment, err error) {
	for _, e := range list {
		path := e.Path
		if path == "" && len(e.Functions) > 0 {
			path = e.Functions[0].Path
		}
		entry := spicepod.Entry{Pod: c.pod, Path: path, Component: "sandbox " + e.Name}
		entry.Fail("", pythonHint, "sandbox %q needs Python: %s", e.Name, err)
		c.problems = append(c.problems, entry.Problems...)
		if e.fault == nil {
			e.fault = entry.Fault()
		}
	}
}

// checked is what is known of a function, or why nothing is.
type checked struct {
	facts *facts
	err   error
}

// readFacts has the interpreter parse sources. If that fails for all of them together, it is
// tried for each alone: one may be too much for the parser.
func readFacts(ctx context.Context, p *Python, sources []string) []checked {
	list := make([]checked, len(sources))
	ctx, cancel := context.WithTimeoutCause(ctx, checkLimit,
		fmt.Errorf("parsing the code takes longer than %s", checkLimit))
	defer cancel()
	all, err := parseTogether(ctx, p, sources)
	for i := range sources {
		switch {
		case err == nil:
			list[i].facts = &all[i]
		case len(sources) == 1:
			list[i].err = err
		default:
			list[i] = readFacts(ctx, p, sources[i:i+1])[0]
		}
	}
	return list
}

func parseTogether(ctx context.Context, p *Python, sources []string) ([]facts, error) {
	in, err := json.Marshal(sources)
	if err != nil {
		return nil, err
	}
	out, err := command{
		args: []string{p.Executable, "-I", "-S", "-c", checkScript}, environ: environ(false, nil),
		stdin: in, most: maxFacts,
	}.run(ctx)
	if err != nil {
		return nil, errors.New(reasonOf(err))
	}
	var all []facts
	if err := json.Unmarshal(out, &all); err != nil {
		return nil, fmt.Errorf("read what the parser says: %w", err)
	}
	if len(all) != len(sources) {
		return nil, fmt.Errorf("the parser says something of %d of %d sources", len(all), len(sources))
	}
	return all, nil
}

// judge compares the code of a function with its declaration.
func (c *compiler) judge(e *Environment, f *Function, known checked) {
	add := func(severity spicepod.Severity, offset int, message, hint string) {
		p := c.pod.TextProblem(f.Path+".body", offset, message, hint)
		p.Component, p.Severity = "function "+f.Name, severity
		f.Problems = append(f.Problems, p)
	}
	switch {
	case known.err != nil:
		add(spicepod.Error, 0, "the code cannot be checked: "+known.err.Error(), "")
		return
	case known.facts.Error != nil:
		add(spicepod.Error, known.facts.Error.Offset, "invalid Python: "+truncate.Line(known.facts.Error.Message, 300), "")
		return
	}
	c.imports(e, f, known.facts.Imports, add)
	def := known.facts.Functions[f.Entrypoint]
	if def == nil {
		if !slices.Contains(known.facts.Defined, f.Entrypoint) {
			c.noEntrypoint(f, known.facts)
		}
		return
	}
	f.compare(def, add)
	if f.Declared.Signature.Returns.IsZero() && !def.Returns {
		add(spicepod.Warning, def.Offset, fmt.Sprintf("the type of the result of %s is not known", f.Entrypoint),
			"declare signature.returns")
	}
}

// noEntrypoint reports that the code does not define what a call runs.
func (c *compiler) noEntrypoint(f *Function, known *facts) {
	path, names := f.Path+".name", known.Defined
	if f.Declared.Entrypoint != "" {
		path = f.Path + ".entrypoint"
	}
	for name := range known.Functions {
		names = append(names, name)
	}
	slices.Sort(names)
	hint := fmt.Sprintf("define it, or write the name of another function as entrypoint: def %s(…)", f.Entrypoint)
	near := nearest.Name(f.Entrypoint, names)
	if len(known.Functions) == 1 && near == "" {
		for name := range known.Functions {
			near = name
		}
	}
	if near != "" {
		hint = fmt.Sprintf("did you mean %q? write entrypoint: %s", near, near)
	}
	p := c.pod.Problem(path, fmt.Sprintf("the code defines no function %q", f.Entrypoint), hint)
	p.Component = "function " + f.Name
	f.Problems = append(f.Problems, p)
}

// compare compares the parameters of a definition with the arguments of the signature, which
// are passed by name, or by position if the order is the same.
func (f *Function) compare(def *definition, add func(severity spicepod.Severity, offset int, message, hint string)) {
	var passed, taken []string
	for _, t := range f.Declared.Signature.Tables {
		passed = append(passed, t.Name)
	}
	for _, a := range f.Declared.Signature.Args {
		passed = append(passed, a.Name)
	}
	first := true // the parameters are the arguments in their order so far
	for i, p := range def.Parameters {
		first = first && i < len(passed) && passed[i] == p.Name
		taken = append(taken, p.Name)
		isPassed := slices.Contains(passed, p.Name)
		switch {
		case p.Positional && isPassed && !first:
			add(spicepod.Error, p.Offset, fmt.Sprintf("%s takes %s by position alone, and the signature has another order",
				f.Entrypoint, p.Name), "remove the /, or use the order of the signature")
		case p.Required && !isPassed:
			add(spicepod.Error, p.Offset,
				fmt.Sprintf("%s needs the parameter %q, which signature.args does not declare", f.Entrypoint, p.Name),
				nearest.Hint(p.Name, passed, "declare it, or give it a default value"))
		}
	}
	for _, name := range passed {
		if !def.Any && !slices.Contains(taken, name) {
			add(spicepod.Error, def.Offset,
				fmt.Sprintf("%s has no parameter %q, which the signature declares", f.Entrypoint, name),
				nearest.Hint(name, taken, "add the parameter, or remove the argument from the signature"))
		}
	}
}

// shimmed is a module that the workers have, for code that was written for it.
const shimmed = "jazzmine"

// maxImportWarnings is how many imports of a function are warned of.
const maxImportWarnings = 5

// imports warns of imports that the environment does not have.
func (c *compiler) imports(e *Environment, f *Function, list []imported,
	add func(severity spicepod.Severity, offset int, message, hint string),
) {
	var seen []string
	for _, m := range list {
		if slices.Contains(seen, m.Name) || len(seen) == maxImportWarnings {
			continue
		}
		switch {
		case strings.HasPrefix(m.Name, "."):
			add(spicepod.Warning, m.Offset,
				fmt.Sprintf("the relative import of %s will fail: the code is moved to the sandbox alone", m.Full),
				"put what it needs into the code, or into a package")
		case m.Name == shimmed || c.provides(e, m.Name):
			continue
		case c.isLocalModule(f, m.Name):
			add(spicepod.Warning, m.Offset,
				fmt.Sprintf("the import of %s will fail: the code is moved to the sandbox alone, without the files next to it",
					m.Name), "put what it needs into the code, or into a package")
		default:
			add(spicepod.Warning, m.Offset,
				fmt.Sprintf("the import of %s will fail: it is not in the dependencies of the function or its sandbox", m.Name),
				"add to dependencies: "+distributionOf(m.Name))
		}
		seen = append(seen, m.Name)
	}
}

// provides reports whether the packages have a module. Before they are installed, that is
// judged by their names.
func (c *compiler) provides(e *Environment, module string) bool {
	if e.buildKey != "" {
		if built, ok := c.store.record(e.buildKey); ok {
			return slices.Contains(built.Modules, module)
		}
	}
	for _, r := range e.requirements {
		if slices.Contains(distributionsOf(module), r.name) {
			return true
		}
	}
	return false
}

// isLocalModule reports whether a module is a file next to the code.
func (c *compiler) isLocalModule(f *Function, module string) bool {
	if f.Declared.BodyRef == "" {
		return false
	}
	file := c.pod.TextAt(f.Path+".body", 0).File
	if !filepath.IsAbs(file) {
		file = filepath.Join(c.pod.Dir, file)
	}
	folder := filepath.Dir(file)
	for _, name := range []string{module + ".py", module} {
		if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
			return true
		}
	}
	return false
}

// distributions are those of modules that have another name, normalised; the first one is
// suggested.
var distributions = map[string][]string{
	"attr": {"attrs"}, "bs4": {"beautifulsoup4"}, "Crypto": {"pycryptodome"},
	"cv2":      {"opencv-python-headless", "opencv-python", "opencv-contrib-python"},
	"dateutil": {"python-dateutil"}, "docx": {"python-docx"}, "dotenv": {"python-dotenv"}, "fitz": {"pymupdf"},
	"git":  {"gitpython"},
	"jose": {"python-jose"}, "jwt": {"pyjwt"}, "Levenshtein": {"levenshtein", "python-levenshtein"},
	"magic": {"python-magic"}, "MySQLdb": {"mysqlclient"},
	"nacl": {"pynacl"}, "OpenSSL": {"pyopenssl"}, "PIL": {"pillow"}, "pkg_resources": {"setuptools"},
	"pptx":    {"python-pptx"},
	"psycopg": {"psycopg", "psycopg-binary"}, "psycopg2": {"psycopg2-binary", "psycopg2"}, "pythoncom": {"pywin32"},
	"serial": {"pyserial"}, "skimage": {"scikit-image"},
	"sklearn": {"scikit-learn"}, "slugify": {"python-slugify"}, "telegram": {"python-telegram-bot"},
	"win32api": {"pywin32"}, "yaml": {"pyyaml"}, "zmq": {"pyzmq"},
	"faiss": {"faiss-cpu"}, "usb": {"pyusb"}, "ulid": {"python-ulid"}, "socks": {"pysocks"},
	"multipart": {"python-multipart"}, "markdown": {"markdown"}, "google": {"protobuf", "google-api-core", "google-auth"},
}

// distributionsOf returns the packages that may have a module.
func distributionsOf(module string) []string {
	return append(slices.Clone(distributions[module]), normalName(module))
}

// distributionOf returns the package that most likely has a module.
func distributionOf(module string) string { return distributionsOf(module)[0] }
