package wasm

import (
	"errors"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/bodies/body"
	"github.com/spiced-sql/spiced/spicepod"
)

// commandNamed is the command with what its function is named.
func commandNamed(t *testing.T, name, sandbox string) (*Body, error) {
	t.Helper()
	p := pod(t, "sandboxes:\n- {name: box, runtime: wasm"+sandbox+"}\nfunctions:\n- {name: "+name+
		", from: wasm, sandbox: box, secrets: [KEY], body_ref: command.wasm, "+
		"signature: {args: [{name: s, type: utf8}], returns: utf8}}\n")
	b, err := made(t, specOf(t, p, 0), Maker{})
	if err == nil {
		t.Cleanup(func() { b.Close() })
	}
	return b, err
}

func TestCommands(t *testing.T) {
	t.Setenv("HOME", "/secret")
	for _, c := range []struct{ name, want string }{
		{"shout", `["A!",null,"B!"]`},
		{"done", `["A!",null,"B!"]`},
		{"environment", `["KEY=hunter2;",null,"KEY=hunter2;"]`},
		{"open", `["8",null,"8"]`}, // there is no folder
		{"clock", `["1640995200",null,"1640995200"]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := commandNamed(t, c.name, "")
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if got, err := call(t, b, `[{"s": "a"}, {"s": null}, {"s": "b"}]`); err != nil || got != c.want {
					t.Fatalf("got %s, %v; want %s", got, err, c.want)
				}
			}
		})
	}
}

func TestErrorsOfCommands(t *testing.T) {
	for _, c := range []struct {
		name, sandbox, want string
		row                 int
	}{
		{"refuse", "", "no such city", 1},
		{"short", "", "the command answered 0 values for 2 rows", -1},
		{"numbers", "", "the command answered a value that is not of type utf8: ", -1},
		{"chat", "", `the command wrote something that is not an answer; it must answer {"values": […]} or {"error": "…", "row": 0}`, -1},
		{"spin", "", "the call used up its fuel of 10000000000 instructions", -1},
		{"spin", ", limits: {cpu: 50ms}", "the command took more than 50ms of processor time, the limit of sandbox box (limits.cpu)", -1},
		{"flood", ", limits: {output: 64KiB}", "the command wrote more than 65536 bytes; raise limits.output of sandbox box, or write less", -1},
		{"leave", "", "WASM function call '_start' failed: module closed with exit_code(3): cannot connect: ***", -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := commandNamed(t, c.name, c.sandbox)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(c.want, "fuel") {
				b.limits.fuel = 10_000_000
				c.want = strings.Replace(c.want, "10000000000", "10000000", 1)
			}
			for range 2 {
				_, err := call(t, b, `[{"s": "a"}, {"s": "b"}]`)
				var row *body.Error
				switch {
				case err == nil || !strings.HasPrefix(err.Error(), c.want):
					t.Fatalf("got error %v, want %s", err, c.want)
				case errors.As(err, &row) != (c.row >= 0), row != nil && row.Row != c.row:
					t.Errorf("the error %v is about row %v, want %d", err, row, c.row)
				}
			}
		})
	}
}

func TestProblemsOfCommands(t *testing.T) {
	for _, c := range []struct{ name, sandboxes, function, want string }{
		{"no sandbox", "", "body_ref: command.wasm, ", "the module imports wasi_snapshot_preview1."},
		{
			"another runtime", "- {name: box, runtime: python}", "sandbox: box, body_ref: command.wasm, ",
			"functions from wasm run in sandboxes of runtime wasm; sandbox box is for python",
		},
		{
			"no command", "- {name: box, runtime: wasm}", "sandbox: box, body_ref: arrow.wasm, ",
			"failed to get WASM export '_start': the module is not a command with WASI",
		},
		{
			"another import", "- {name: box, runtime: wasm}", "sandbox: box, body_ref: imports.wasm, ",
			"the module imports env.now; a command gets the imports of wasi_snapshot_preview1",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			sandboxes := "sandboxes: []\n"
			if c.sandboxes != "" {
				sandboxes = "sandboxes:\n" + c.sandboxes + "\n"
			}
			_, err := made(t, specOf(t, pod(t, sandboxes+"functions:\n- {name: f, from: wasm, "+c.function+number+"}\n"), 0), Maker{})
			var problems spicepod.Problems
			if !errors.As(err, &problems) || !strings.Contains(problems[0].Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}
