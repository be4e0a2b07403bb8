package wasm

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/spicepod"
)

func uvarint(n int) string { return string(binary.AppendUvarint(nil, uint64(n))) }

func sectionOf(id byte, payload string) string {
	return string([]byte{id}) + uvarint(len(payload)) + payload
}

// generated returns a module that exports run, (i64) -> i64, with these locals and this
// code before it returns its argument, in functions that are equal.
func generated(functions int, locals, code string, sections ...string) string {
	body := locals + code + "\x20\x00\x0B"
	parts := []string{
		sectionOf(sectionType, "\x01\x60\x01\x7E\x01\x7E"),
		sectionOf(sectionFunction, uvarint(functions)+strings.Repeat("\x00", functions)),
		sectionOf(sectionExport, "\x01\x03run\x00\x00"),
		sectionOf(sectionCode, uvarint(functions)+strings.Repeat(uvarint(len(body))+body, functions)),
	}
	for _, s := range sections {
		at := 0
		for at < len(parts) && orderOf(parts[at][0]) < orderOf(s[0]) {
			at++
		}
		if at < len(parts) && parts[at][0] == s[0] {
			parts[at] = s
			continue
		}
		parts = append(parts[:at], append([]string{s}, parts[at:]...)...)
	}
	return "\x00asm\x01\x00\x00\x00" + strings.Join(parts, "")
}

func TestLimits(t *testing.T) {
	const none, read = "\x00", "\x20\x00\xA7" // local.get, i32.wrap_i64
	rep := strings.Repeat
	all := "\xFF\xFF\xFF\xFF\x0F" // 2³²-1
	local := func(n int) string { return "\x01" + uvarint(n) + "\x7E" }
	for _, c := range []struct{ name, module, want string }{
		{"locals", generated(1, local(4_000_000_000), ""), "function 0 has 4000000001 locals; at most 50000 are allowed"},
		{"groups of locals", generated(1, "\x02"+all+"\x7E"+all+"\x7E", ""), "function 0 has 8589934591 locals; at most 50000 are allowed"},
		{"all locals", generated(300, local(49_000), ""), "the module has 10045205 locals; at most 10000000 are allowed"},
		{"code", generated(1, none, rep("\x01", maxCode)), "function 0 has 1048580 bytes of code; at most 1048576 are allowed"},
		{"nested blocks", generated(1, none, rep("\x02\x40", 200_000)+rep("\x0B", 200_000)), "function 0 has 200000 nested blocks; at most 1000 are allowed"},
		{"nested loops", generated(1, none, rep("\x03\x40", 1001)+rep("\x0B", 1001)), "function 0 has 1001 nested blocks; at most 1000 are allowed"},
		{"blocks", generated(1, none, rep(read+"\x04\x40\x0B", 5001)), "function 0 has 5001 blocks; at most 5000 are allowed"},
		{"loops", generated(1, none, rep("\x03\x40\x0B", 2001)), "function 0 has 2001 loops; at most 2000 are allowed"},
		{"branches", generated(1, none, "\x02\x40"+rep(read+"\x0D\x00", 10_001)+"\x0B"), "function 0 has 10001 branches; at most 10000 are allowed"},
		{
			"targets", generated(1, none, "\x02\x40"+read+"\x0E"+uvarint(10_000)+rep("\x00", 10_001)+"\x0B"),
			"function 0 has 10001 branches; at most 10000 are allowed",
		},
		{
			"locals in loops", generated(1, local(999), rep("\x03\x40", 21)+rep("\x0B", 21)),
			"function 0 has 21000 values in loops (21 loops × 1000 locals); at most 20000 are allowed",
		},
		{
			"locals in branches", generated(1, local(999), rep("\x02\x40\x0C\x00\x0B", 201)),
			"function 0 has 402000 values in branches (402 blocks and branches × 1000 locals); at most 400000 are allowed",
		},
		{
			"values of blocks", generated(1, none, rep("\x03\x01\x0B", 41),
				sectionOf(sectionType, "\x02\x60\x01\x7E\x01\x7E\x60"+uvarint(500)+rep("\x7E", 500)+uvarint(500)+rep("\x7E", 500))),
			"function 0 has 41041 values in loops (41 loops × 1001 locals); at most 20000 are allowed",
		},
		{
			"work", generated(30, none, rep("\x03\x40\x0B", 2000)),
			"the module takes too long to compile: the blocks, branches and locals of its first 25 functions are ",
		},
		{
			"work of branches", generated(40, local(990), rep("\x02\x40\x0C\x00\x0B", 195)),
			"the module takes too long to compile: the blocks, branches and locals of its first 19 functions are ",
		},
		{
			"params", generated(1, none, "", sectionOf(sectionType, "\x01\x60"+uvarint(1001)+rep("\x7E", 1001)+"\x00")),
			"a type has 1001 params; at most 1000 are allowed",
		},
		{
			"results", generated(1, none, "", sectionOf(sectionType, "\x01\x60\x00"+uvarint(1001)+rep("\x7E", 1001))),
			"a type has 1001 results; at most 1000 are allowed",
		},
		{"types", generated(1, none, "", sectionOf(sectionType, all)), "the module has 4294967295 types; at most 100000 are allowed"},
		{"imports", generated(1, none, "", sectionOf(sectionImport, all)), "the module has 4294967295 imports; at most 100000 are allowed"},
		{"functions", generated(1, none, "", sectionOf(sectionFunction, all)), "the module has 4294967295 functions; at most 100000 are allowed"},
		{"tables", generated(1, none, "", sectionOf(sectionTable, "\x0B"+rep("\x70\x00\x01", 11))), "the module has 11 tables; at most 10 are allowed"},
		{"memories", generated(1, none, "", sectionOf(sectionMemory, "\x02\x00\x01\x00\x01")), "the module has 2 memories; at most 1 are allowed"},
		{"globals", generated(1, none, "", sectionOf(sectionGlobal, all)), "the module has 4294967295 globals; at most 100000 are allowed"},
		{"exports", generated(1, none, "", sectionOf(sectionExport, all)), "the module has 4294967295 exports; at most 100000 are allowed"},
		{"element segments", generated(1, none, "", sectionOf(sectionElement, all)), "the module has 4294967295 element segments; at most 100000 are allowed"},
		{"elements", generated(1, none, "", sectionOf(sectionElement, "\x01\x01\x00"+all)), "the module is not valid: unexpected end at byte "},
		{"data segments", generated(1, none, "", sectionOf(sectionData, all)), "the module has 4294967295 data segments; at most 100000 are allowed"},
		{"data", generated(1, none, "", sectionOf(sectionData, "\x01\x01"+all)), "the module is not valid: unexpected end at byte "},
		{
			"more code", generated(1, none, "", sectionOf(sectionCode, "\x02\x04\x00\x20\x00\x0B\x04\x00\x20\x00\x0B")),
			"the module is not valid: more code than functions at byte ",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := parseModule([]byte(c.module))
			if err == nil {
				_, err = m.meter(1, 1)
			}
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Fatalf("got %v, want %s", err, c.want)
			}
		})
	}
}

// TestLimitsAtLoad: the error is at the reference to the module.
func TestLimitsAtLoad(t *testing.T) {
	p := pod(t, "functions:\n- {name: f, from: wasm, body_ref: locals.wasm, entrypoint: run, "+number+"}\n")
	_, err := made(t, specOf(t, p, 0), Maker{})
	const want = "5:35: function f: failed to compile WASM module 'locals.wasm': function 0 has 4000000001 locals; at most 50000 are allowed"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestWithinLimits: what is just allowed can be compiled and runs.
func TestWithinLimits(t *testing.T) {
	dir := t.TempDir()
	module := generated(2, "\x01"+uvarint(2)+"\x7E", strings.Repeat("\x02\x40", maxDepth)+strings.Repeat("\x0B", maxDepth),
		sectionOf(sectionMemory, "\x01\x00\x01"), sectionOf(sectionData, "\x02\x00\x41\x00\x0B\x01a\x01\x01b"))
	for name, data := range map[string]string{
		"f.wasm":        module,
		"spicepod.yaml": "version: v1\nkind: Spicepod\nname: test\nfunctions:\n- {name: f, from: wasm, body_ref: f.wasm, entrypoint: run, " + number + "}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := spicepod.Load(filepath.Join(dir, "spicepod.yaml"), Kind.BodyKind)
	if err != nil {
		t.Fatal(err)
	}
	b, err := made(t, specOf(t, p, 0), Maker{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if got, err := call(t, b, `[{"x": 7}]`); err != nil || got != "[7]" {
		t.Errorf("got %s, %v", got, err)
	}
}
