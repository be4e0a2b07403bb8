package sqlapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/internal/sql/query"
	"github.com/spiced-sql/spiced/internal/test/full"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

func TestSQLForms(t *testing.T) {
	f := serve(t, nil)
	for accept, want := range map[string]string{
		"":                                    `[{"a":1,"b":"x"}]`,
		"application/json":                    `[{"a":1,"b":"x"}]`,
		"application/vnd.spiceai.sql.v1+json": `"data":[{"a":1,"b":"x"}],"row_count":1}`,
		"application/x-ndjson":                "{\"a\":1,\"b\":\"x\"}\n",
		"text/csv":                            "a,b\n1,x\n",
		"text/plain":                          "| 1 | x |",
		"image/png":                           `[{"a":1,"b":"x"}]`,
	} {
		f.want(f.send("POST", "/v1/sql", "SELECT 1 AS a, 'x' AS b", "Accept", accept), 200, want)
	}
	r := f.send("POST", "/v1/sql", "SELECT range AS x FROM range(1000)", "Accept", "application/vnd.apache.arrow.stream")
	reader, err := ipc.NewReader(strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Release()
	rows := int64(0)
	for reader.Next() {
		rows += reader.RecordBatch().NumRows()
	}
	if rows != 1000 || r.header.Get("Content-Type") != "application/vnd.apache.arrow.stream" {
		t.Errorf("got %d rows, %v", rows, r.header)
	}
}

func TestSQLGeneration(t *testing.T) {
	f := serve(t, nil)
	r := f.send("POST", "/v1/sql", "SELECT 1 AS a")
	if _, err := strconv.ParseUint(r.header.Get("X-Spiced-Generation"), 10, 64); err != nil {
		t.Errorf("the generation: %v", err)
	}
	if r := f.send("POST", "/v1/sql", "SELECT nosuch"); r.header.Get("X-Spiced-Generation") != "" {
		t.Error("a statement that failed names a generation")
	}
}

func TestSQLParameters(t *testing.T) {
	f := serve(t, nil)
	post := func(body string) reply {
		return f.send("POST", "/v1/sql", body, "Content-Type", "application/json; charset=utf-8")
	}
	f.want(post(`{"sql":"SELECT $1 + $2 AS x","parameters":[40,2]}`), 200, `[{"x":42}]`)
	f.want(post(`{"sql":"SELECT ? AS x","parameters":["a"]}`), 200, `[{"x":"a"}]`)
	f.want(post(`{"sql":"SELECT :name AS x","parameters":{"name":true}}`), 200, `[{"x":true}]`)
	f.want(post(`{"sql":"SELECT $1 AS x","parameters":[9223372036854775807]}`), 200, `[{"x":9223372036854775807}]`)
	f.want(post(`{"sql":"SELECT 1 AS x","parameters":null}`), 200, `[{"x":1}]`)
	f.want(post(`{"sql":"SELECT $1 * 10 AS x, $2::DOUBLE AS y","parameters":[0.1, 9007199254740992]}`), 200, `[{"x":1.0,"y":9007199254740992.0}]`)
	f.want(post(`{"sql":"SELECT $1 AS x","parameters":[10000000000000000000000000000000000000000]}`), 400, "does not fit exactly")
	f.want(post(`{"sql":"SELECT 1 AS x"}`), 200, `[{"x":1}]`)
	for body, want := range map[string]string{
		`{"sql":"SELECT 1","parameter":[]}`:              `did you mean "parameters"?`,
		`{"sql":"SELECT 1","sql":"SELECT 2"}`:            `"sql" is there twice`,
		`{"sql":"SELECT $a","parameters":{"a":1,"a":2}}`: `the name "a" twice`,
		`{"sql":"SELECT $1","parameters":["\ud800"]}`:    `surrogate pair, \ud800`,
		`{"sql":"SELECT 1"} x`:                           "something after the object",
		`{"sql":"SELECT 1"`:                              "ends too early",
		`{"sql":1}`:                                      "JSON number",
		`{"sql":null}`:                                   "sql is null",
		`{"parameters":[]}`:                              `there is no "sql"`,
		`{"sql":"  "}`:                                   "no SQL",
		`{"sql":"SELECT 1","parameters":3}`:              "neither an array nor an object",
		`["SELECT 1"]`:                                   "not an object",
		`{"sql":"SELECT $1","parameters":[]}`:            "1 parameter, got 0; bind one value for each parameter",
		``:                                               "Invalid JSON",
		strings.Repeat(`{"sql":`, 20_000):                "Invalid JSON",
		`{"sql":"SELECT 1","parameters":[1e999999]}`:     "",
		`{"sql":"SELECT $1","parameters":[` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `]}`: "nested",
	} {
		f.want(post(body), 400, want)
	}
}

func TestSQLErrors(t *testing.T) {
	f := serve(t, func(o *Options) { o.MaxBody = 1 << 20 })
	r := f.send("POST", "/v1/sql", "SELECT\n  nope")
	f.want(r, 400, "line 2, column 3")
	if got := r.header.Get("Content-Type"); got != "text/plain; charset=utf-8" {
		t.Errorf("content type %q", got)
	}
	r = f.send("POST", "/v1/sql", "SELECT\n  nope", "Accept", "text/csv, application/json")
	var e requestError
	if err := json.Unmarshal([]byte(r.body), &e); err != nil || e.Code != "not_found" || e.Line != 2 || e.Column != 3 {
		t.Errorf("got %s", r.body)
	}
	f.want(f.send("POST", "/v1/sql", "DROP TABLE x"), 400, "")
	f.want(f.send("POST", "/v1/sql", "SELECT * FROM nope"), 400, "nope")
	f.want(f.send("POST", "/v1/sql", "SELECT error('boom')"), 400, "boom")
	f.want(f.send("POST", "/v1/sql", ""), 400, "no SQL")
	f.want(f.send("POST", "/v1/sql", "SELECT '\xff'"), 400, "not UTF-8")
	f.want(f.send("POST", "/v1/sql", "SELECT 1", "Content-Encoding", "gzip"), 415, "gzip")
	f.want(f.send("POST", "/v1/sql", "\uFEFFSELECT 7 AS x"), 200, "7")
	f.want(f.send("POST", "/v1/sql", "SELECT '"+strings.Repeat("x", 2<<20)+"'"), 413, "larger than 1048576 bytes")
	if got := f.scrape(); !strings.Contains(got, `queries_total{outcome="not_found"} 3`) {
		t.Error("failures are not counted by their code")
	}
}

func TestLargeBodies(t *testing.T) {
	f := serve(t, nil)
	// A statement is at most 1 MiB; parameters may be more.
	f.want(f.send("POST", "/v1/sql", "SELECT '"+strings.Repeat("x", 10<<20)+"'"), 413, "")
	body, err := json.Marshal(map[string]any{"sql": "SELECT length($1::VARCHAR) AS n", "parameters": []string{strings.Repeat("x", 10<<20)}})
	if err != nil {
		t.Fatal(err)
	}
	f.want(f.send("POST", "/v1/sql", string(body), "Content-Type", "application/json"), 200, `[{"n":10485760}]`)
}

func TestTimeoutIs504(t *testing.T) {
	f := serveWith(t, func(db query.Engine) query.Engine { return limited{db, engine.Limits{Timeout: 50 * time.Millisecond}} }, nil)
	f.want(f.send("POST", "/v1/sql", "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range % 7 = b.range % 5"), 504, "longer than")
}

// limited bounds every statement.
type limited struct {
	query.Engine
	limits engine.Limits
}

func (l limited) Query(ctx context.Context, req engine.Request) (*engine.Rows, error) {
	req.Limits = l.limits
	return l.Engine.Query(ctx, req)
}

// busy is a runtime with no place left.
type busy struct {
	query.Engine
	code errcode.Code
}

func (b busy) Query(context.Context, engine.Request) (*engine.Rows, error) {
	return nil, &engine.Error{Code: b.code, Message: "the runtime is busy"}
}

func TestBusyAndShuttingDown(t *testing.T) {
	f := serveWith(t, func(db query.Engine) query.Engine { return busy{db, errcode.Busy} }, nil)
	r := f.send("POST", "/v1/sql", "SELECT 1")
	f.want(r, 429, "is busy")
	if r.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	f = serveWith(t, func(db query.Engine) query.Engine { return busy{db, errcode.Cancelled} }, nil)
	f.want(f.send("POST", "/v1/sql", "SELECT 1"), 503, "is busy")
}

const endless = "SELECT range AS x, 'some text to make it long ' || range AS y FROM range(100000000000)"

func TestErrorsInMidStreamBreakTheConnectionOff(t *testing.T) {
	for _, accept := range []string{"application/json", "text/csv", "application/x-ndjson", "application/vnd.apache.arrow.stream", "text/plain"} {
		f := serve(t, nil)
		r := f.send("POST", "/v1/sql", "SELECT CASE WHEN range = 3000000 THEN error('late')::BIGINT ELSE range END AS x FROM range(5000000)", "Accept", accept)
		if r.status != 200 || r.err == nil {
			t.Errorf("%s: got %d and %d bytes without an error", accept, r.status, len(r.body))
		}
		wait.Until(t, "the log's line", func() bool { return strings.Contains(f.log.String(), `"broken_off":true`) })
		if !strings.Contains(f.scrape(), `queries_total{outcome="execution_error"} 1`) {
			t.Error("not counted")
		}
	}
}

func TestErrorsBeforeTheFirstByteHaveAStatus(t *testing.T) {
	f := serve(t, nil)
	for _, accept := range []string{"application/json", "text/csv", "application/vnd.apache.arrow.stream"} {
		r := f.send("POST", "/v1/sql", "SELECT CASE WHEN range = 100 THEN error('early')::BIGINT ELSE range END AS x FROM range(200)", "Accept", accept)
		f.want(r, 400, "early")
	}
}

func TestLeavingEndsTheStatement(t *testing.T) {
	f := serve(t, nil)
	for _, sql := range []string{endless, "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range % 7 = b.range % 5"} {
		ctx, cancel := context.WithCancel(context.Background())
		req, err := http.NewRequestWithContext(ctx, "POST", f.URL+"/v1/sql", strings.NewReader(sql))
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			res, err := f.Client().Do(req)
			if err == nil {
				io.CopyN(io.Discard, res.Body, 1<<20)
				cancel()
				res.Body.Close()
			}
		}()
		wait.Until(t, "the statement runs", func() bool { return f.db.Stats().Running > 0 || closed(done) })
		if sql != endless {
			cancel()
		}
		wait.Until(t, "the statement ends", func() bool { return f.db.Stats().Running == 0 })
		<-done
		cancel()
	}
	wait.Until(t, "both are counted", func() bool { return strings.Contains(f.scrape(), `queries_total{outcome="cancelled"} 2`) })
	if strings.Contains(f.log.String(), "internal error") {
		t.Error("leaving is no internal fault")
	}
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TestClientsThatDoNotReadAreGivenUp holds a connection without reading.
func TestClientsThatDoNotReadAreGivenUp(t *testing.T) {
	f := serve(t, func(o *Options) { o.WriteTimeout = 300 * time.Millisecond })
	conn := dial(t, f)
	fmt.Fprintf(conn, "POST /v1/sql HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(endless), endless)
	wait.Until(t, "the client is given up", func() bool { return strings.Contains(f.scrape(), `queries_total{outcome="not_sent"} 1`) })
	wait.Until(t, "the statement ends", func() bool { return f.db.Stats().Running == 0 })
}

func TestBodiesThatDoNotArriveAreGivenUp(t *testing.T) {
	f := serve(t, func(o *Options) { o.BodyTimeout = 100 * time.Millisecond })
	conn := dial(t, f)
	fmt.Fprint(conn, "POST /v1/sql HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nSELECT")
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusRequestTimeout {
		t.Errorf("got %d", res.StatusCode)
	}
}

func dial(t *testing.T, f *fixture) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", f.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// TestADeadlineDoesNotOutliveItsRequest uses a connection again after the
// write deadline of its first request, also for an answer that is long in
// coming. It is in a bubble, where an hour is no time.
func TestADeadlineDoesNotOutliveItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		l := &oneConn{conn: there, closed: make(chan struct{})}
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			x := newResponseWriter(w, time.Second)
			if r.URL.Path == "/late" {
				time.Sleep(time.Hour)
			}
			io.WriteString(x, "ok")
		})}
		go server.Serve(l)
		defer server.Close()
		answers := bufio.NewReader(here)
		for _, path := range []string{"/", "/", "/late"} {
			fmt.Fprintf(here, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
			res, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatal(err)
			}
			if body, err := io.ReadAll(res.Body); err != nil || string(body) != "ok" {
				t.Errorf("%s: %q %v", path, body, err)
			}
			time.Sleep(time.Hour)
		}
	})
}

// oneConn is a listener with one connection.
type oneConn struct {
	conn   net.Conn
	closed chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	if c := l.conn; c != nil {
		l.conn = nil
		return c, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

func (l *oneConn) Close() error {
	close(l.closed)
	return nil
}

func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// TestRowsArriveBeforeTheLastOne has a statement that looks for its last rows
// for a long time. DuckDB itself keeps up to 1 MB of rows back.
func TestRowsArriveBeforeTheLastOne(t *testing.T) {
	f := serve(t, nil)
	sql := "SELECT range AS x FROM range(100000000000) WHERE range < 2000000 OR range % 1000003 = 1000004"
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "POST", f.URL+"/v1/sql", strings.NewReader(sql))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/x-ndjson")
	res, err := f.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for i := range 1_500_000 {
		if !lines.Scan() {
			t.Fatalf("line %d: %v", i, lines.Err())
		}
	}
	cancel()
	wait.Until(t, "the statement ends", func() bool { return f.db.Stats().Running == 0 })
}

// flushes tells of each flush.
type flushes struct {
	httptest.ResponseRecorder
	flushed chan int
}

func (f *flushes) Flush() { f.flushed <- f.Body.Len() }

func TestFewRowsAreFlushedWhenNoMoreCome(t *testing.T) {
	f := serve(t, nil)
	for _, name := range []string{"ndjson", "arrow"} {
		rows, err := f.db.Query(context.Background(), engine.Request{SQL: "SELECT 1 AS x"})
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		form, _ := format.ByName(name)
		w := &flushes{ResponseRecorder: *httptest.NewRecorder(), flushed: make(chan int, 1)}
		x := newResponseWriter(w, time.Second)
		s := &stream{w: x, form: form.NewWriter(x)}
		if err := s.Begin(rows.Columns()); err != nil {
			t.Fatal(err)
		}
		for chunk, err := range rows.Chunks() {
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Write(chunk); err != nil {
				t.Fatal(err)
			}
			if n := <-w.flushed; n == 0 {
				t.Errorf("%s: nothing was flushed", name)
			}
		}
		s.stop()
	}
}

func TestMemoryDoesNotGrowWithTheResult(t *testing.T) {
	full.Need(t, "reads 200 MB")
	f := serve(t, nil)
	for _, accept := range []string{"text/csv", "application/vnd.apache.arrow.stream", "text/plain"} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		req, err := http.NewRequestWithContext(context.Background(), "POST", f.URL+"/v1/sql",
			strings.NewReader("SELECT range AS a, range * 0.5 AS b, 'text ' || range AS c FROM range(2000000)"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", accept)
		res, err := f.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if err != nil || n < 20<<20 {
			t.Fatalf("%s: %d bytes, %v", accept, n, err)
		}
		runtime.ReadMemStats(&after)
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 64<<20 {
			t.Errorf("%s: %d MiB were allocated for %d MiB", accept, allocated>>20, n>>20)
		}
	}
}

func TestTheLogHasNoLiterals(t *testing.T) {
	f := serve(t, nil)
	f.want(f.send("POST", "/v1/sql", "SELECT 'hunter2' AS password, 424242 AS pin"), 200, "hunter2")
	f.send("POST", "/v1/sql", "SELECT 'hunter2' FROM nowhere WHERE pin = 424242")
	log := f.log.String()
	if strings.Contains(log, "hunter2") || strings.Contains(log, "424242") {
		t.Errorf("a literal is in the log: %s", log)
	}
	if !strings.Contains(log, `"sql":"select ? as password, ? as pin"`) || !strings.Contains(log, `"rows":1`) {
		t.Errorf("no fingerprint: %s", log)
	}
}

func TestConcurrentClients(t *testing.T) {
	f := serve(t, nil)
	errs := make(chan error, 16)
	for i := range 16 {
		go func() {
			var err error
			for range 20 {
				res, e := f.Client().Post(f.URL+"/v1/sql", "text/plain", strings.NewReader(fmt.Sprintf("SELECT sum(range) + %d AS x FROM range(5000)", i)))
				if e != nil {
					err = e
					break
				}
				body, e := io.ReadAll(res.Body)
				res.Body.Close()
				if want := fmt.Sprintf(`[{"x":%d}]`, 12497500+i); e != nil || !bytes.Equal(body, []byte(want)) {
					err = fmt.Errorf("got %s %v", body, e)
				}
			}
			errs <- err
		}()
	}
	for range 16 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func FuzzDecodeSQL(f *testing.F) {
	for _, s := range []string{
		`{"sql":"SELECT 1"}`, `{"sql":"x","parameters":[1,"a",null,true,1e5,[{}]]}`, `{"sql":"x","parameters":{"a":1}}`,
		`{}`, `[]`, `{"sql":`, `{"sql":"a","sql":"b"}`, `{"x":{}}`, "{\"sql\":\"\\ud800\"}", `{"parameters":null,"sql":""} `,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := decodeSQL(body)
		if err == nil {
			var any struct {
				SQL string `json:"sql"`
			}
			if json.Unmarshal(body, &any) != nil || any.SQL != req.SQL {
				t.Fatalf("%q: got %q, encoding/json %q", body, req.SQL, any.SQL)
			}
			return
		}
		if e := asRequestError(err); e.Code != errcode.InvalidRequest {
			t.Fatalf("%q: %v is no fault of the client's", body, err)
		}
	})
}
