package main

import (
	"strings"
	"testing"
)

const testedPod = podHead + `datasets:
  - { name: k, from: "file:k.csv" }
functions:
  - name: g
    from: sql
    signature: { args: [{ name: x, type: int64 }], returns: int64 }
    body: x + (SELECT count(*) FROM k)
  - name: f
    from: sql
    signature: { args: [{ name: x, type: int64 }], returns: int64 }
    body: g(x) * 10
    tests:
      - { name: rows, args: { x: 0 }, returns: 20 }
      - { args: { x: 9223372036854775807 }, error: execution_error }
  - name: untested
    from: sql
    signature: { returns: int64 }
    body: "1"
`

// TestFunctionTestsOverHTTP: the tests run again on the data of now, and change nothing.
func TestFunctionTestsOverHTTP(t *testing.T) {
	t.Parallel()
	dir := folder(t, "spicepod.yaml", testedPod, "k.csv", numbersCSV)
	p := start(t, dir)
	p.want(p.do("POST", "/v1/functions/f:test", ""), 200, `{"name":"rows","passed":true,`, `{"name":"test 2","passed":true,`, `"line":`)
	write(t, dir+"/k.csv", numbersCSV+"3,c\n")
	failed := p.do("POST", "/v1/functions/f:test", "")
	p.want(failed, 200, `{"name":"rows","passed":false,"message":"want 20, got 30`, `{"name":"test 2","passed":true,`)
	p.want(p.do("POST", "/v1/functions/untested:test", ""), 200, "[]")
	const counts = "SELECT string_agg(name || ' ' || tests, ', ' ORDER BY name) AS t FROM spiced.functions"
	if got := p.sql(counts); got != `[{"t":"f 2, g 0, untested 0"}]` {
		t.Errorf("tests: %s", got)
	}
	p.want(p.do("GET", "/v1/functions", ""), 200, `"tests":2,`)
	p.want(p.do("POST", "/v1/functions/untestd:test", ""), 404, `did you mean \"untested\"?`)
	if got := p.sql("SELECT f(0) AS y, (SELECT count(*) FROM spiced.load_errors) AS n"); got != `[{"y":30,"n":0}]` {
		t.Errorf("what is served has changed: %s", got)
	}
	// An edit of the tests alone.
	write(t, dir+"/k.csv", numbersCSV)
	write(t, dir+"/spicepod.yaml", strings.Replace(testedPod, "    tests:\n", "    tests:\n      - { args: { x: 1 }, returns: 30 }\n", 1))
	p.eventually("to have three tests", func() bool { return strings.Contains(p.sql(counts), "f 3, g 0") })
	p.want(p.do("GET", "/v1/functions", ""), 200, `"tests":3,`)
}

// TestTestsOfHiddenFunctions: who does not see a function cannot test it, nor learn of it.
func TestTestsOfHiddenFunctions(t *testing.T) {
	t.Parallel()
	pod := strings.NewReplacer("bob-key-0123456789-0123456789-012345", "bob-key-0123456789-0123456789-012345:rw").Replace(availablePod)
	p := start(t, folder(t, "spicepod.yaml", pod))
	for _, name := range []string{"refundify", "refundif"} {
		r := p.do("POST", "/v1/functions/"+name+":test", "", keyOf("bob")...)
		p.want(r, 404, "function_not_found")
		unseen(t, "the answer", name, r.body)
	}
	p.want(p.do("POST", "/v1/functions/public_fee:test", "", keyOf("bob")...), 200, "[]")
}
