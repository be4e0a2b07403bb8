package wasm

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"github.com/spiced-sql/spiced/internal/bodies/body"
	"github.com/spiced-sql/spiced/internal/kit/plural"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/spicepod"
)

// commandFuel is the fuel of a call of a command without params.fuel: the start of some
// languages takes more than Spice's default.
const commandFuel = 10_000_000_000

// exportStart is what a command exports.
const exportStart = "_start"

// maxStderr is how much of the standard error of a command is kept for an error.
const maxStderr = 16 << 10

// command is what a module with WASI runs with.
type command struct {
	name    string // of the sandbox
	memory  spicepod.Size
	cpu     time.Duration // processor time of a call
	output  int           // bytes of its standard output
	secrets map[string]string
	mask    *strings.Replacer
}

// findSandbox returns the command of a function whose sandbox has the runtime wasm, nil for
// one without a sandbox.
func (d *declared) findSandbox() *command {
	if d.spec.Declared.Sandbox == "" {
		return nil
	}
	s := d.spec.Environment.Declared
	if s.Runtime != spicepod.RuntimeWASM {
		d.Fail(".sandbox", "set its runtime: wasm for a command with WASI, or leave sandbox out for a module without imports",
			"functions from wasm run in sandboxes of runtime wasm; sandbox %s is for %s", s.Name, s.Runtime)
		return nil
	}
	c := &command{
		name: s.Name, memory: s.Limits.Memory, cpu: s.Limits.CPU, output: int(s.Limits.Output),
		secrets: map[string]string{},
	}
	var pairs []string
	for j, key := range slices.Concat(s.Secrets, d.spec.Declared.Secrets) {
		path := d.Path
		if j < len(s.Secrets) {
			path = d.spec.Environment.Path
		}
		value := d.Pod.Variable(path, key).Value.Reveal() // it is set: environments have been checked
		if c.secrets[key] = value; value != "" {
			pairs = append(pairs, value, "***")
		}
	}
	c.mask = strings.NewReplacer(pairs...)
	return c
}

// checkCommand checks the imports and exports of a command.
func (d *declared) checkCommand(b *Body, m *module) {
	for _, imp := range m.imports {
		if imp.module != wasi_snapshot_preview1.ModuleName {
			d.Fail(d.at(), "compile it for wasm32-wasip1", "the module imports %s.%s; a command gets the imports of %s",
				imp.module, imp.name, wasi_snapshot_preview1.ModuleName)
			return
		}
	}
	start, ok := m.function(exportStart)
	if !ok || !start.equal(funcType{}) {
		d.Fail(d.at(), "compile it as a command for wasm32-wasip1, or leave sandbox out",
			"failed to get WASM export '%s': the module is not a command with WASI", exportStart)
		return
	}
	b.entrypoint = exportStart
	b.form = b.runCommand
	b.config = b.config.WithStartFunctions().WithArgs(d.spec.Declared.Name).WithRandSource(rand.Reader)
	for name, value := range b.command.secrets {
		b.config = b.config.WithEnv(name, value)
	}
}

// reply is the line that a command answers with.
type reply struct {
	Values json.RawMessage `json:"values"`
	Error  *string         `json:"error"`
	Row    *int            `json:"row"`
}

// runCommand runs a command for a batch, with the JSON lines of package sandbox: one on its
// standard input, one on its standard output.
func (b *Body) runCommand(ctx context.Context, batch arrow.RecordBatch) (arrow.Array, error) {
	rows, err := rowsJSON(batch)
	if err != nil {
		return nil, err
	}
	request, err := json.Marshal(map[string]any{"function": b.spec.Declared.Name, "rows": json.RawMessage(rows)})
	if err != nil {
		return nil, err
	}
	stdout, stderr := &bounded{most: b.command.output}, &bounded{most: maxStderr, drop: true}
	config := b.config.WithStdin(bytes.NewReader(append(request, '\n'))).WithStdout(stdout).WithStderr(stderr)
	err = b.with(ctx, config, func(ctx context.Context, i *instance) error {
		_, err := i.module.ExportedFunction(exportStart).Call(ctx)
		var exit *sys.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == 0 {
			err = nil
		}
		if err != nil && stdout.full {
			return fmt.Errorf("the command wrote more than %d bytes; raise limits.output of sandbox %s, or write less",
				b.command.output, b.command.name)
		}
		if err != nil {
			return i.failed(exportStart, err)
		}
		return nil
	})
	if err != nil {
		return nil, b.withStderr(err, stderr)
	}
	return b.values(stdout.Bytes(), int(batch.NumRows()))
}

// withStderr adds the last line of the standard error to an error of the command itself.
func (b *Body) withStderr(err error, stderr *bounded) error {
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	var t *trap
	if last == "" || !errors.As(err, &t) {
		return err
	}
	return fmt.Errorf("%w: %s", err, truncate.Line(b.command.mask.Replace(strings.ToValidUTF8(last, "?")), 400))
}

// values reads the line of a command.
func (b *Body) values(line []byte, rows int) (values arrow.Array, err error) {
	const form = `it must answer {"values": […]} or {"error": "…", "row": 0}`
	var r reply
	if json.Unmarshal(line, &r) != nil || r.Error == nil && r.Values == nil {
		return nil, errors.New("the command wrote something that is not an answer; " + form)
	}
	if r.Error != nil {
		err := errors.New(truncate.Line(b.command.mask.Replace(*r.Error), 400))
		if r.Row != nil && *r.Row >= 0 && *r.Row < rows {
			return nil, &body.Error{Row: *r.Row, Err: err}
		}
		return nil, err
	}
	defer func() {
		if recover() != nil { // the library panics on some values of other types
			values, err = nil, fmt.Errorf("the command answered a value that is not of type %s", b.spec.Returns)
		}
	}()
	values, _, err = array.FromJSON(memory.DefaultAllocator, b.spec.Returns, bytes.NewReader(r.Values))
	if err != nil {
		return nil, fmt.Errorf("the command answered a value that is not of type %s: %s", b.spec.Returns,
			b.command.mask.Replace(err.Error()))
	}
	if values.Len() != rows {
		return nil, fmt.Errorf("the command answered %s for %s", plural.Of(values.Len(), "value"), plural.Of(rows, "row"))
	}
	return values, nil
}

func rowsJSON(batch arrow.RecordBatch) ([]byte, error) {
	if batch.NumCols() == 0 {
		return []byte("[" + strings.TrimSuffix(strings.Repeat("{},", int(batch.NumRows())), ",") + "]"), nil
	}
	rows := array.RecordToStructArray(batch)
	defer rows.Release()
	return rows.MarshalJSON()
}

// bounded is what a command writes.
type bounded struct {
	bytes.Buffer
	most int
	drop bool // what is beyond; otherwise it is an error
	full bool
}

// Write implements [io.Writer].
func (w *bounded) Write(p []byte) (int, error) {
	if w.Len()+len(p) <= w.most {
		return w.Buffer.Write(p)
	}
	w.full = true
	if !w.drop {
		return 0, os.ErrInvalid
	}
	w.Buffer.Write(p[:max(0, w.most-w.Len())])
	return len(p), nil
}
