package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// wasmPod has functions whose bodies are WebAssembly modules.
const wasmPod = `version: v1
kind: Spicepod
name: wasm
runtime:
  functions: { enabled: true }
  query: { isolation: none }
functions:
  - name: bump
    from: wasm
    description: Adds a constant to a number.
    signature: { args: [{ name: x, type: int64 }], returns: int64 }
    body_ref: bump.wasm
    tests: [{ args: { x: null }, returns: null }]
  - name: shout
    from: wasm
    description: Makes a text loud.
    volatility: immutable
    signature: { args: [{ name: s, type: utf8 }], returns: utf8 }
    params: { module: arrow.wasm }
    tests: [{ args: { s: hey }, returns: HEY! }]
  - name: words
    from: wasm
    kind: table
    entrypoint: tokens
    signature:
      tables: [{ name: input, columns: [{ name: doc, type: utf8 }] }]
      args: [{ name: least, type: int64 }]
      returns: [{ name: token, type: utf8 }, { name: position, type: int64 }]
    body_ref: arrow.wasm
  - name: spin
    from: wasm
    signature: { args: [{ name: x, type: int64 }], returns: int64 }
    body_ref: numbers.wasm
    params: { fuel: 1000000000000000 }
    limits: { timeout: 200ms }
  - name: wrong
    from: wasm
    entrypoint: bmup
    signature: { args: [{ name: x, type: int64 }], returns: int64 }
    body_ref: bump.wasm
`

// bumpModule is a module with a function bump that adds n.
func bumpModule(n byte) string {
	return "\x00asm\x01\x00\x00\x00" + // (func (export "bump") (param i64) (result i64)
		"\x01\x06\x01\x60\x01\x7E\x01\x7E" + "\x03\x02\x01\x00" + "\x07\x08\x01\x04bump\x00\x00" +
		"\x0A\x09\x01\x07\x00\x20\x00\x42" + string(rune(n)) + "\x7C\x0B" // (i64.add (local.get 0) (i64.const n)))
}

func TestModules(t *testing.T) {
	t.Parallel()
	dir := folder(t, "spicepod.yaml", wasmPod, "bump.wasm", bumpModule(1))
	for _, name := range []string{"arrow.wasm", "numbers.wasm"} {
		data, err := os.ReadFile(filepath.Join("../../internal/bodies/wasm/testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), string(data))
	}
	p := start(t, dir)
	for statement, want := range map[string]string{
		"SELECT bump(41) AS x, bump(NULL) AS y, shout('hey') AS s":                               `[{"x":42,"y":null,"s":"HEY!"}]`,
		"SELECT count(*) AS n, sum(bump(i)) AS s FROM range(100000) t(i)":                        `[{"n":100000,"s":5000050000}]`,
		"FROM words((SELECT unnest(['a bc', 'def']) AS doc), 2) ORDER BY token":                  `[{"token":"bc","position":1},{"token":"def","position":0}]`,
		"SELECT shout(NULL) AS a, shout('') AS b, shout(repeat('x', 3)) AS c FROM range(1) t(i)": `[{"a":null,"b":"!","c":"XXX!"}]`,
	} {
		if got := p.sql(statement); got != want {
			t.Errorf("%s\ngot %s\nwant %s", statement, got, want)
		}
	}
	p.want(p.do("POST", "/v1/tools/bump:invoke", `{"args":{"x":4}}`), 200, `"ok":true`, `"result":5`)
	p.want(p.do("POST", "/v1/sql", "SELECT spin(1)"), 504, "a call took longer than 200ms")
	p.want(p.do("POST", "/v1/sql", "SELECT wrong(1)"), 400, "failed to get WASM export 'bmup'", "spicepod.yaml:38:", `did you mean "bump"?`)

	write(t, filepath.Join(dir, "bump.wasm"), bumpModule(2))
	p.eventually("serves the changed module", func() bool { return p.sql("SELECT bump(40) AS x") == `[{"x":42}]` })
	write(t, filepath.Join(dir, "bump.wasm"), "(module)")
	p.eventually("reports the wrong module", func() bool {
		return strings.Contains(p.log.String(), "failed to compile WASM module 'bump.wasm': the file is not a WebAssembly module")
	})
	if got := p.sql("SELECT bump(40) AS x"); got != `[{"x":42}]` {
		t.Errorf("the last good module gives %s", got)
	}
	write(t, filepath.Join(dir, "bump.wasm"), bumpModule(3))
	p.eventually("serves the corrected module", func() bool { return p.sql("SELECT bump(40) AS x") == `[{"x":43}]` })
}
