package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// peerVariable names the program of MCP Toolbox, which these figures are compared with:
//
//	npm install @toolbox-sdk/server
//	SPICED_BENCH_PEER=node_modules/@toolbox-sdk/server-linux-x64/bin/toolbox make bench BENCH='-only lookup'
//
// It also needs the program sqlite3. Without either, only our own figures are printed.
const peerVariable = "SPICED_BENCH_PEER"

// lookRounds is how often the sides of a figure alternate.
const lookRounds = 2

var orders = table{"orders", `SELECT range AS id, range %% 1000 AS customer, range * 1.5::DOUBLE AS total, 'note ' || range AS note FROM range(%d)`, 0}

const lookups = `functions:
  - name: find
    from: sql
    volatility: stable
    signature: { args: [{ name: k, type: int64 }], returns: 'struct<id:int64, total:float64, note:utf8>' }
    body: "(SELECT named_struct('id', id, 'total', total, 'note', note) FROM orders WHERE id = k)"
  - name: total_of
    from: sql
    volatility: stable
    signature: { args: [{ name: k, type: int64 }], returns: float64 }
    body: "(SELECT total FROM orders WHERE id = k)"
  - name: rows_of
    from: sql
    kind: table
    volatility: stable
    signature: { args: [{ name: k, type: int64 }], returns: [{ name: id, type: int64 }, { name: total, type: float64 }] }
    body: SELECT id, total FROM orders WHERE id = (SELECT k FROM args)
  - name: plus_one
    from: sql
    signature: { args: [{ name: k, type: int64 }], returns: int64 }
    body: k + 1
`

// benchLookup measures functions that look a row up by its key.
func benchLookup(ctx context.Context, e *env) ([]row, error) {
	var rows []row
	for _, n := range []int{100_000, 1_000_000, 10_000_000} {
		more, err := lookupIn(ctx, e, n)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

func lookupIn(ctx context.Context, e *env, n int) (rows []row, err error) {
	orders.rows = n
	p := pod{name: fmt.Sprint("lookup", n), table: orders, text: lookups}
	dir, err := e.write(ctx, p)
	if err != nil {
		return nil, err
	}
	keyed := strings.Replace(p.yaml(), "mode: memory }", "primary_key: id }", 1)
	if err := os.WriteFile(filepath.Join(dir, "spicepod.yaml"), []byte(keyed), 0o644); err != nil {
		return nil, err
	}
	s, err := e.serveFolder(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	peer, why, err := startPeer(ctx, dir, n)
	if err != nil {
		return nil, err
	}
	if peer != nil {
		defer peer.stop()
	}
	key := func(int) string { return fmt.Sprintf(`{"k":%d}`, int(argumentsSeen.Add(1))*7919%n) }
	for _, c := range []struct {
		what, tool, protocol string
		callers              int
		target               string
	}{
		{"look-up by key as a tool", "find", "HTTP", 1, "≥ 0.9, p50 ≤ 0.4 ms"},
		{"look-up by key as a tool", "find", "HTTP", loadCallers, "≥ 1.3, p99 ≤ 15 ms"},
		{"look-up by key as a tool", "find", "MCP", loadCallers, "≥ 1.3"},
		{"an expression as a tool, next to a table", "plus_one", "HTTP", 1, "≥ 0.9"},
		{"an expression as a tool, next to a table", "plus_one", "HTTP", loadCallers, "≥ 1.5"},
	} {
		r, err := beside(ctx, s, peer, c.tool, c.protocol, c.callers, key)
		if err != nil {
			return nil, err
		}
		r.what, r.target = fmt.Sprintf("%s over %s, %d rows, %d connections%s", c.what, c.protocol, n, c.callers, why), c.target
		rows = append(rows, r)
	}
	for _, c := range []struct{ what, function, hand string }{
		{"scalar function of a constant : the SELECT by hand", "SELECT total_of($k) AS total", "SELECT total FROM orders WHERE id = $k"},
		{"table function by key : the SELECT by hand", "SELECT id, total FROM rows_of($k)", "SELECT id, total FROM orders WHERE id = $k"},
	} {
		statement := func(sql string) func(context.Context) (caller, error) {
			return s.poster("/v1/sql", jsonHeader, func(i int) string { return fmt.Sprintf(`{"sql":%q,"parameters":%s}`, sql, key(i)) })
		}
		_, _, ratio, err := compare(ctx, 1, statement(c.hand), statement(c.function))
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{fmt.Sprintf("%s, %d rows, time", c.what, n), fmt.Sprintf("%.2f", ratio), "≤ 1.05"})
	}
	return rows, nil
}

// beside compares calls of a tool with the peer's, if there is one.
func beside(ctx context.Context, s, peer *server, tool, protocol string, callers int, arguments func(int) string) (row, error) {
	open, openPeer := s.poster("/v1/tools/"+tool+":invoke", jsonHeader, func(i int) string { return `{"args":` + arguments(i) + `}` }),
		func(context.Context) (caller, error) { return caller{}, nil }
	if peer != nil {
		openPeer = peer.poster("/api/tool/"+tool+"/invoke", jsonHeader, arguments)
	}
	if protocol == "MCP" {
		open = s.mcpCaller("/v1/mcp", tool, arguments)
		if peer != nil {
			openPeer = peer.mcpCaller("/mcp", tool, arguments)
		}
	}
	var p50, p99 float64
	ours := func() (float64, error) {
		l, err := apply(ctx, callers, open)
		if err != nil {
			return 0, err
		}
		p50, p99 = l.times[len(l.times)/2], max(p99, l.p99())
		return l.rate, nil
	}
	if peer == nil {
		rate, err := ours()
		return row{measured: fmt.Sprintf("%.0f/s, p50 %.2f ms, p99 %.1f ms", rate, p50, p99)}, err
	}
	us, them, ratio, err := alternate(lookRounds, ours, func() (float64, error) {
		l, err := apply(ctx, callers, openPeer)
		return l.rate, err
	})
	return row{measured: fmt.Sprintf("%.0f/s, p50 %.2f ms, p99 %.1f ms; the peer %.0f/s: %.2f", us, p50, p99, them, ratio)}, err
}

// startPeer starts MCP Toolbox over SQLite with the same rows. If it is not installed, it
// returns nil and a note.
func startPeer(ctx context.Context, dir string, rows int) (*server, string, error) {
	binary := os.Getenv(peerVariable)
	if _, err := exec.LookPath("sqlite3"); binary == "" || err != nil {
		return nil, " (no peer: " + peerVariable + " or sqlite3 is missing)", nil
	}
	file := filepath.Join(dir, "peer.sqlite")
	fill := exec.CommandContext(ctx, "sqlite3", file, fmt.Sprintf(`CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER, total REAL, note TEXT);
		WITH RECURSIVE r(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM r WHERE i + 1 < %d) INSERT INTO orders SELECT i, i %% 1000, i * 1.5, 'note ' || i FROM r;`,
		rows))
	if out, err := fill.CombinedOutput(); err != nil {
		return nil, "", fmt.Errorf("sqlite3: %w: %s", err, out)
	}
	config := filepath.Join(dir, "tools.yaml")
	text := fmt.Sprintf("sources:\n  db: { kind: sqlite, database: %s }\ntools:\n  find:\n    kind: sqlite-sql\n    source: db\n    description: "+
		"Finds an order.\n"+
		"    statement: SELECT id, total, note FROM orders WHERE id = ?\n    parameters: [{ name: k, type: integer, description: The key. }]\n"+
		"  plus_one:\n    kind: sqlite-sql\n    source: db\n    description: Adds one.\n"+
		"    statement: SELECT ? + 1 AS result\n    parameters: [{ name: k, type: integer, description: A number. }]\n", file)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return nil, "", err
	}
	port, err := freePort()
	if err != nil {
		return nil, "", err
	}
	s := &server{url: "http://127.0.0.1:" + port, dir: dir, done: make(chan error, 1)}
	s.cmd = exec.CommandContext(ctx, binary, "--config", config, "--port", port, "--log-level", "ERROR", "--enable-api")
	if err := s.cmd.Start(); err != nil {
		return nil, "", err
	}
	go func() { s.done <- s.cmd.Wait() }()
	for began := time.Now(); time.Since(began) < deadline; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			return s, "", conn.Close()
		}
	}
	return nil, "", errors.New("the peer does not answer")
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}
