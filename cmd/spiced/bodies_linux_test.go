package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// startService starts the service of examples/bodies on a free port, until the test ends, and
// returns its address.
func startService(t *testing.T, dir string) string {
	t.Helper()
	cmd := exec.Command("python3", "service.py", "0")
	cmd.Dir = dir
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on http://")
	if !ok {
		t.Fatalf("the service printed %q: %v", line, err)
	}
	return address
}

// startBodies serves examples/bodies with changes: old and new texts in turn.
func startBodies(t *testing.T, changes ...string) *program {
	t.Helper()
	needsIsolation(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../examples/bodies")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "spicepod.yaml")
	write(t, path, strings.NewReplacer(append(changes, "127.0.0.1:8099", startService(t, dir))...).Replace(read(t, path)))
	return start(t, dir)
}

// bodiesTools are the functions of examples/bodies.
var bodiesTools = []string{"luhn_sql", "luhn_python", "luhn_wasm", "luhn_http"}

// TestJobsOfAllBodies runs functions in SQL, Python, WebAssembly and of a service as jobs.
func TestJobsOfAllBodies(t *testing.T) {
	t.Parallel()
	p := startBodies(t, "    volatility:", "    async: true\n    volatility:")
	for _, tool := range bodiesTools {
		p.wantJob(tool, `{"number":79927398713}`, `[{"result":true}]`)
		p.wantJob(tool, `{"number":79927398714}`, `[{"result":false}]`)
	}
}

// TestBodiesAgree calls the function of examples/bodies in SQL, Python, WebAssembly and a
// service.
func TestBodiesAgree(t *testing.T) {
	t.Parallel()
	p := startBodies(t)
	const differ = `luhn_sql(n) IS DISTINCT FROM luhn_python(n) OR luhn_sql(n) IS DISTINCT FROM luhn_wasm(n) OR luhn_sql(n) IS DISTINCT FROM luhn_http(n)`
	for statement, want := range map[string]string{
		"SELECT luhn_sql(n) AS s, luhn_python(n) AS p, luhn_wasm(n) AS w, luhn_http(n) AS h FROM (VALUES (4539578763621486), (4539578763621487), " +
			"(0), (-18), (NULL)) t(n)": `[{"s":true,"p":true,"w":true,"h":true},{"s":false,"p":false,"w":false,"h":false},{"s":true,"p":true,"w":true,"h":true},{"s":false,"p":false,"w":false,"h":false},{"s":null,"p":null,"w":null,"h":null}]`,
		"SELECT n FROM (VALUES (9223372036854775807), (-9223372036854775808)) t(n) WHERE " +
			differ: `[]`,
		"SELECT count(*) AS rows, count(*) FILTER (luhn_sql(n)) AS valid, count(*) FILTER (" + differ +
			") AS differ FROM range(-500, 4500) t(n)": `[{"rows":5000,"valid":450,"differ":0}]`,
	} {
		if got := p.sql(statement); got != want {
			t.Errorf("%s\ngot %s\nwant %s", statement, got, want)
		}
	}
	for _, tool := range bodiesTools {
		p.want(p.do("POST", "/v1/tools/"+tool+":invoke", `{"args":{"number":79927398713}}`), 200, `"ok":true`, `"result":true`)
	}
}
