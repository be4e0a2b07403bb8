package exec_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/spiced-sql/spiced/internal/bodies/body"
	"github.com/spiced-sql/spiced/internal/bodies/environment"
	"github.com/spiced-sql/spiced/internal/bodies/exec"
	"github.com/spiced-sql/spiced/internal/bodies/sandbox"
	"github.com/spiced-sql/spiced/internal/kit/arrowipc"
	"github.com/spiced-sql/spiced/spicepod"
)

// inSandbox is the declaration of a sandbox with one worker.
func inSandbox(r spicepod.SandboxRuntime) spicepod.Sandbox {
	limits := spicepod.Defaults[spicepod.SandboxLimits]()
	limits.Workers = 1
	return spicepod.Sandbox{Name: spicepod.DefaultSandbox, Runtime: r, Limits: limits}
}

// TestMain is a worker, if a variable of the environment is set.
func TestMain(m *testing.M) {
	if os.Getenv("SPICED_SANDBOX") != "" {
		fmt.Fprintln(os.Stderr, sandbox.Main())
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// made makes the body of a function of one int64 in a pod with these functions.
func made(t *testing.T, o *exec.Maker, pod *spicepod.Pod, i int) (body.Body, error) {
	t.Helper()
	f := pod.Functions[i]
	e := environmentOf(t, pod, f.Name)
	f.Environment = e.Version()
	return o.New(t.Context(), body.Spec{
		Pod: pod, Path: fmt.Sprintf("functions[%d]", i), Declared: f, Environment: e, Returns: arrow.PrimitiveTypes.Int64,
		Args: arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil),
	})
}

// store is that of all environments: their versions differ between stores.
var store = environment.NewStore("")

// environmentOf returns the environment of a function, whatever is wrong with it.
func environmentOf(t *testing.T, pod *spicepod.Pod, function string) *environment.Environment {
	t.Helper()
	set, problems := environment.Compile(t.Context(), pod, store)
	e, _ := set.Of(function)
	if e == nil {
		t.Fatal(problems)
	}
	return e
}

func function(name, code string) spicepod.Function {
	return spicepod.Function{Name: name, From: "exec", Enabled: true, BodyKind: &exec.Kind.BodyKind, Body: code, Signature: spicepod.Signature{
		Args: []spicepod.Arg{{Name: "x", Type: "int64"}}, Returns: spicepod.Returns{Type: "int64"},
	}}
}

func options(t *testing.T) *exec.Maker {
	t.Helper()
	if _, err := osexec.LookPath("python3"); err != nil {
		t.Skip(err)
	}
	if !sandbox.Probe([]string{os.Args[0]}).Full {
		t.Skip("this system cannot isolate code")
	}
	return &exec.Maker{Pools: exec.NewPools(), Shim: []string{os.Args[0]}}
}

func callOf(t *testing.T, b body.Body, values string) (string, error) {
	t.Helper()
	x, _, err := array.FromJSON(memory.DefaultAllocator, arrow.PrimitiveTypes.Int64, strings.NewReader(values))
	if err != nil {
		t.Fatal(err)
	}
	batch := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "x", Type: x.DataType(), Nullable: true}}, nil), []arrow.Array{x}, int64(x.Len()))
	got, err := b.Call(t.Context(), batch)
	if err != nil {
		return "", err
	}
	defer got.Release()
	text, err := got.MarshalJSON()
	return strings.TrimSpace(string(text)), err
}

// The functions of a sandbox share a pool; one that is changed has another.
func TestFunctionsShareWorkers(t *testing.T) {
	o := options(t)
	code := "import sys, uuid\none = sys.__dict__.setdefault('one', uuid.uuid4().int % 2**62)\ndef a(x): return one\ndef b(x): return one\n"
	pod := &spicepod.Pod{
		Sandboxes: []spicepod.Sandbox{inSandbox(spicepod.RuntimePython)},
		Functions: []spicepod.Function{function("a", code), function("b", code)},
	}
	a, err := made(t, o, pod, 0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := made(t, o, pod, 1)
	if err != nil {
		t.Fatal(err)
	}
	one, err1 := callOf(t, a, "[1]")
	two, err2 := callOf(t, b, "[1]")
	if err1 != nil || err2 != nil || one != two {
		t.Error(one, two, err1, err2)
	}
	if w := o.Pools.Workers()["default"]; w.Idle != 1 || w.Busy != 0 {
		t.Errorf("workers %+v", w)
	}
	a.Close()
	if again, err := callOf(t, b, "[1]"); err != nil || again != two {
		t.Error(again, err)
	}
	b.Close()
	if all := o.Pools.Workers(); len(all) > 0 {
		t.Errorf("the pool is left: %+v", all)
	}
}

// JSON in lists, structs and rows is what it is in Python, by the declared types.
func TestNestedJSON(t *testing.T) {
	const pod = `
version: v1
kind: Spicepod
name: t
runtime: { functions: { enabled: true } }
functions:
  - name: f
    from: exec
    signature:
      tables: [{ name: rows, columns: [{ name: j, type: json }] }]
      args: [{ name: l, type: list<jsonb> }, { name: s, type: "struct<a: json>" }, { name: m, type: "map<utf8, json[]>" }]
      returns: [{ name: n, type: int64 }, { name: j, type: json }]
    body: |
      def f(rows, l, s, m):
          assert (rows, l, s, m) == ([{"j": {"b": 1}}], [[1], None], {"a": {}}, {"k": [2]}), (rows, l, s, m)
          return [{"n": 1, "j": {"ü": [1.5]}}, {"n": None, "j": None}]
`
	loaded, err := spicepod.LoadText("spicepod.yaml", pod, nil, exec.Kind.BodyKind)
	if err != nil {
		t.Fatal(err)
	}
	text := arrow.BinaryTypes.String
	field := func(name string, typ arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: typ, Nullable: true}
	}
	args := []arrow.Field{
		field("rows", arrow.ListOf(arrow.StructOf(field("j", text)))), field("l", arrow.ListOf(text)),
		field("s", arrow.StructOf(field("a", text))), field("m", arrow.MapOf(text, arrow.ListOf(text))),
	}
	columns := make([]arrow.Array, len(args))
	for i, values := range []string{`[[{"j": "{\"b\": 1}"}]]`, `[["[1]", null]]`, `[{"a": "{}"}]`, `[[{"key": "k", "value": ["2"]}]]`} {
		if columns[i], _, err = array.FromJSON(memory.DefaultAllocator, args[i].Type, strings.NewReader(values)); err != nil {
			t.Fatal(err)
		}
	}
	schema := arrow.NewSchema(args, nil)
	b, err := options(t).New(t.Context(), body.Spec{
		Pod: loaded, Path: "functions[0]", Declared: loaded.Functions[0], Environment: environmentOf(t, loaded, "f"), Args: schema,
		Returns: arrow.ListOf(arrow.StructOf(field("n", arrow.PrimitiveTypes.Int64), field("j", text))),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	got, err := b.Call(t.Context(), array.NewRecordBatch(schema, columns, 1))
	if err != nil {
		t.Fatal(err)
	}
	if want := `[{"j":"{\"ü\": [1.5]}","n":1},{"j":null,"n":null}]`; got.ValueStr(0) != want {
		t.Errorf("got %s, want %s", got.ValueStr(0), want)
	}
}

func TestErrorsHaveTheirRow(t *testing.T) {
	pod := &spicepod.Pod{Functions: []spicepod.Function{function("f", "def f(x):\n    if x == 2: raise ValueError('two')\n    return x")}}
	b, err := made(t, options(t), pod, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	_, err = callOf(t, b, "[0,1,2]")
	var row *body.Error
	if !errors.As(err, &row) || row.Row != 2 || err.Error() != "ValueError: two (line 2 of the code)" {
		t.Error(err)
	}
}

func TestDeclarations(t *testing.T) {
	good := "def f(x): return x"
	for _, c := range []struct {
		name   string
		change func(*spicepod.Pod)
		want   string
	}{
		{"no code", func(p *spicepod.Pod) { p.Functions[0].Body = " " }, "the function has no code (write the code in body, or the file in body_ref)"},
		{"wasm", func(p *spicepod.Pod) { p.Sandboxes[0].Runtime = spicepod.RuntimeWASM }, "sandbox default is for wasm (write from: wasm)"},
		{"a syntax error", func(p *spicepod.Pod) { p.Functions[0].Body = "def f(x):\n  return (" }, "syntax error: '(' was never closed"},
		{"another entry point", func(p *spicepod.Pod) { p.Functions[0].Body = "def g(x): return x" }, "the code has no function f (write entrypoint: with one of g)"},
		{"a script without interpreter", func(p *spicepod.Pod) {
			p.Sandboxes[0].Runtime = spicepod.RuntimeCommand
		}, "the script does not name its interpreter (begin it with a line such as #!/bin/sh)"},
		{"a program that is not there", func(p *spicepod.Pod) {
			p.Sandboxes[0].Runtime, p.Functions[0].Body = spicepod.RuntimeCommand, ""
			p.Functions[0].Params = spicepod.Params{"command": spicepod.Text{Raw: "nosuchprogram -x"}}
		}, `there is no program "nosuchprogram"`},
		{"an unknown format", func(p *spicepod.Pod) {
			p.Functions[0].Params = spicepod.Params{"format": spicepod.Text{Raw: "csv"}}
		}, `params.format must be arrow, got "csv" (write arrow, or leave it out)`},
		{"a format of programs", func(p *spicepod.Pod) {
			p.Sandboxes[0].Runtime = spicepod.RuntimeCommand
			p.Functions[0].Params = spicepod.Params{"format": spicepod.Text{Raw: "csv"}}
		}, `params.format must be arrow or json, got "csv"`},
		{"a program that is no executable", func(p *spicepod.Pod) {
			p.Dir = t.TempDir()
			if err := os.WriteFile(p.Dir+"/run.sh", []byte("#!/bin/sh\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			p.Sandboxes[0].Runtime, p.Functions[0].Body = spicepod.RuntimeCommand, ""
			p.Functions[0].Params = spicepod.Params{"command": spicepod.Text{Raw: "./run.sh -x"}}
		}, `"./run.sh" cannot be executed (run: chmod +x ./run.sh)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := &spicepod.Pod{Sandboxes: []spicepod.Sandbox{inSandbox(spicepod.RuntimePython)}, Functions: []spicepod.Function{function("f", good)}}
			c.change(pod)
			_, err := made(t, options(t), pod, 0)
			var problem spicepod.Problem
			if !errors.As(err, &problem) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// An endless loop at the top of the code is named with its place.
func TestLoadTakesTooLong(t *testing.T) {
	pod, err := spicepod.LoadText("spicepod.yaml",
		"version: v1\nkind: Spicepod\nname: t\nruntime: { functions: { enabled: true } }\nfunctions:\n  - name: f\n    from: exec\n    signature: { args: [{ name: "+
			"x, type: int64 }], returns: int64 }\n    body: |\n      while True: pass\n", nil, exec.Kind.BodyKind)
	if err != nil {
		t.Fatal(err)
	}
	o := options(t)
	o.Load = 200 * time.Millisecond
	_, err = made(t, o, pod, 0)
	if err == nil || !strings.Contains(err.Error(), "spicepod.yaml:10") ||
		!strings.Contains(err.Error(), "the code took longer than 200ms to load (do in the function") {
		t.Error(err)
	}
}

// A function that takes Arrow needs pyarrow.
func TestArrowWithoutPyarrow(t *testing.T) {
	o := options(t)
	if osexec.Command("python3", "-c", "import pyarrow").Run() == nil {
		t.Skip("the system's Python has pyarrow")
	}
	pod := &spicepod.Pod{Functions: []spicepod.Function{function("f", "def f(x): return x")}}
	pod.Functions[0].Params = spicepod.Params{"format": spicepod.Text{Raw: "arrow"}}
	_, err := made(t, o, pod, 0)
	if err == nil || !strings.Contains(err.Error(), "No module named 'pyarrow' (add pyarrow to dependencies: params.format: arrow needs it)") {
		t.Error(err)
	}
}

// A program may exchange Arrow IPC streams.
func TestArrowCommands(t *testing.T) {
	values, _, err := array.FromJSON(memory.DefaultAllocator, arrow.PrimitiveTypes.Int64, strings.NewReader("[7,null]"))
	if err != nil {
		t.Fatal(err)
	}
	var stream bytes.Buffer
	err = arrowipc.Encode(&stream,
		array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil), []arrow.Array{values}, 2))
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\nread -r line\ncase $line in *bytes*) echo '{\"bytes\": %d}'; base64 -d <<X\n%s\nX\nesac\n", stream.Len(),
		base64.StdEncoding.EncodeToString(stream.Bytes()))
	pod := &spicepod.Pod{
		Sandboxes: []spicepod.Sandbox{inSandbox(spicepod.RuntimeCommand)},
		Functions: []spicepod.Function{function("f", script)},
	}
	pod.Functions[0].Params = spicepod.Params{"format": spicepod.Text{Raw: "arrow"}}
	b, err := made(t, options(t), pod, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if got, err := callOf(t, b, "[5,6]"); err != nil || got != "[7,null]" {
		t.Error(got, err)
	}
}

func TestCommands(t *testing.T) {
	script := "#!/bin/sh\nwhile read -r line; do echo '{\"values\": [1, null]}'; done\n"
	pod := &spicepod.Pod{
		Sandboxes: []spicepod.Sandbox{inSandbox(spicepod.RuntimeCommand)},
		Functions: []spicepod.Function{function("f", script)},
	}
	b, err := made(t, options(t), pod, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if got, err := callOf(t, b, "[5,6]"); err != nil || got != "[1,null]" {
		t.Error(got, err)
	}
}
