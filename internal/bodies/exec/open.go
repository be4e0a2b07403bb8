package exec

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/bodies/sandbox"
	"github.com/spiced-sql/spiced/internal/kit/arrowipc"
	"github.com/spiced-sql/spiced/spicepod"
)

// commandParams are the params of a function in a sandbox of runtime command.
var commandParams = []spicepod.Param{
	{
		Name: "command", Type: spicepod.ParamText,
		Doc: "The program and its arguments, separated by spaces; a path with a slash is relative to the " +
			"Spicepod's folder. " +
			"Instead of body.",
	},
	formatParam,
}

// pythonParams are those in a sandbox of runtime python.
var pythonParams = []spicepod.Param{formatParam}

var formatParam = spicepod.Param{
	Name: "format", Type: spicepod.ParamText,
	Doc: "How rows and values are passed: json, the default of a command; or arrow, as Arrow IPC streams, of Python " +
		"as arrays of pyarrow.",
}

// streams reports whether the function asks for Arrow IPC streams.
func (m *draft) streams() bool {
	switch format := m.entry.Text("format"); {
	case format == "arrow":
		if part := arrowipc.Unreadable(m.spec.Returns); part != nil {
			m.entry.Fail(".signature.returns", "use another type, or leave params.format out",
				"values of the type %s cannot be returned with params.format: arrow", part)
		}
		return true
	case format != "" && (format != "json" || m.sandbox.Runtime != spicepod.RuntimeCommand):
		m.entry.FailParam("format", "write arrow, or leave it out", "params.format must be arrow%s, got %q",
			map[bool]string{true: " or json"}[m.sandbox.Runtime == spicepod.RuntimeCommand], format)
	}
	return false
}

// open acquires the pool of the function's sandbox.
func (m *draft) open(f *sandbox.Function) (*code, error) {
	if m.Pools == nil {
		return nil, errNoPools
	}
	o := m.options()
	if m.sandbox.Runtime == spicepod.RuntimeCommand {
		if err := m.command(&o); err != nil {
			return nil, err
		}
	}
	l, err := m.Pools.acquire(m.key(&o), func() (*sandbox.Pool, error) { return sandbox.New(o) })
	var bare *sandbox.NotIsolatedError
	switch {
	case errors.As(err, &bare):
		hint := "write isolation: best_effort in the sandbox if you trust its code"
		return nil, m.problem(".sandbox", hint, "sandbox %s: %s", m.sandbox.Name, err)
	case err != nil:
		return nil, err
	}
	return &code{lease: l, function: f, where: m.where}, nil
}

func (m *draft) options() sandbox.Options {
	e, limits := m.spec.Environment, m.sandbox.Limits
	o := sandbox.Options{
		Name: m.sandbox.Name, Command: sandbox.PythonCommand(e.Interpreter()), ReadOnly: e.ReadOnly(), Env: e.Variables(),
		Memory: int64(limits.Memory), CPU: cmp.Or(limits.CPU, spicepod.Defaults[spicepod.SandboxLimits]().CPU),
		Processes: limits.Processes, Workers: limits.Workers, Output: int64(limits.Output),
		Network: m.sandbox.Network == spicepod.NetworkAll, Required: m.sandbox.Isolation != spicepod.IsolationBestEffort,
		Shim: m.Shim, Metrics: m.Metrics, Log: m.Log, Load: m.Load,
	}
	for _, v := range o.Env {
		_, value, _ := strings.Cut(v, "=")
		o.Secrets = append(o.Secrets, value)
	}
	return o
}

// command sets the program of a function in a sandbox of runtime command.
func (m *draft) command(o *sandbox.Options) error {
	o.Lines, o.Arrow = true, m.arrow
	if m.spec.Declared.Body != "" {
		if !strings.HasPrefix(m.spec.Declared.Body, "#!") {
			return m.problem(".body", "begin it with a line such as #!/bin/sh", "the script does not name its interpreter")
		}
		o.Script = m.spec.Declared.Body
		return nil
	}
	words := strings.Fields(m.entry.Text("command"))
	if len(words) == 0 {
		return m.problem(spicepod.ParamPath("command"), "write the program and its arguments", "it is empty")
	}
	name := words[0]
	if strings.Contains(name, "/") && !filepath.IsAbs(name) {
		name = filepath.Join(m.spec.Pod.Dir, name)
	}
	path, err := exec.LookPath(name)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return m.problem(spicepod.ParamPath("command"), "run: chmod +x "+words[0], "%q cannot be executed", words[0])
	case err != nil:
		return m.problem(spicepod.ParamPath("command"), "write a path, or the name of a program in PATH",
			"there is no program %q", words[0])
	}
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	o.Command = append([]string{path}, words[1:]...)
	o.ReadOnly = append(slices.Clone(o.ReadOnly), path)
	return nil
}

// key is the same for what may share workers: the same settings, variables and code.
func (m *draft) key(o *sandbox.Options) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %v %+v %t\n", o.Command, o.ReadOnly, o.Env, o.Network, m.sandbox.Limits, o.Required)
	if o.Lines {
		fmt.Fprintf(h, "%q %q %t\n", m.spec.Declared.Name, o.Script, o.Arrow)
		return fmt.Sprintf("%s %x", m.sandbox.Name, h.Sum(nil))
	}
	fmt.Fprintln(h, m.spec.Declared.Environment)
	return fmt.Sprintf("%s %x", m.sandbox.Name, h.Sum(nil))
}
