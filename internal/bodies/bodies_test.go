package bodies

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/bodies/body"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/isolate"
	"github.com/spiced-sql/spiced/internal/test/podtest"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/udf"
)

// code is a body that counts what it gets.
type code struct {
	rows, batches atomic.Int64
	closed        atomic.Bool
	call          func(ctx context.Context, batch arrow.RecordBatch) (arrow.Array, error)
}

func (c *code) Call(ctx context.Context, batch arrow.RecordBatch) (arrow.Array, error) {
	c.rows.Add(batch.NumRows())
	c.batches.Add(1)
	return c.call(ctx, batch)
}

func (c *code) Close() error { c.closed.Store(true); return nil }

// same returns a copy of the first argument.
func same(_ context.Context, batch arrow.RecordBatch) (arrow.Array, error) {
	return array.Concatenate([]arrow.Array{batch.Column(0)}, memory.DefaultAllocator)
}

// integers returns f of the first argument.
func integers(f func(int64) (int64, error)) func(context.Context, arrow.RecordBatch) (arrow.Array, error) {
	return func(_ context.Context, batch arrow.RecordBatch) (arrow.Array, error) {
		b := array.NewInt64Builder(memory.DefaultAllocator)
		for i := range int(batch.NumRows()) {
			if batch.Column(0).IsNull(i) {
				b.AppendNull()
				continue
			}
			n, err := f(batch.Column(0).(*array.Int64).Value(i))
			if err != nil {
				return nil, &body.Error{Row: i, Err: err}
			}
			b.Append(n)
		}
		return b.NewArray(), nil
	}
}

// workerVariable makes this binary a worker.
const workerVariable = "SPICED_TEST_WORKER"

func TestMain(m *testing.M) {
	if os.Getenv(workerVariable) != "" {
		if err := isolate.Main(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// world is a database whose statements may run in workers.
type world struct {
	*engine.DB
	isolated bool
	set      *Set
	pool     *isolate.Pool
	compiled *functions.Set
}

// everywhere runs a test in this process and with workers.
func everywhere(t *testing.T, test func(t *testing.T, isolated bool)) {
	for _, isolated := range []bool{false, true} {
		t.Run(map[bool]string{false: "here", true: "isolated"}[isolated], func(t *testing.T) { test(t, isolated) })
	}
}

// open publishes the functions of a Spicepod, each with that body.
func open(t testing.TB, declared string, c *code, isolated bool) *world {
	t.Helper()
	return openBody(t, declared, c, isolated)
}

// codeKind is a kind of bodies.
var codeKind = spicepod.BodyKind{Schemes: []string{"exec"}, Keys: []string{"body"}}

func openBody(t testing.TB, declared string, c body.Body, isolated bool) *world {
	t.Helper()
	pool, err := isolate.New(isolate.Options{Command: []string{os.Args[0]}, Env: []string{workerVariable + "=1"}, Workers: 1, Memory: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	set := NewSet()
	t.Cleanup(set.Close)
	db, err := engine.Open(t.Context(), engine.Options{Threads: 4, Isolator: pool, Batch: set.Call})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	pod := podtest.Load(t, "functions:\n"+declared, codeKind)
	compiled, problems := functions.Compile(t.Context(), db, pod, nil, nil)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	if err := db.AddBatches(compiled.CodeTypes()...); err != nil {
		t.Fatal(err)
	}
	dependencies := func(_ []engine.Relation, names []string) (list []*engine.Dependency, err error) {
		for _, name := range names {
			f := compiled.Get(name)
			d := engine.NewDependency("function "+name, f.DDL(functions.Published()), f.Drop())
			d.Batch = f.Code()
			list = append(list, d)
		}
		return list, nil
	}
	err = db.Publish(t.Context(),
		engine.NewCatalog(engine.Contents{Generation: 1, Functions: compiled.Engine(), Dependencies: dependencies}), func(tx *engine.Tx) error {
			for _, f := range compiled.All() {
				if f.Code() != nil {
					set.Add(f, c)
				}
				if p := f.Create(tx, pod, functions.Published()); p != nil {
					return p
				}
			}
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return &world{db, isolated, set, pool, compiled}
}

// query returns the rows of a statement, each as its JSON would be in DuckDB's text.
func query(t *testing.T, db *world, sql string) (string, error) {
	t.Helper()
	rows, err := db.Query(t.Context(), engine.Request{
		Isolate: db.isolated,
		SQL:     "SELECT coalesce(string_agg(row_text, ' '), '') FROM (SELECT CAST(t AS VARCHAR) AS row_text FROM (" + sql + ") AS t)",
	})
	if err != nil {
		return "", err
	}
	defer rows.Close()
	text := ""
	for chunk, err := range rows.Chunks() {
		if err != nil {
			return "", err
		}
		for i := range chunk.Len() {
			text += string(chunk.Column(0).Bytes(i))
		}
	}
	return text, nil
}

func value(t *testing.T, db *world, sql string) string {
	t.Helper()
	text, err := query(t, db, sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return text
}

// TestTypes passes values of every type through a body and compares them in DuckDB.
func TestTypes(t *testing.T) { everywhere(t, testTypes) }

func testTypes(t *testing.T, isolated bool) {
	types := map[string]string{
		"int8": "range % 100", "int16": "range * 3", "int32": "range * 70000", "int64": "range * 900000000000000",
		"uint8": "range % 200", "uint16": "range", "uint32": "range * 100000", "uint64": "range * 900000000000000",
		"float32": "range / 3", "float64": "range / 7", "utf8": "repeat('é', CAST(range % 9 AS INTEGER)) || range", "boolean": "range % 2 = 0",
		"binary": "encode('b' || range)", "date": "DATE '2024-02-29' + CAST(range AS INTEGER)",
		"timestamp":   "TIMESTAMP '1969-01-01 00:00:01.000001' + INTERVAL (range) HOUR",
		"timestamptz": "TIMESTAMPTZ '2024-01-01 00:00:00+02' + INTERVAL (range) MINUTE", "time": "TIME '00:00:01' + INTERVAL (range % 3600) SECOND",
		"decimal(4,1)": "range % 100 / 10", "decimal(9,2)": "range / 100", "decimal(18,3)": "range * 1000", "decimal(38,10)": "range * 123456789012345",
		"json": "json_object('a', range, 'b', [1, NULL])", "list<int64>": "[range, NULL, range + 1]", "list<utf8>": "[range::VARCHAR, NULL, '']",
		"list<list<float64>>": "[[range / 2], [], NULL]", "struct<a: int64, b: utf8>": "{a: range, b: 'x' || range}",
		"list<struct<a: int64, b: list<utf8>>>": "[{a: range, b: ['y', NULL]}, NULL]", "map<utf8, int64>": "MAP {'k' || range: range}",
	}
	c := &code{call: same}
	var declared strings.Builder
	names := map[string]string{}
	for name := range types {
		if _, err := functions.ParseType(name); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f := fmt.Sprintf("same_%d", len(names))
		names[name] = f
		fmt.Fprintf(&declared, "- {name: %s, from: exec, body: x, signature: {args: [{name: x, type: \"%s\"}], returns: \"%[2]s\"}}\n", f, name)
	}
	db := open(t, declared.String(), c, isolated)
	for name, f := range names {
		typ, _ := functions.ParseType(name)
		values := fmt.Sprintf("SELECT CASE WHEN range %% 5 = 3 THEN NULL ELSE CAST(%s AS %s) END AS x, range FROM range(5000)", types[name], typ.SQL())
		sql := fmt.Sprintf("SELECT count(*) AS n, count(x) AS c FROM (%s) WHERE x IS NOT DISTINCT FROM %s(x)", values, f)
		if got, want := value(t, db, sql), "{'n': 5000, 'c': 4000}"; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

const twice = "- {name: twice, from: exec, body: x, signature: {args: [{name: x, type: int64}], returns: int64}"

// TestDuplicates counts the calls of a statement whose rows repeat their arguments, on four
// threads.
func TestDuplicates(t *testing.T) { everywhere(t, testDuplicates) }

func testDuplicates(t *testing.T, isolated bool) {
	c := &code{call: integers(func(n int64) (int64, error) { return 2 * n, nil })}
	db := open(t, twice+"}\n", c, isolated)
	if got := value(t, db, "SELECT sum(twice(range * 7919 % 1000)) AS s FROM range(1000000)"); got != "{'s': 999000000}" {
		t.Error(got)
	}
	if ran := db.pool.Stats().Started > 0; ran != isolated {
		t.Errorf("a worker ran the statement: %v", ran)
	}
	if n := c.rows.Load(); n != 1000 {
		t.Errorf("%d calls for 1,000 distinct arguments", n)
	}
	if value(t, db, "SELECT twice(1) AS s"); c.rows.Load() != 1001 {
		t.Errorf("another statement made %d calls, want 1: the function is volatile", c.rows.Load()-1000)
	}
}

// TestManyArguments has more different arguments than a statement remembers, each twice.
func TestManyArguments(t *testing.T) {
	c := &code{call: integers(func(n int64) (int64, error) { return 2 * n, nil })}
	db := open(t, twice+"}\n", c, false)
	if got := value(t, db, "SELECT sum(twice(range // 2)) AS s FROM range(500000)"); got != "{'s': 124999500000}" {
		t.Error(got)
	}
	if n := c.rows.Load(); n < 250_000 || n > 251_000 {
		t.Errorf("%d calls for 250,000 arguments", n)
	}
}

// TestLargeArguments has rows whose arguments take as much memory as a statement uses for
// them: equal rows of another vector are called again.
func TestLargeArguments(t *testing.T) {
	c := &code{call: func(_ context.Context, batch arrow.RecordBatch) (arrow.Array, error) {
		b := array.NewInt64Builder(memory.DefaultAllocator)
		for i := range int(batch.NumRows()) {
			b.Append(int64(len(batch.Column(0).(*array.String).Value(i))))
		}
		return b.NewArray(), nil
	}}
	db := open(t, "- {name: size, from: exec, body: x, signature: {args: [{name: s, type: utf8}], returns: int64}}\n", c, false)
	const rows, size = 8, maxRememberedBytes / 8
	got := value(t, db, fmt.Sprintf("SELECT sum(size(s) + size(s)) AS n FROM (SELECT repeat('x', %d) || range AS s FROM range(%d))", size, rows))
	if want := fmt.Sprintf("{'n': %d}", 2*rows*(size+1)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if n := c.rows.Load(); n != 2*rows {
		t.Errorf("%d calls, want %d", n, 2*rows)
	}
}

// TestImmutable counts the calls of statements with the same arguments.
func TestImmutable(t *testing.T) { everywhere(t, testImmutable) }

func testImmutable(t *testing.T, isolated bool) {
	c := &code{call: integers(func(n int64) (int64, error) { return 2 * n, nil })}
	db := open(t, twice+", volatility: immutable}\n", c, isolated)
	for range 3 {
		if got := value(t, db, "SELECT sum(twice(range)) AS s FROM range(3000)"); got != "{'s': 8997000}" {
			t.Error(got)
		}
	}
	if n := c.rows.Load(); n != 3000 {
		t.Errorf("%d calls, want 3,000", n)
	}
}

// TestWrites calls a function that changes something once for each row.
func TestWrites(t *testing.T) { everywhere(t, testWrites) }

func testWrites(t *testing.T, isolated bool) {
	c := &code{call: integers(func(n int64) (int64, error) { return n, nil })}
	db := open(t, twice+", risk: write}\n", c, isolated)
	value(t, db, "SELECT sum(twice(1)) AS s FROM range(100)")
	// Not even where a window needs the values as well.
	value(t, db, "SELECT sum(v + m) AS s FROM (SELECT v, max(v) OVER (PARTITION BY g) AS m FROM (SELECT range % 2 AS g, twice(range) AS v FROM range(100)))")
	if n := c.rows.Load(); n != 200 {
		t.Errorf("%d calls, want 200", n)
	}
}

func TestLimits(t *testing.T) { everywhere(t, testLimits) }

func testLimits(t *testing.T, isolated bool) {
	c := &code{call: integers(func(n int64) (int64, error) {
		if n == 4242 {
			return 0, errors.New("no such thing")
		}
		return n, nil
	})}
	db := open(t, twice+", limits: {max_calls: 10, batch_rows: 4}}\n", c, isolated)
	if value(t, db, "SELECT sum(twice(range % 10)) AS s FROM range(100)"); c.batches.Load() != 3 {
		t.Errorf("%d batches of at most 4 rows for 10 calls, want 3", c.batches.Load())
	}
	for sql, want := range map[string]struct {
		code    errcode.Code
		message string
	}{
		"SELECT sum(twice(range)) AS s FROM range(11)": {
			errcode.Limit,
			"the statement needs at least 11 calls of function 'twice'; its limit is 10; select fewer rows with different arguments, or raise limits.max_calls " +
				"of the function",
		},
		"SELECT twice(4242) AS s": {errcode.Execution, "function 'twice' failed for (x := 4242): no such thing"},
	} {
		_, err := query(t, db, sql)
		if e := engine.AsError(err); err == nil || e.Code != want.code || e.Error() != want.message {
			t.Errorf("%s: %v\nwant %+v", sql, err, want)
		}
	}
}

// parallel is a body with calls that are worth running at once.
type parallel struct{ *code }

func (parallel) AtOnce() int { return 3 }

// TestParallel checks that the values of batches that run at once are those of their rows,
// and that an error is about its row.
func TestParallel(t *testing.T) { everywhere(t, testParallel) }

func testParallel(t *testing.T, isolated bool) {
	c := &code{call: integers(func(n int64) (int64, error) {
		if n >= 1_002_000 {
			return 0, errors.New("too large")
		}
		return 2 * n, nil
	})}
	db := openBody(t, twice+"}\n", parallel{c}, isolated)
	got := value(t, db, "SELECT count(*) FILTER (twice(range) <> 2 * range) AS n FROM range(10000)")
	if batches := c.batches.Load(); got != "{'n': 0}" || batches < 10 {
		t.Errorf("%s in %d batches", got, batches)
	}
	_, err := query(t, db, "SELECT sum(twice(1000000 + range)) AS s FROM range(2048)")
	if want := "function 'twice' failed for (x := 1002000): too large"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestBadBodies checks what becomes of bodies that do not do what they promise.
func TestBadBodies(t *testing.T) { everywhere(t, testBadBodies) }

func testBadBodies(t *testing.T, isolated bool) {
	var call func(context.Context, arrow.RecordBatch) (arrow.Array, error)
	c := &code{call: func(ctx context.Context, batch arrow.RecordBatch) (arrow.Array, error) { return call(ctx, batch) }}
	db := open(t, twice+", limits: {timeout: 50ms}}\n", c, isolated)
	text := func(values ...string) arrow.Array {
		b := array.NewStringBuilder(memory.DefaultAllocator)
		b.AppendValues(values, nil)
		return b.NewArray()
	}
	for _, bad := range []struct {
		want string
		call func(context.Context, arrow.RecordBatch) (arrow.Array, error)
	}{
		{"internal error: oh", func(context.Context, arrow.RecordBatch) (arrow.Array, error) { panic("oh") }},
		{"it returned values of type utf8; it is declared to return int64", func(context.Context, arrow.RecordBatch) (arrow.Array, error) { return text("x"), nil }},
		{"it returned 2 values for a batch of 1 row", func(context.Context, arrow.RecordBatch) (arrow.Array, error) { return text("x", "y"), nil }},
		{"a call took longer than 50ms", func(ctx context.Context, _ arrow.RecordBatch) (arrow.Array, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}},
	} {
		call = bad.call
		if _, err := query(t, db, "SELECT twice(1) AS s"); err == nil || !strings.Contains(err.Error(), "function 'twice' failed") ||
			!strings.Contains(err.Error(), bad.want) {
			t.Errorf("%v, want %s", err, bad.want)
		}
	}
	call = integers(func(n int64) (int64, error) { return 2 * n, nil })
	if got := value(t, db, "SELECT twice(21) AS s"); got != "{'s': 42}" {
		t.Error(got)
	}
}

// TestCancelled ends a statement while its function runs.
func TestCancelled(t *testing.T) { everywhere(t, testCancelled) }

func testCancelled(t *testing.T, isolated bool) {
	entered, ended := make(chan struct{}), make(chan struct{})
	var once sync.Once
	c := &code{call: func(ctx context.Context, _ arrow.RecordBatch) (arrow.Array, error) {
		once.Do(func() { close(entered) })
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	}}
	db := open(t, twice+"}\n", c, isolated)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-entered; cancel() }()
	if rows, err := db.Query(ctx, engine.Request{SQL: "SELECT twice(1)", Whole: true, Isolate: isolated}); err == nil {
		rows.Close()
		t.Error("the statement was not cancelled")
	}
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("the call goes on")
	}
}

// TestTables calls a table function with a table and an argument.
func TestTables(t *testing.T) { everywhere(t, testTables) }

func testTables(t *testing.T, isolated bool) {
	c := &code{call: func(_ context.Context, batch arrow.RecordBatch) (arrow.Array, error) {
		return array.Concatenate([]arrow.Array{batch.Column(0)}, memory.DefaultAllocator)
	}}
	db := open(t, `- name: copied
  from: exec
  kind: table
  body: x
  signature:
    tables: [{name: t, columns: [{name: a, type: int64}, {name: b, type: utf8}]}]
    args: [{name: n, type: int64}]
    returns: [{name: a, type: int64}, {name: b, type: utf8}]
`, c, isolated)
	got := value(t, db, "WITH w AS (SELECT range AS a, 'x' || range AS b FROM range(3000)) SELECT count(*) AS n, sum(a) AS s, max(b) AS m FROM copied(w, 1)")
	if want := "{'n': 3000, 's': 4498500, 'm': x999}"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := value(t, db, "WITH w AS (SELECT 1 AS a, 'x' AS b WHERE false) SELECT * FROM copied(w, 1)"); got != "" {
		t.Errorf("rows of no rows: %s", got)
	}
}

// TestRelease closes a body when its last user has left.
func TestRelease(t *testing.T) {
	c := &code{call: integers(func(n int64) (int64, error) { return n, nil })}
	set := open(t, twice+"}\n", c, false).set
	id := ""
	for id = range set.functions {
	}
	if !set.Acquire(id) {
		t.Fatal("it is not there")
	}
	if set.Release(id); c.closed.Load() {
		t.Error("closed while it has a user")
	}
	set.Release(id)
	set.closing.Wait()
	if !c.closed.Load() || set.Acquire(id) {
		t.Error("not closed after the last user has left")
	}
}

// TestLimitsOfAll reads the time that a body gets for a batch, and the limits of all functions.
func TestLimitsOfAll(t *testing.T) {
	db, err := engine.Open(t.Context(), engine.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	const signature = "signature: {args: [{name: x, type: int64}], returns: int64}"
	pod := podtest.Load(t, "runtime: {tools: {limits: {max_calls: 7, batch_rows: 5}}}\nfunctions:\n- {name: code, from: exec, body: x, "+signature+
		"}\n- {name: slow, from: exec, body: x, limits: {timeout: 10m, max_calls: 9, batch_rows: 3}, "+signature+"}\n"+
		"tools:\n- {name: tool, from: 'tool:a__b', as_sql: true, "+signature+"}\n", codeKind)
	declared, problem := udf.DeclareTool(pod, 0, "a__b", nil)
	if problem != nil {
		t.Fatal(problem)
	}
	compiled, problems := functions.Compile(t.Context(), db, pod, nil, nil, declared)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	for name, want := range map[string]time.Duration{"code": body.DefaultTimeout, "slow": 10 * time.Minute, "tool": 24 * time.Hour} {
		var left time.Duration
		f := newFunction(NewSet(), compiled.Get(name), &code{call: func(ctx context.Context, batch arrow.RecordBatch) (arrow.Array, error) {
			end, _ := ctx.Deadline()
			left = time.Until(end)
			return same(ctx, batch)
		}})
		if own := name == "slow"; own && (f.maxCalls != 9 || f.batchRows != 3) || !own && (f.maxCalls != 7 || f.batchRows != 5) {
			t.Errorf("%s: %d calls of %d rows", name, f.maxCalls, f.batchRows)
		}
		column := array.NewInt64Builder(memory.DefaultAllocator)
		column.Append(1)
		batch := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64}}, nil), []arrow.Array{column.NewArray()}, 1)
		if _, err := f.callBody(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		if left > want || left < want/2 {
			t.Errorf("%s has %s, want about %s", name, left, want)
		}
	}
}
