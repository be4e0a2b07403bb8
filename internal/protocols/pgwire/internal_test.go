package pgwire

import (
	"context"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/spiced-sql/spiced/internal/protocols/pgwire/sqlstate"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire/wire"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

func FuzzSplit(f *testing.F) {
	for _, seed := range []string{"SELECT 1; SELECT 2", "';'; \";\"", "$$;$$;", "/*;*/;--;\n;", "", ";;"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		end := 0
		for _, part := range newWords(sql).split() {
			if part.start < end || part.SQL == "" || part.start+len(part.SQL) > len(sql) {
				t.Fatalf("part %q at %d after %d of %q", part.SQL, part.start, end, sql)
			}
			end = part.start + len(part.SQL)
			again := newWords(part.SQL)
			if slices.ContainsFunc(again.Tokens, func(tok sqltree.Token) bool { return tok.Is(part.SQL, ";") }) {
				t.Fatalf("%q holds a semicolon", part.SQL)
			}
		}
	})
}

func FuzzCommand(f *testing.F) {
	for _, seed := range []string{
		"SET a.b TO 'x', -1, \"q\"", "SET LOCAL TIME ZONE INTERVAL '1' HOUR", "SHOW ALL", "RESET x", "BEGIN ISOLATION LEVEL SERIALIZABLE, READ ONLY",
		"DECLARE c SCROLL CURSOR WITH HOLD FOR SELECT 1", "FETCH FORWARD ALL FROM c", "MOVE 3 c", "ROLLBACK TO SAVEPOINT \"a\"", "DISCARD ALL",
		"DEALLOCATE PREPARE x", "CLOSE ALL", "SET SESSION AUTHORIZATION DEFAULT", "SET ROLE x", "COMMIT AND NO CHAIN", "SET",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		cmd, err := parseCommand(newWords(sql))
		if err != nil {
			if e := asError(err); e.Code == sqlstate.Internal || e.Position > len(sql)+1 {
				t.Fatalf("%q: %+v", sql, e)
			}
			return
		}
		if cmd != nil && cmd.run == nil && cmd.fetch == nil && cmd.declare == nil {
			t.Fatalf("%q is a command that does nothing", sql)
		}
	})
}

// TestCancelAtTheEnd has a statement end well although it was cancelled: the
// next one of the request does not run, and the next request does.
func TestCancelAtTheEnd(t *testing.T) {
	var r running
	run := func() context.Context {
		ctx, stop := context.WithCancelCause(t.Context())
		r.set(stop)
		return ctx
	}
	r.serve()
	if ctx := run(); ctx.Err() != nil {
		t.Error("cancelled before")
	}
	r.cancel(nil)
	r.set(nil)
	if ctx := run(); ctx.Err() == nil {
		t.Error("the next statement is not cancelled")
	}
	r.set(nil)
	r.rest()
	r.cancel(nil)
	r.serve()
	if ctx := run(); ctx.Err() != nil {
		t.Error("the next request is cancelled")
	}
}

// TestWatchKeepsWhatItReads has a client send more than the watch reads ahead.
// A write to a pipe is over when all of it was read.
func TestWatchKeepsWhatItReads(t *testing.T) {
	server, client := net.Pipe()
	defer server.Close()
	in := newInput(server, time.Hour, func() { t.Error("the client is said to be gone") })
	in.watch()
	if _, err := client.Write([]byte("ahead ")); err != nil {
		t.Fatal(err)
	}
	behind := strings.Repeat("x", 2*readAhead)
	go func() { _, _ = client.Write([]byte(behind)) }() // as much as Read asks for
	in.unwatch()
	got := make([]byte, len("ahead ")+len(behind))
	if _, err := io.ReadFull(in, got); err != nil || string(got) != "ahead "+behind {
		t.Errorf("got %.20q…, %v", got, err)
	}
}

// TestHeldNames has names count to what a connection holds.
func TestHeldNames(t *testing.T) {
	name := strings.Repeat("x", wire.MaxValues/2)
	c := &conn{server: New(Options{}), session: newSession("16"), store: newStore()}
	defer c.server.Close()
	for what, add := range map[string]func(name string) error{
		"statements": func(name string) error { return c.parseMessage(t.Context(), &pgproto3.Parse{Name: name}) },
		"portals": func(name string) error {
			if err := c.parseMessage(t.Context(), &pgproto3.Parse{}); err != nil {
				return err
			}
			return c.bindMessage(t.Context(), &pgproto3.Bind{DestinationPortal: name})
		},
	} {
		if err := add(name); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if err := add("y" + name); err == nil || asError(err).Code != sqlstate.Limit {
			t.Errorf("%s: %v", what, err)
		}
		c.store.forgetStatements()
		c.store.closePortals(func(*portal) bool { return true })
		if c.store.size != 0 {
			t.Errorf("%s: %d bytes are held at the end", what, c.store.size)
		}
	}
}

// TestHeldSettings: what a transaction sets and takes back is counted.
func TestHeldSettings(t *testing.T) {
	s := newSession("16")
	s.open()
	for i := range 3 * maxSettings {
		name := "my.own" + strconv.Itoa(i)
		_ = s.set(name, "x", true) // refused from some on
		_ = s.reset(name, i%2 == 0)
	}
	if len(s.values) > maxSettings || len(s.local) > maxSettings {
		t.Errorf("%d values and %d before", len(s.values), len(s.local))
	}
}

// TestPlansAreCopies: a cached plan does not hold the script that
// its statement is a part of, and counts the types that the client gives.
func TestPlansAreCopies(t *testing.T) {
	c := &conn{server: New(Options{}), store: newStore()}
	defer c.server.Close()
	script := strings.Repeat("SELECT 1;", 10)
	p, err := c.parse(newWords(script[:8]), nil)
	if err != nil || len(c.store.plans) != 1 || unsafe.StringData(p.sql) == unsafe.StringData(script) {
		t.Errorf("%d plans, %v", len(c.store.plans), err)
	}
	for key := range c.store.plans {
		if unsafe.StringData(key.sql) == unsafe.StringData(script) {
			t.Error("the key holds the script")
		}
	}
	if _, err := c.parse(newWords("SELECT 2"), make([]uint32, maxPlanText)); err != nil || len(c.store.plans) != 1 {
		t.Errorf("%d plans, %v", len(c.store.plans), err)
	}
}

func TestVerbs(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT 1": "SELECT", "(SELECT 1)": "SELECT", "FROM t": "SELECT", "insert INTO t VALUES (1)": "INSERT",
		"WITH RECURSIVE a(x) AS (SELECT 1), delete AS (SELECT 2) UPDATE t SET x = 1": "UPDATE",
		"WITH update AS (SELECT 1) SELECT (SELECT 1 FROM delete)":                    "SELECT",
		"EXPLAIN SELECT 1": "EXPLAIN", "DELETE FROM t": "DELETE", "": "SELECT",
	} {
		if got, _ := verbOf(sql, sqltree.Scan(sql)); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
	sql := "INSERT INTO t VALUES (1) RETURNING *"
	if _, counted := verbOf(sql, sqltree.Scan(sql)); counted {
		t.Error("RETURNING has a count")
	}
}

// FuzzCopy parses COPY. What it takes is a query of what was written, and can be
// read back.
func FuzzCopy(f *testing.F) {
	for _, seed := range []string{
		"one TO STDOUT", "a.b(c, \"d e\") TO STDOUT CSV HEADER QUOTE AS '''' FORCE QUOTE c, d", "(SELECT 1) TO STDOUT WITH (FORMAT \"binary\")",
		"((SELECT ')') UNION (SELECT 1)) TO STDOUT (FORMAT csv, HEADER off, NULL E'\\b', FORCE_QUOTE (a, b), ESCAPE '\\')", "one FROM STDIN",
		"a.b (c, d) FROM STDIN WITH (FORMAT csv, HEADER match, NULL '', ESCAPE '\\')",
		"one TO '/tmp/x'", "() TO STDOUT", "(", "one TO STDOUT (DELIMITER $$,$$)", "one TO STDOUT WITH DELIMITER ';' NULL AS ''",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		c, err := parseCopy(newWords(sql))
		if err != nil {
			if e := asError(err); e.Code == sqlstate.Internal || e.Position > len(sql)+1 {
				t.Fatalf("%q: %+v", sql, e)
			}
			return
		}
		if c.query == "" || c.start > 0 && !strings.HasPrefix(sql[c.start:], c.query) {
			t.Fatalf("%q: the query %q at %d", sql, c.query, c.start)
		}
		out := c.out
		if c.in != nil {
			out = c.in.from
		}
		if out.Format != wire.CopyBinary && (out.Delimiter == '\n' || strings.Contains(out.Null, "\n") || strings.IndexByte(out.Null, out.Delimiter) >= 0) {
			t.Fatalf("%q: %+v", sql, out)
		}
	})
}
