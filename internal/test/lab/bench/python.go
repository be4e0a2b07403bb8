package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"
)

// pythonVariable names a Python interpreter with the packages duckdb and pandas, the peer of
// benchPython. Without pandas, duckdb looks for it again for each row.
const pythonVariable = "SPICED_BENCH_PYTHON"

// pythonFunctions are the same bodies as those of the peer. Every call is made: they are
// volatile.
const pythonFunctions = `sandboxes:
  - { name: default, limits: { workers: 2 } }
functions:
  - name: py_int
    from: exec
    description: A Python function of a number.
    signature: { args: [{ name: x, type: int64 }], returns: int64 }
    body: "def py_int(x: int) -> int: return x * 2 + 1"
  - name: py_text
    from: exec
    description: A Python function of a text.
    signature: { args: [{ name: s, type: utf8 }], returns: utf8 }
    body: "def py_text(s: str) -> str: return s.upper() + '!'"
`

// pythonPeer runs each line of its input as a statement.
const pythonPeer = `import duckdb, sys
from duckdb.sqltypes import BIGINT, VARCHAR
con = duckdb.connect()
con.execute("SET enable_progress_bar = false")
con.create_function("py_int", lambda x: x * 2 + 1, [BIGINT], BIGINT, type="native", side_effects=True)
con.create_function("py_text", lambda s: s.upper() + "!", [VARCHAR], VARCHAR, type="native", side_effects=True)
for line in sys.stdin:
    con.execute(line).fetchall()
    print("done", flush=True)
`

// peerProcess is a process that runs statements.
type peerProcess struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func startPythonPeer(ctx context.Context, python string) (*peerProcess, error) {
	p := &peerProcess{cmd: exec.CommandContext(ctx, python, "-c", pythonPeer)}
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	p.out = bufio.NewScanner(out)
	return p, p.cmd.Start()
}

func (p *peerProcess) run(statement string) error {
	if _, err := io.WriteString(p.in, statement+"\n"); err != nil {
		return err
	}
	if !p.out.Scan() {
		return fmt.Errorf("the peer did not run %s", statement)
	}
	return nil
}

func (p *peerProcess) stop() {
	p.in.Close()
	p.cmd.Wait()
}

// benchPython compares Python functions in isolated workers with those of DuckDB's own
// Python package, which run in its process.
func benchPython(ctx context.Context, e *env) ([]row, error) {
	s, err := e.serve(ctx, pod{name: "python", text: pythonFunctions})
	if err != nil {
		return nil, err
	}
	defer s.stop()
	rows, err := pythonCalls(ctx, s)
	python := os.Getenv(pythonVariable)
	if err != nil || python == "" {
		return append(rows, row{"Python over a million rows", "not measured: set " + pythonVariable, ""}), err
	}
	peer, err := startPythonPeer(ctx, python)
	if err != nil {
		return nil, err
	}
	defer peer.stop()
	for _, c := range []struct{ what, statement string }{
		{"an int64", "SELECT sum(py_int(i)) AS s FROM range(1000000) r(i)"},
		{"a text", "SELECT sum(length(py_text('name ' || i))) AS s FROM range(1000000) r(i)"},
	} {
		ratio, ours, err := inTurns(7, func() error { return peer.run(c.statement) }, func() error {
			_, err := s.sql(ctx, c.statement)
			return err
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{
			"a Python function of " + c.what + " over a million rows, isolated : DuckDB's own in its process, speed",
			fmt.Sprintf("%.2f (%.0f ms)", ratio, ours.Seconds()*1000), "≥ 0.7",
		})
	}
	return rows, nil
}

// pythonCalls measures calls as a tool, one after the other.
func pythonCalls(ctx context.Context, s *server) ([]row, error) {
	const calls = 500
	connect := s.poster("/v1/tools/py_int:invoke", jsonHeader, func(i int) string { return fmt.Sprintf(`{"args":{"x":%d}}`, i) })
	c, err := connect(ctx)
	if err != nil {
		return nil, err
	}
	var took []time.Duration
	for i := range calls {
		began := time.Now()
		if err := c.call(i); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return []row{{"a Python function as a tool over HTTP, warm, p50", fmt.Sprintf("%.2f ms", took[calls/2].Seconds()*1000), "≤ 1.5 ms"}}, nil
}
