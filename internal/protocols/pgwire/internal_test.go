package pgwire

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

func FuzzSplit(f *testing.F) {
	for _, seed := range []string{"SELECT 1; SELECT 2", "';'; \";\"", "$$;$$;", "/*;*/;--;\n;", "", ";;"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		end := 0
		for _, part := range split(sql) {
			if part.Start < end || part.End <= part.Start || part.End > len(sql) {
				t.Fatalf("part %v after %d of %q", part, end, sql)
			}
			end = part.End
			for _, tok := range sqltree.Scan(sql[part.Start:part.End]) {
				if tok.Is(sql[part.Start:part.End], ";") {
					t.Fatalf("%q holds a semicolon", sql[part.Start:part.End])
				}
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
			if e := asState(err); e.state == stateInternal || e.place > len(sql)+1 {
				t.Fatalf("%q: %+v", sql, e)
			}
			return
		}
		if cmd != nil && cmd.run == nil && cmd.fetch == nil && cmd.declare == nil {
			t.Fatalf("%q is a command that does nothing", sql)
		}
	})
}

func FuzzParameter(f *testing.F) {
	f.Add(uint32(pgtype.NumericOID), int16(1), []byte{0, 2, 0, 0, 0x40, 0, 0, 2, 0, 12, 0x0d, 0x48})
	f.Add(uint32(pgtype.Int4ArrayOID), int16(1), []byte("\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x17\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x04\x00\x00\x00\x07"))
	f.Add(uint32(pgtype.TextArrayOID), int16(0), []byte(`{a,"b\"",{NULL}}`))
	f.Add(uint32(pgtype.ByteaOID), int16(0), []byte(`\x00ff`))
	f.Add(uint32(pgtype.IntervalOID), int16(1), make([]byte, 16))
	f.Add(uint32(pgtype.IntervalOID), int16(0), []byte("1 year -2 mons +04:05:06.7"))
	f.Add(uint32(pgtype.IntervalOID), int16(0), []byte("P1Y2M3DT4H5M6S"))
	f.Add(uint32(pgtype.DateArrayOID), int16(0), []byte(`{"0044-03-15 BC"}`))
	f.Add(uint32(pgtype.TimetzOID), int16(1), []byte("\xff\xff\xff\xff\xff\xff\xff\xff\x80\x00\x00\x00"))
	f.Add(uint32(pgtype.DateOID), int16(1), []byte{0x80, 0, 0, 1})
	f.Add(uint32(pgtype.VarbitOID), int16(1), []byte{0, 0, 0, 9, 0xaa, 0x80})
	f.Fuzz(func(t *testing.T, oid uint32, format int16, data []byte) {
		v, err := decode(oid, format&1, data)
		if err != nil {
			if asState(err).state == stateInternal {
				t.Fatal(err)
			}
			return
		}
		if n, ok := v.(engine.Numeric); ok && strings.Trim(string(n), "0123456789+-.eE") != "" {
			t.Fatalf("%q is no number", n)
		}
	})
}

func TestDecodeNumeric(t *testing.T) {
	for _, tt := range []struct {
		high, low uint64
		negative  bool
		scale     int
		want      string
	}{
		{0, 0, false, 0, "0"},
		{0, 0, false, 3, "0.000"},
		{0, 1, true, 5, "-0.00001"},
		{0, 10_000, false, 0, "10000"},
		{0, 10_000, false, 4, "1.0000"},
		{0, 123_456_789, false, 2, "1234567.89"},
		{0, 100_000_000, false, 0, "100000000"},
		{math.MaxUint64, math.MaxUint64, false, 0, "340282366920938463463374607431768211455"},
		{math.MaxUint64 >> 1, math.MaxUint64, true, 38, "-1.70141183460469231731687303715884105727"},
	} {
		got, err := decodeNumeric(binaryNumeric(nil, tt.high, tt.low, tt.negative, tt.scale))
		if err != nil || got != engine.Numeric(tt.want) {
			t.Errorf("binary: got %v, %v; want %s", got, err, tt.want)
		}
		if again := numericOfText(nil, tt.want); !bytes.Equal(again, binaryNumeric(nil, tt.high, tt.low, tt.negative, tt.scale)) {
			t.Errorf("%s as text: got %x", tt.want, again)
		}
		text := appendDigits(nil, tt.high, tt.low, tt.scale)
		if string(text) != strings.TrimPrefix(tt.want, "-") {
			t.Errorf("text: got %s, want %s", text, tt.want)
		}
	}
}

func TestIntervals(t *testing.T) {
	for s, want := range map[string]string{
		"1 year 2 mons -3 days +04:05:06.7": "14 months -3 days 14706700000 microseconds",
		"-1 years -2 mons +3 days -04:05":   "-14 months 3 days -14700000000 microseconds",
		"00:00:00":                          "0 months 0 days 0 microseconds",
		"-00:00:00.000001":                  "0 months 0 days -1 microseconds",
		"2562047788:00:54.775807":           "0 months 0 days 9223372036854775807 microseconds",
		"2 weeks 1 hour 2 mins 3.5 secs":    "0 months 14 days 3723500000 microseconds",
		"P1Y2M3DT4H5M6S":                    "14 months 3 days 14706000000 microseconds",
		"P-1Y2W":                            "-12 months 14 days 0 microseconds",
		"PT-0.5S":                           "0 months 0 days -500000 microseconds",
		"PT0S":                              "0 months 0 days 0 microseconds",
		// These are left to DuckDB.
		"": "", "P": "P", "PT": "PT", "P1H": "P1H", "1": "1", "1.5 days": "1.5 days", "3 days ago": "3 days ago", "04:60:00": "04:60:00", "1:2:3:4": "1:2:3:4",
		"2562047789:00:00": "2562047789:00:00", "2562047788:00:54.775808": "2562047788:00:54.775808", "178956971 years": "178956971 years",
		"01:-2:03": "01:-2:03", "1:100:00": "1:100:00", "PT.5S": "PT.5S", ":": ":", "1 day :": "1 day :", "9 9": "9 9",
	} {
		if got := duckInterval(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
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

// TestHeldParameters counts what is held of parameters that grow when they are
// read.
func TestHeldParameters(t *testing.T) {
	bits := append([]byte{0, 0, 0x1f, 0x40}, make([]byte, 1000)...)
	nulls := append([]byte{0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 23, 0, 0, 0, 100, 0, 0, 0, 1}, bytes.Repeat([]byte{0xff}, 400)...)
	for _, tt := range []struct {
		oid   uint32
		data  []byte
		least int
	}{{pgtype.VarbitOID, bits, 8000}, {pgtype.Int4ArrayOID, nulls, 1600}, {pgtype.ByteaOID, bits, 1000}, {pgtype.TextOID, nil, 1}} {
		s := &prepared{params: []uint32{tt.oid}}
		_, size, err := s.decode(&pgproto3.Bind{Parameters: [][]byte{tt.data}, ParameterFormatCodes: []int16{formatBinary}})
		if err != nil || size < tt.least || size > 2*len(tt.data)+tt.least+100 {
			t.Errorf("type %d: %d bytes, %v; want %d", tt.oid, size, err, tt.least)
		}
	}
}

// TestHeldNames has names count to what a connection holds.
func TestHeldNames(t *testing.T) {
	name := strings.Repeat("x", maxHeld/2)
	c := &conn{
		server: New(Options{}), session: newSession("16"), plans: map[planKey]*plan{},
		statements: map[string]*prepared{}, portals: map[string]*portal{},
	}
	defer c.server.Close()
	for what, add := range map[string]func(name string) error{
		"statements": func(name string) error { return c.parse(t.Context(), &pgproto3.Parse{Name: name}) },
		"portals": func(name string) error {
			if err := c.parse(t.Context(), &pgproto3.Parse{}); err != nil {
				return err
			}
			return c.bind(t.Context(), &pgproto3.Bind{DestinationPortal: name})
		},
	} {
		if err := add(name); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if err := add("y" + name); err == nil || asState(err).state != stateLimit {
			t.Errorf("%s: %v", what, err)
		}
		c.forgetStatements()
		c.closePortals(func(*portal) bool { return true })
		if c.held != 0 {
			t.Errorf("%s: %d bytes are held at the end", what, c.held)
		}
	}
}

// Parameters that would grow too much are refused before they do.
func TestParametersThatGrow(t *testing.T) {
	array := func(n uint32, data []byte, lengths ...uint32) []byte {
		buf := []byte{0, 0, 0, byte(len(lengths) + 1), 0, 0, 0, 1, 0, 0, 0, 23}
		for _, n := range append([]uint32{n}, lengths...) {
			buf = append(binary.BigEndian.AppendUint32(buf, n), 0, 0, 0, 1)
		}
		return append(buf, data...)
	}
	large := make([]byte, maxMessage-100)
	bits := binary.BigEndian.AppendUint32(nil, uint32(8*len(large)))
	nulls := bytes.Repeat([]byte{0xff}, len(large))
	half := bytes.Repeat([]byte{0xff}, len(large)/2)
	for name, tt := range map[string]struct {
		oid    uint32
		format int16
		params [][]byte
	}{
		"bits":         {pgtype.VarbitOID, formatBinary, [][]byte{append(bits, large...)}},
		"NULLs":        {pgtype.Int4ArrayOID, formatBinary, [][]byte{array(uint32(len(nulls)/4), nulls)}},
		"deep NULLs":   {pgtype.Int4ArrayOID, formatBinary, [][]byte{array(uint32(len(half)/4), half, 1, 1, 1, 1, 1)}},
		"empty arrays": {pgtype.Int4ArrayOID, formatBinary, [][]byte{array(uint32(len(nulls)), nulls, 0)}},
		"arrays":       {pgtype.Int4ArrayOID, formatText, [][]byte{[]byte("{{}" + strings.Repeat(",{}", len(large)/3))}},
		"several":      {pgtype.Int4ArrayOID, formatBinary, [][]byte{array(uint32(len(half)/5), half[:len(half)/5*4]), array(uint32(len(half)/5), half[:len(half)/5*4])}},
	} {
		s := &prepared{}
		for range tt.params {
			s.params = append(s.params, tt.oid)
		}
		_, _, err := s.decode(&pgproto3.Bind{Parameters: tt.params, ParameterFormatCodes: []int16{tt.format}})
		if err == nil || asState(err).state != stateLimit {
			t.Errorf("%s: %v", name, err)
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

// TestPlansAreCopies: a plan that is remembered does not hold the script that
// its statement is a part of, and counts the types that the client tells.
func TestPlansAreCopies(t *testing.T) {
	c := &conn{server: New(Options{}), plans: map[planKey]*plan{}}
	defer c.server.Close()
	script := strings.Repeat("SELECT 1;", 10)
	p, err := c.planOf(script[:8])
	if err != nil || len(c.plans) != 1 || unsafe.StringData(p.sql) == unsafe.StringData(script) {
		t.Errorf("%d plans, %v", len(c.plans), err)
	}
	for key := range c.plans {
		if unsafe.StringData(key.sql) == unsafe.StringData(script) {
			t.Error("the key holds the script")
		}
	}
	if _, err := c.planOf("SELECT 2", make([]uint32, maxPlanText)...); err != nil || len(c.plans) != 1 {
		t.Errorf("%d plans, %v", len(c.plans), err)
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

func FuzzParametersOfText(f *testing.F) {
	for _, seed := range []string{
		"SELECT $1::int4[], CAST($2 AS DECIMAL(10, 2))", "id = ANY ($1) AND a.b <> all($2) AND f((x), y) = any($3)", "$1::a.b(c(d))[", "any($1)", ") = any($1)",
		"a.b + $1 * f(x)[1]::t(1)", "$1 - $2 / (", "DATE 'x' - $1 + $2::int % $3", "$1 +", "* $1 * x::",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		for name, typ := range casts(sql) {
			if typ == "" || !strings.Contains(sql, typ) || !strings.Contains(sql, "$"+name) {
				t.Errorf("$%s is cast to %q in %q", name, typ, sql)
			}
		}
		same := replaceParams(sql, func(r scanner, i int) string {
			if operand, _ := r.operandOf(i); !strings.Contains(sql, operand) {
				t.Errorf("%q is not in %q", operand, sql)
			}
			if list := r.listOf(i); list != "" && !strings.Contains(sql, list[1:len(list)-1]) {
				t.Errorf("%q is not in %q", list, sql)
			}
			return "$" + r.param(i)
		})
		if same != sql {
			t.Errorf("%q became %q", sql, same)
		}
	})
}

// Looking for types and values takes no longer for each than for the one before.
func TestParametersOfLongTexts(t *testing.T) {
	const n = 50_000
	began := time.Now()
	for _, sql := range []string{
		strings.Repeat("(", n) + "x" + strings.Repeat(") = any($1)", n), strings.Repeat("$1::x(", n), strings.Repeat("$1::x[", n), "$1::" + strings.Repeat("x.", n),
		strings.Repeat("x.", n) + "y" + strings.Repeat(" = any($1)", n), strings.Repeat("$1 + ", n), strings.Repeat("$1 + (", n),
		strings.Repeat("x + $1 + x", n) + strings.Repeat("::x", n),
	} {
		casts(sql)
		replaceParams(sql, func(r scanner, i int) string {
			operand, _ := r.operandOf(i)
			return r.listOf(i) + operand
		})
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %s", took)
	}
}

// FuzzCopy parses COPY. What it takes is a query of what was written, and can be
// read back.
func FuzzCopy(f *testing.F) {
	for _, seed := range []string{
		"one TO STDOUT", "a.b(c, \"d e\") TO STDOUT CSV HEADER QUOTE AS '''' FORCE QUOTE c, d", "(SELECT 1) TO STDOUT WITH (FORMAT \"binary\")",
		"((SELECT ')') UNION (SELECT 1)) TO STDOUT (FORMAT csv, HEADER off, NULL E'\\b', FORCE_QUOTE (a, b), ESCAPE '\\')", "one FROM STDIN",
		"one TO '/tmp/x'", "() TO STDOUT", "(", "one TO STDOUT (DELIMITER $$,$$)", "one TO STDOUT WITH DELIMITER ';' NULL AS ''",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		query, start, out, err := parseCopy(newWords(sql))
		if err != nil {
			if e := asState(err); e.state == stateInternal || e.place > len(sql)+1 {
				t.Fatalf("%q: %+v", sql, e)
			}
			return
		}
		if query == "" || start > 0 && !strings.HasPrefix(sql[start:], query) {
			t.Fatalf("%q: the query %q at %d", sql, query, start)
		}
		if out.format != copyBinary && (out.delimiter == '\n' || strings.Contains(out.null, "\n") || strings.IndexByte(out.null, out.delimiter) >= 0) {
			t.Fatalf("%q: %+v", sql, out)
		}
	})
}
