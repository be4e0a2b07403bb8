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

// Kind is the kind of bodies from exec.
var Kind = body.Kind{
	BodyKind: spicepod.BodyKind{
		Schemes: []string{"exec"}, Process: true,
		Keys: []string{"body", "body_ref", "sandbox", "dependencies", "secrets", "entrypoint"},
	},
	Open: func(h body.Host) body.Maker {
		return &Maker{Pools: NewPools(), Shim: h.Shim, Metrics: h.Metrics, Log: h.Log}
	},
}

// Maker makes bodies.
type Maker struct {
	Pools *Pools
	Shim  []string // the command that runs [sandbox.Main]
	Log   *slog.Logger
	// Metrics counts what the workers do; nil: none.
	Metrics sandbox.Metrics
	Load    time.Duration // until the code of a function is loaded; 0: 10 s
}

// Workers says what the workers of each sandbox do, by its name.
func (maker *Maker) Workers() map[string]sandbox.Workers { return maker.Pools.Workers() }

// code is a body.
type code struct {
	lease    *lease
	function *sandbox.Function
	where    func(line int) string // in the Spicepod, for errors
}

var _ body.Parallel = (*code)(nil)

// New makes the body of a function: it starts a worker and executes the code. The error
// about a declaration or the code is a [spicepod.Problem].
func (maker *Maker) New(ctx context.Context, spec body.Spec) (body.Body, error) {
	m := &draft{
		Maker: maker, spec: spec, sandbox: spec.Environment.Declared,
		entry: &spicepod.Entry{
			Pod: spec.Pod, Path: spec.Path, Component: "function " + spec.Declared.Name,
			Params: spec.Declared.Params,
		},
	}
	function, err := m.declared()
	if err != nil {
		return nil, err
	}
	made, err := m.open(function)
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

// draft is one body that is made.
type draft struct {
	*Maker
	spec    body.Spec
	entry   *spicepod.Entry
	sandbox spicepod.Sandbox
	arrow   bool // rows and values are Arrow IPC streams
}

func (m *draft) problem(path, hint, format string, args ...any) error {
	return *m.entry.Problem(path, hint, format, args...)
}

// declared checks the declaration.
func (m *draft) declared() (*sandbox.Function, error) {
	d := &m.spec.Declared
	lines := m.sandbox.Runtime == spicepod.RuntimeCommand
	switch {
	case m.sandbox.Runtime == spicepod.RuntimeWASM:
		return nil, m.problem(".from", "write from: wasm",
			"functions from exec run in sandboxes of runtime python or command; sandbox %s is for wasm", m.sandbox.Name)
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

// file is the name of the code in Python. Functions with the same file share its module.
func (m *draft) file() string {
	if at := m.spec.Pod.TextAt(m.spec.Path+".body", 0); m.spec.Declared.BodyRef != "" && at.File != "" {
		return at.File
	}
	return m.spec.Declared.Name
}

// lineOffset is the byte at which a line of the code begins.
func (m *draft) lineOffset(line int) int {
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
func (m *draft) where(line int) string {
	at := m.spec.Pod.TextAt(m.spec.Path+".body", m.lineOffset(line))
	if at.File == "" || at.Line == 0 {
		return fmt.Sprintf("line %d of the code", line)
	}
	return fmt.Sprintf("%s:%d", at.File, at.Line)
}

// loadProblem is the problem of code that does not load.
func (m *draft) loadProblem(err error) error {
	var code *sandbox.CodeError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return m.problem(".sandbox", "end calls that take long, or raise limits.workers of the sandbox",
			"sandbox %s had no worker free for %s, to load the function", m.sandbox.Name, body.DefaultTimeout)
	case !errors.As(err, &code):
		return m.problem(".from", "", "%s", err)
	}
	hint := ""
	switch {
	case code.Kind == "entrypoint" && len(code.Defined) > 0:
		hint = nearest.Hint(m.spec.Declared.Name, code.Defined, "write entrypoint: with one of "+
			strings.Join(code.Defined, ", "))
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
