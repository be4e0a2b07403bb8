package wasm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"go.uber.org/goleak"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/bodies/body"
	"github.com/spiced-sql/spiced/internal/bodies/environment"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/internal/test/arrowtest"
	"github.com/spiced-sql/spiced/spicepod"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pod loads a Spicepod with these functions, next to the modules of testdata.
func pod(t testing.TB, text string) *spicepod.Pod {
	t.Helper()
	dir := t.TempDir()
	modules, err := filepath.Glob("testdata/*.wasm")
	if err != nil || len(modules) == 0 {
		t.Fatal("no modules", err)
	}
	for _, m := range modules {
		data, err := os.ReadFile(m)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(m)), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files := broken()
	files[".env"] = []byte("KEY=hunter2\nOTHER=no\n")
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "spicepod.yaml")
	if err := os.WriteFile(file, []byte("version: v1\nkind: Spicepod\nname: test\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := spicepod.Load(file, Kind.BodyKind)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// broken are modules that cannot be loaded.
func broken() map[string][]byte {
	const (
		types  = "\x01\x09\x01\x60\x04\x7F\x7F\x7F\x7F\x01\x7E" // (i32, i32, i32, i32) -> i64
		one    = "\x03\x02\x01\x00"
		entry  = "\x0Fspice_transform\x00"
		memory = "\x05\x03\x01\x00\x01"
	)
	text := func(sections ...string) []byte {
		return []byte("\x00asm\x01\x00\x00\x00" + strings.Join(sections, ""))
	}
	code := "\x0A\x06\x01\x04\x00\x42\x00\x0B"
	return map[string][]byte{
		"text.wasm":      []byte("(module)"),
		"truncated.wasm": text(types, "\x03\x09"),
		"imports.wasm":   text(types, "\x02\x0B\x01\x03env\x03now\x00\x00"),
		"nomemory.wasm":  text(types, one, "\x07\x13\x01"+entry+"\x00", code),
		"noalloc.wasm":   text(types, one, memory, "\x07\x1C\x02"+entry+"\x00\x06memory\x02\x00", code),
		"invalid.wasm":   text("\x01\x05\x01\x60\x00\x01\x7E", one, "\x07\x07\x01\x03run\x00\x00", "\x0A\x05\x01\x03\x00\x1A\x0B"),
		"locals.wasm":    []byte(generated(1, "\x01"+uvarint(4_000_000_000)+"\x7E", "")),
	}
}

// specOf returns the specification of a declared function.
func specOf(t testing.TB, p *spicepod.Pod, i int) body.Spec {
	t.Helper()
	f := p.Functions[i]
	spec := body.Spec{Pod: p, Path: fmt.Sprintf("functions[%d]", i), Declared: f, Checksum: spicepod.Fingerprint(f)}
	for i, s := range p.Sandboxes {
		if s.Name == f.Sandbox {
			spec.Environment = &environment.Environment{Name: s.Name, Declared: s, Path: fmt.Sprintf("sandboxes[%d]", i)}
		}
	}
	var fields []arrow.Field
	for _, table := range f.Signature.Tables {
		fields = append(fields, arrow.Field{Name: table.Name, Type: rows(t, table.Columns), Nullable: true})
	}
	for _, a := range f.Signature.Args {
		fields = append(fields, arrow.Field{Name: a.Name, Type: typeOf(t, a.Type), Nullable: true})
	}
	spec.Args = arrow.NewSchema(fields, nil)
	if f.Kind == spicepod.KindTable {
		spec.Returns = rows(t, f.Signature.Returns.Columns)
	} else {
		spec.Returns = typeOf(t, f.Signature.Returns.Type)
	}
	return spec
}

func typeOf(t testing.TB, text string) arrow.DataType {
	t.Helper()
	typ, err := functions.ParseType(text)
	if err != nil {
		t.Fatal(err)
	}
	return format.ArrowType(typ.Duck())
}

func rows(t testing.TB, columns []spicepod.Column) arrow.DataType {
	t.Helper()
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: c.Name, Type: typeOf(t, c.Type), Nullable: true}
	}
	return arrow.ListOf(arrow.StructOf(fields...))
}

// made makes the body of a function.
func made(t testing.TB, spec body.Spec, m Maker) (*Body, error) {
	t.Helper()
	b, err := m.New(t.Context(), spec)
	own, _ := b.(*Body)
	return own, err
}

// function is a function of the tests: its declaration in one line, without its name.
func function(t testing.TB, declaration string) *Body {
	t.Helper()
	b, err := made(t, specOf(t, pod(t, "functions:\n- {name: f, from: wasm, "+declaration+"}\n"), 0), Maker{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// call calls a function with JSON rows and returns its values as JSON.
func call(t testing.TB, b *Body, rows string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	a, err := b.Call(ctx, arrowtest.Batch(t, b.spec.Args, rows))
	if err != nil {
		return "", err
	}
	if !arrow.TypeEqual(a.DataType(), b.spec.Returns) {
		t.Fatalf("the values have the type %s, want %s", a.DataType(), b.spec.Returns)
	}
	if a.NullN() > a.Len() {
		t.Fatalf("%d of %d values are NULL", a.NullN(), a.Len())
	}
	text, err := a.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\n", ""), nil
}
