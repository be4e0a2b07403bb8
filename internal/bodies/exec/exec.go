// Package exec makes the bodies of functions from exec: code that runs in a sandbox.
//
//	sandboxes:
//	  - name: analytics
//	    secrets: [DB_URL]
//	functions:
//	  - name: score
//	    from: exec
//	    sandbox: analytics
//	    signature: { args: [{ name: user_id, type: utf8 }], returns: float64 }
//	    body_ref: tools/score.py
//
// The functions of a sandbox share its workers; see package sandbox. [Pools] has them for
// all generations.
package exec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/spiced-sql/spiced/internal/bodies/body"
	"github.com/spiced-sql/spiced/internal/bodies/sandbox"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/spicepod"
)

// Options are what bodies are made with.
type Options struct {
	Pools *Pools
	Shim  []string // the command that runs [sandbox.Main]
	Log   *slog.Logger
	// Metrics counts what the workers do; nil: none.
	Metrics sandbox.Metrics
	Load    time.Duration // until the code of a function is loaded; 0: 10 s
	// Environment returns what the code of a sandbox runs with. Without it, Python is the
	// system's, without packages, and secrets are variables of this process.
	Environment func(ctx context.Context, pod *spicepod.Pod, sandbox string) (Environment, error)
}

// Environment is what the code of a sandbox runs with.
type Environment struct {
	Interpreter string   // of Python
	ReadOnly    []string // what it reads, beside the system's folders
	Variables   []string // the secrets, as NAME=value
}

// code is a body.
type code struct {
	lease    *lease
	function *sandbox.Function
	where    func(line int) string // in the Spicepod, for errors
}

var _ body.Parallel = (*code)(nil)

// New makes the body of a function: it starts a worker and executes the code. The error
// about a declaration or the code is a [spicepod.Problem].
func New(ctx context.Context, spec body.Spec, o Options) (body.Body, error) {
	m := &maker{
		Options: o, spec: spec,
		entry: &spicepod.Entry{Pod: spec.Pod, Path: spec.Path, Component: "function " + spec.Declared.Name, Params: spec.Declared.Params},
	}
	function, err := m.declared()
	if err != nil {
		return nil, err
	}
	made, err := m.open(ctx, function)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, body.DefaultTimeout)
	defer cancel()
	if err := made.lease.pool.Load(ctx, function); err != nil {
		made.Close()
		return nil, m.loadProblem(err)
	}
	return made, nil
}

// maker makes one body.
type maker struct {
	Options
	spec    body.Spec
	entry   *spicepod.Entry
	sandbox spicepod.Sandbox
	path    string // of the sandbox in the pod, "" if it has no entry
	arrow   bool   // rows and values are Arrow IPC streams
}

func (m *maker) problem(path, hint, format string, args ...any) error {
	return *m.entry.Problem(path, hint, format, args...)
}

// declared checks the declaration.
func (m *maker) declared() (*sandbox.Function, error) {
	d := &m.spec.Declared
	if err := m.findSandbox(); err != nil {
		return nil, err
	}
	lines := m.sandbox.Runtime == spicepod.RuntimeCommand
	switch {
	case m.sandbox.Runtime == spicepod.RuntimeWASM:
		return nil, m.problem(".from", "write from: wasm", "functions from exec run in sandboxes of runtime python or command; sandbox %s is for wasm", m.sandbox.Name)
	case lines:
		m.entry.Known("a function from exec", commandParams)
	default:
		m.entry.Known("a function from exec in a sandbox of runtime python", pythonParams)
	}
	m.arrow = m.streams()
	if p := m.entry.Fault(); p != nil {
		return nil, *p
	}
	if strings.TrimSpace(d.Body) == "" && !(lines && m.entry.Params.Has("command")) {
		hint := "write the code in body, or the file in body_ref"
		if lines {
			hint = "write params.command, the list of the program and its arguments; or a script in body or body_ref"
		}
		return nil, m.problem("", hint, "the function has no code")
	}
	declaration := sandbox.Declaration{
		Name: d.Name, Source: d.Body, File: m.file(), Entrypoint: cmp.Or(d.Entrypoint, d.Name),
		Args: m.spec.Args, Returns: m.spec.Returns, Arrow: m.arrow && !lines,
	}
	m.types(&declaration)
	if p := m.entry.Fault(); p != nil {
		return nil, *p
	}
	f, err := sandbox.NewFunction(declaration, int64(m.sandbox.Limits.Output))
	if err != nil {
		return nil, m.problem(".signature", "use another type; docs/types.md lists them", "%s", err)
	}
	return f, nil
}

// findSandbox finds the entry of the sandbox.
func (m *maker) findSandbox() error {
	name := m.spec.Declared.Sandbox
	if name == "" {
		name = spicepod.DefaultSandbox
	}
	var names []string
	for i, s := range m.spec.Pod.Sandboxes {
		if strings.EqualFold(s.Name, name) {
			m.sandbox, m.path = s, fmt.Sprintf("sandboxes[%d]", i)
			return nil
		}
		names = append(names, s.Name)
	}
	if strings.EqualFold(name, spicepod.DefaultSandbox) {
		m.sandbox = spicepod.Sandbox{Name: spicepod.DefaultSandbox, Runtime: spicepod.RuntimePython, Network: spicepod.NetworkNone, Isolation: spicepod.IsolationRequired}
		return nil
	}
	return m.problem(".sandbox", nearest.Hint(name, names, "declare it in sandboxes"), "there is no sandbox %q", name)
}

// file is the name of the code in Python. Functions with the same file share its module.
func (m *maker) file() string {
	if at := m.spec.Pod.TextAt(m.spec.Path+".body", 0); m.spec.Declared.BodyRef != "" && at.File != "" {
		return at.File
	}
	return m.spec.Declared.Name
}

// lineOffset is the byte at which a line of the code begins.
func (m *maker) lineOffset(line int) int {
	offset := 0
	for range line - 1 {
		i := strings.IndexByte(m.spec.Declared.Body[offset:], '\n')
		if i < 0 {
			break
		}
		offset += i + 1
	}
	return offset
}

// where is the position of a line of the code, for messages.
func (m *maker) where(line int) string {
	at := m.spec.Pod.TextAt(m.spec.Path+".body", m.lineOffset(line))
	if at.File == "" || at.Line == 0 {
		return fmt.Sprintf("line %d of the code", line)
	}
	return fmt.Sprintf("%s:%d", at.File, at.Line)
}

// loadProblem is the problem of code that does not load.
func (m *maker) loadProblem(err error) error {
	var code *sandbox.CodeError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return m.problem(".sandbox", "end calls that take long, or raise limits.workers of the sandbox", "sandbox %s had no worker free for %s, to load the function", m.sandbox.Name, body.DefaultTimeout)
	case !errors.As(err, &code):
		return m.problem(".from", "", "%s", err)
	}
	hint := ""
	switch {
	case code.Kind == "entrypoint" && len(code.Defined) > 0:
		hint = nearest.Hint(m.spec.Declared.Name, code.Defined, "write entrypoint: with one of "+strings.Join(code.Defined, ", "))
	case code.Kind == "entrypoint":
		hint = "define it with def or async def"
	case code.Kind == "parameters":
		hint = "arguments are passed by name: give the function the parameters of signature.args"
	case code.Kind == "load":
		hint = "do in the function what takes long, not at the top of the code"
	case m.arrow && code.Module == "pyarrow":
		hint = "add pyarrow to dependencies: params.format: arrow needs it"
	case code.Module != "":
		hint = fmt.Sprintf("add the package of %s to dependencies", code.Module)
	}
	if code.Line == 0 {
		return m.problem(".body", hint, "%s", code)
	}
	p := m.spec.Pod.TextProblem(m.spec.Path+".body", m.lineOffset(code.Line)+max(0, code.Column-1), code.Error(), hint)
	p.Component = m.entry.Component
	return p
}

// Call calls the function on each row.
func (c *code) Call(ctx context.Context, batch arrow.RecordBatch) (arrow.Array, error) {
	values, err := c.lease.pool.Call(ctx, c.function, batch)
	if err == nil {
		return values, nil
	}
	var failed *sandbox.CodeError
	if !errors.As(err, &failed) {
		return nil, err
	}
	text := failed.Error()
	if failed.Line > 0 {
		text += " (" + c.where(failed.Line) + ")"
	}
	err = errors.New(text)
	if failed.Row != nil && *failed.Row >= 0 && int64(*failed.Row) < batch.NumRows() {
		err = &body.Error{Row: *failed.Row, Err: err}
	}
	return nil, err
}

// AtOnce is the number of workers of the sandbox.
func (c *code) AtOnce() int { return c.lease.pool.AtOnce() }

// Close ends the use of the sandbox's workers.
func (c *code) Close() error {
	c.lease.release()
	return nil
}
