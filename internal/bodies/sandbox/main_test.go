package sandbox_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/spiced-sql/spiced/internal/bodies/sandbox"
	"github.com/spiced-sql/spiced/spicepod"
)

// TestMain is a worker, if a variable of the environment is set.
func TestMain(m *testing.M) {
	if os.Getenv("SPICED_SANDBOX") != "" {
		fmt.Fprintln(os.Stderr, sandbox.Main())
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// patience is the time limit of a call that should work.
const patience = 60 * time.Second

// options are those of a pool of Python workers.
func options(t testing.TB) sandbox.Options {
	t.Helper()
	python, err := findPython(t.Context(), "")
	if err != nil {
		t.Skip(err)
	}
	return withLimits(sandbox.Options{
		Name: "test", Command: sandbox.PythonCommand(python.Path), ReadOnly: python.ReadOnly, Shim: []string{os.Args[0]},
		Workers: 1,
	})
}

// withLimits returns options with the default limits of a Spicepod, where o has none.
func withLimits(o sandbox.Options) sandbox.Options {
	limits := spicepod.Defaults[spicepod.SandboxLimits]()
	o.Memory, o.CPU = cmp.Or(o.Memory, int64(limits.Memory)), cmp.Or(o.CPU, limits.CPU)
	o.Processes, o.Workers = cmp.Or(o.Processes, limits.Processes), cmp.Or(o.Workers, limits.Workers)
	o.Output = cmp.Or(o.Output, int64(limits.Output))
	return o
}

func newPool(t testing.TB, o sandbox.Options) *sandbox.Pool {
	t.Helper()
	p, err := sandbox.New(withLimits(o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// column is an argument in a test.
type column struct {
	name   string
	typ    arrow.DataType
	values string // as JSON
}

func batchOf(t testing.TB, columns ...column) arrow.RecordBatch {
	t.Helper()
	fields, arrays, rows := []arrow.Field{}, []arrow.Array{}, int64(1)
	for _, c := range columns {
		values, _, err := array.FromJSON(memory.DefaultAllocator, c.typ, stringReader(c.values))
		if err != nil {
			t.Fatal(c.name, err)
		}
		fields, arrays, rows = append(fields, arrow.Field{Name: c.name, Type: c.typ, Nullable: true}), append(arrays, values), int64(values.Len())
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, rows)
}

func function(t testing.TB, source string, returns arrow.DataType, batch arrow.RecordBatch) *sandbox.Function {
	t.Helper()
	f, err := sandbox.NewFunction(sandbox.Declaration{Name: "f", Source: source, File: "f.py", Entrypoint: "f", Args: batch.Schema(), Returns: returns}, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// call calls a function and returns its values as JSON.
func call(t testing.TB, p *sandbox.Pool, source string, returns arrow.DataType, columns ...column) (string, error) {
	t.Helper()
	batch := batchOf(t, columns...)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	values, err := p.Call(ctx, function(t, source, returns, batch), batch)
	if err != nil {
		return "", err
	}
	defer values.Release()
	text, err := values.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\n", ""), nil
}

// indent indents the lines of code.
func indent(s string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.Trim(s, "\n") + "\n") {
		b.WriteString("    " + line)
	}
	return b.String()
}
