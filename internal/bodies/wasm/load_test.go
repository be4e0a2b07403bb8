package wasm

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/spicepod"
)

func TestProblemsOfLoad(t *testing.T) {
	for _, c := range []struct{ name, declaration, want string }{
		{"no module", number, "5:3: WASM function requires one of `params.module` or `body_ref` (write body_ref: and the path of a .wasm file)"},
		{
			"unknown export", "body_ref: numbers.wasm, entrypoint: ad, " + two,
			`5:61: failed to get WASM export 'ad': the module exports no function of that name (did you mean "add"?)`,
		},
		{
			"unknown export of params", "params: {module: numbers.wasm, entrypoint: additions}, " + two,
			"5:68: failed to get WASM export 'additions': the module exports no function of that name (the module exports add, answer, branch, count, dive, divide, " +
				"double, half and 4 more)",
		},
		{
			"no default export", "body_ref: numbers.wasm, " + two,
			"5:35: failed to get WASM export 'f': the module exports no function of that name (the module exports add, answer",
		},
		{
			"two entry points", "body_ref: numbers.wasm, entrypoint: add, params: {entrypoint: half}, " + two,
			`5:87: params.entrypoint is "half", and entrypoint is "add" (write one of them)`,
		},
		{
			"another type", "body_ref: numbers.wasm, entrypoint: add, signature: {args: [{name: a, type: int64}], returns: int64}",
			"5:35: failed to get WASM export 'add': its type is (i64, i64) -> i64, which does not fit the signature (a function of Arrow data has the type (i32, i32, " +
				"i32, i32) -> i64; one of these numbers (i64) -> i64)",
		},
		{
			"a table of numbers", "body_ref: numbers.wasm, entrypoint: add, kind: table, signature: {args: [{name: a, type: int64}, {name: b, type: int64}], returns: " +
				"[{name: x, type: int64}]}",
			"5:35: failed to get WASM export 'add': its type is (i64, i64) -> i64, which does not fit the signature (a function of Arrow data has the type (i32, i32, " +
				"i32, i32) -> i64)",
		},
		{
			"another type of Arrow", "body_ref: hostile.wasm, entrypoint: wrong, " + number,
			"5:35: failed to get WASM export 'wrong': its type is (i32) -> i32, which does not fit the signature",
		},
		{"unknown param", "params: {module: arrow.wasm, feul: 7}, " + number, `5:54: unknown param "feul" of a function from wasm (did you mean "fuel"?`},
		{"no fuel", "params: {module: arrow.wasm, fuel: 0}, " + number, "5:60: params.fuel takes 1 to "},
		{"source", "params: {source: lib.rs}, " + number, "5:42: params.source is not served (compile the source, and name the module in params.module)"},
		{
			"input_table", "params: {module: arrow.wasm, input_table: t}, " + number,
			"5:67: params.input_table is not served (declare the table in signature.tables and pass it in the call, or from a SQL function)",
		},
		{
			"too many tables", "body_ref: arrow.wasm, kind: table, signature: {tables: [{name: a, columns: [{name: x, type: int64}]}, {name: b, columns: [{name: x, " +
				"type: int64}]}], returns: [{name: x, type: int64}]}",
			"5:127: WASM functions support at most one declared input table for now",
		},
		{
			"a type that cannot be returned", "body_ref: arrow.wasm, signature: {args: [], returns: \"union(a int64)\"}",
			"5:78: values of the type sparse_union<a: type=int64",
		},
		{"a memory that is too large", "body_ref: arrow.wasm, params: {max_memory_bytes: 65536}, " + number, "5:35: the module starts with a memory of "},
		{"a table that is too large", "body_ref: arrow.wasm, params: {max_table_elements: 1}, " + number, "5:35: the module starts with a table of "},
		{
			"imports", "body_ref: imports.wasm, " + number,
			"5:35: the module imports env.now; a module of a function gets no imports (compile it for wasm32-unknown-unknown",
		},
		{"no memory", "body_ref: nomemory.wasm, entrypoint: spice_transform, " + number, "5:35: WASM module is missing exported memory named `memory`"},
		{
			"no allocator", "body_ref: noalloc.wasm, entrypoint: spice_transform, " + number,
			"5:35: failed to get WASM export 'spice_alloc': the module exports no function of that name (the module exports spice_transform)",
		},
		{
			"text", "body_ref: text.wasm, " + number,
			`5:35: failed to compile WASM module 'text.wasm': the file is not a WebAssembly module: it does not begin with \0asm (compile it again for wasm32)`,
		},
		{
			"truncated", "body_ref: truncated.wasm, " + number,
			"5:35: failed to compile WASM module 'truncated.wasm': the module is not valid: unexpected end at byte ",
		},
		{"invalid code", "body_ref: invalid.wasm, entrypoint: run, signature: {returns: int64}", "5:35: failed to compile WASM module 'invalid.wasm': "},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := pod(t, "functions:\n- {name: f, from: wasm, "+c.declaration+"}\n")
			b, err := made(t, specOf(t, p, 0), Maker{})
			var problems spicepod.Problems
			if !errors.As(err, &problems) {
				t.Fatalf("got %v, %v", b, err)
			}
			got, _ := strings.CutPrefix(problems[0].Error(), "spicepod.yaml:")
			if got = strings.Replace(got, "function f: ", "", 1); !strings.HasPrefix(got, c.want) {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestCache(t *testing.T) {
	spec := specOf(t, pod(t, "functions:\n- {name: f, from: wasm, body_ref: arrow.wasm, "+number+"}\n"), 0)
	folder := t.TempDir()
	open := func() {
		t.Helper()
		b, err := made(t, spec, Maker{Cache: folder})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		if got, err := call(t, b, `[{"x": 1}]`); err != nil || got != "[2]" {
			t.Fatalf("got %s, %v", got, err)
		}
	}
	files := func() (list []string) {
		_ = filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				list = append(list, path)
			}
			return err
		})
		return list
	}
	open()
	list := files()
	if len(list) != 2 {
		t.Fatalf("files %q", list)
	}
	whole := map[string][]byte{}
	for _, f := range list {
		whole[f], _ = os.ReadFile(f)
	}
	info, _ := os.Stat(list[0])
	open()
	if again, _ := os.Stat(list[0]); again.ModTime() != info.ModTime() {
		t.Error("a whole entry was written again")
	}
	for name, damage := range map[string]func(f string, data []byte) error{
		"a changed byte": func(f string, data []byte) error {
			changed := append([]byte(nil), data...)
			changed[40] ^= 0xFF
			return os.WriteFile(f, changed, 0o600)
		},
		"an empty file": func(f string, _ []byte) error { return os.WriteFile(f, nil, 0o600) },
		"half a file":   func(f string, data []byte) error { return os.WriteFile(f, data[:len(data)/2], 0o600) },
		"no file":       func(f string, _ []byte) error { return os.Remove(f) },
	} {
		for _, f := range list {
			if err := damage(f, whole[f]); err != nil {
				t.Fatal(err)
			}
			open()
			for f, want := range whole {
				if got, err := os.ReadFile(f); err != nil || string(got) != string(want) {
					t.Errorf("%s: %s is not as before: %v", name, filepath.Base(f), err)
				}
			}
		}
	}
}

func TestCacheThatCannotBeUsed(t *testing.T) {
	spec := specOf(t, pod(t, "functions:\n- {name: f, from: wasm, body_ref: arrow.wasm, "+number+"}\n"), 0)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := made(t, spec, Maker{Cache: file})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if got, err := call(t, b, `[{"x": 1}]`); err != nil || got != "[2]" {
		t.Fatalf("got %s, %v", got, err)
	}
}

func TestPrune(t *testing.T) {
	folder := t.TempDir()
	for i := range maxCached + 3 {
		if err := os.Mkdir(filepath.Join(folder, string(rune('a'+i%26))+strings.Repeat("x", i/26)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	prune(folder)
	if entries, _ := os.ReadDir(folder); len(entries) != maxCached {
		t.Errorf("%d entries are left, want %d", len(entries), maxCached)
	}
}
