package remote

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/bodies/body"
	"github.com/spiced-sql/spiced/internal/sql/arrowrows"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/internal/test/podtest"
	"github.com/spiced-sql/spiced/spicepod"
)

const local = "allowed_endpoint_ranges: [127.0.0.0/8], "

// specOf returns the specification of the only function of a pod.
func specOf(t testing.TB, pod *spicepod.Pod) body.Spec {
	t.Helper()
	declared := pod.Functions[0]
	spec := body.Spec{Pod: pod, Path: "functions[0]", Declared: declared}
	table := func(columns []spicepod.Column) *engine.Type {
		row := &engine.Type{ID: engine.Struct}
		for _, c := range columns {
			row.Fields = append(row.Fields, engine.Field{Name: c.Name, Type: duck(t, c.Type)})
		}
		return &engine.Type{ID: engine.List, Elem: row}
	}
	var args []engine.Column
	for _, in := range declared.Signature.Tables {
		args = append(args, engine.Column{Name: in.Name, Type: table(in.Columns)})
	}
	for _, a := range declared.Signature.Args {
		args = append(args, engine.Column{Name: a.Name, Type: duck(t, a.Type)})
	}
	carried := func(columns []engine.Column) *arrow.Schema {
		return format.ArrowSchema(arrowrows.Columns(format.ArrowSchema(columns)))
	}
	spec.Args = carried(args)
	returns := table(declared.Signature.Returns.Columns)
	if !spec.IsTable() {
		returns = duck(t, declared.Signature.Returns.Type)
	}
	spec.Returns = carried([]engine.Column{{Name: "x", Type: returns}}).Field(0).Type
	return spec
}

func duck(t testing.TB, declared string) *engine.Type {
	t.Helper()
	typ, err := functions.ParseType(declared)
	if err != nil {
		t.Fatal(err)
	}
	return typ.Duck()
}

const addOne = "signature: { args: [{ name: x, type: int64 }], returns: int64 }"

// declare is a pod with one function.
func declare(t testing.TB, from, params, rest string) *spicepod.Pod {
	t.Helper()
	return podtest.Load(t, fmt.Sprintf("functions:\n  - name: f\n    from: %q\n    params: { %s }\n    %s\n", from, params, rest), Kind.BodyKind)
}

func open(t testing.TB, from, params, rest string) *Service {
	t.Helper()
	return openWith(t, from, params, rest, Maker{})
}

func openWith(t testing.TB, from, params, rest string, o Maker) *Service {
	t.Helper()
	b, err := o.New(t.Context(), specOf(t, declare(t, from, params, rest)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b.(*Service)
}

// batchOf makes a batch of columns that are lists in JSON.
func batchOf(t testing.TB, s *Service, columns ...string) arrow.RecordBatch {
	t.Helper()
	var fields []arrow.Field
	var arrays []arrow.Array
	rows := 0
	for i, list := range columns {
		a, err := s.inputs[i].form.Array([]byte(list), 1)
		if err != nil {
			t.Fatal(err)
		}
		fields = append(fields, arrow.Field{Name: fmt.Sprint(i), Type: a.DataType(), Nullable: true})
		arrays, rows = append(arrays, a), a.Len()
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, int64(rows))
}

// call returns the values as JSON.
func call(t testing.TB, s *Service, columns ...string) (string, error) {
	t.Helper()
	values, err := s.Call(t.Context(), batchOf(t, s, columns...))
	if err != nil {
		return "", err
	}
	defer values.Release()
	buf := []byte("[")
	for i := range values.Len() {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = s.result.Append(buf, values, i)
	}
	return string(append(buf, ']')), nil
}

func serve(t testing.TB, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server
}

// double answers {"values":[2x, …]} and counts requests.
func double(t testing.TB, requests *atomic.Int32) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		var in struct{ Rows []struct{ X *int64 } }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		values := []*int64{}
		for _, row := range in.Rows {
			if row.X != nil {
				*row.X *= 2
			}
			values = append(values, row.X)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"values": values})
	}
}

// answer always gives the same response.
func answer(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, text)
	}
}

func TestRequestsAndResponses(t *testing.T) {
	for name, c := range map[string]struct {
		rest    string
		columns []string
		request []string
		answer  string
		want    string
	}{
		"scalar": {
			"signature: { args: [{ name: x, type: int64 }, { name: s, type: utf8 }], returns: utf8 }",
			[]string{`[9007199254740993,null]`, `["a",null]`},
			[]string{`{"rows":[{"x":9007199254740993,"s":"a"},{"x":null,"s":null}]}`},
			`{"took": 1, "values": ["y", null]}`, `["y",null]`,
		},
		"no args": {
			"signature: { returns: 'decimal(30,2)' }", nil,
			[]string{`{"rows":[{}]}`},
			`{"values":[1234567890123456789012345678.25]}`, `[1234567890123456789012345678.25]`,
		},
		"types": {
			"signature: { args: [{ name: d, type: date }, { name: b, type: binary }, { name: j, type: json }, { name: r, type: 'struct<a: list<float64>>' " +
				"}], returns: timestamp }",
			[]string{`["2024-02-29"]`, `["00ff"]`, `[{"k":[1]}]`, `[{"a":[0.5,null]}]`},
			[]string{`{"rows":[{"d":"2024-02-29","b":"00ff","j":{"k":[1]},"r":{"a":[0.5,null]}}]}`},
			`{"values":["2024-02-29T12:00:00"]}`, `["2024-02-29T12:00:00"]`,
		},
		"table": {
			"kind: table\n    signature: { args: [{ name: x, type: int64 }], returns: [{ name: a, type: int64 }, { name: b, type: utf8 }] }",
			[]string{`[7,null]`},
			[]string{`{"args":{"x":7}}`, `{"args":{"x":null}}`},
			`{"rows":[{"a":1,"b":"x","c":true},{"b":null}]}`, `[[{"a":1,"b":"x"},{"a":null,"b":null}],[{"a":1,"b":"x"},{"a":null,"b":null}]]`,
		},
		"table without rows": {
			"kind: table\n    signature: { returns: [{ name: a, type: int64 }] }", nil,
			[]string{`{"args":{}}`},
			`{"rows":[]}`, `[[]]`,
		},
		"tables": {
			"signature: { tables: [{ name: t, columns: [{ name: v, type: int64 }] }], args: [{ name: x, type: int64 }], returns: int64 }",
			[]string{`[[{"v":1},{"v":null}]]`, `[3]`},
			[]string{`{"args":{"x":3},"tables":{"t":[{"v":1},{"v":null}]}}`},
			`{"values":[9]}`, `[9]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var requests []string
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				text, _ := io.ReadAll(r.Body)
				requests = append(requests, string(text))
				if got := r.Header.Get("Content-Type"); got != "application/json" || r.Method != http.MethodPost || r.Header.Get("Idempotency-Key") != "" {
					t.Errorf("%s with %q", r.Method, r.Header)
				}
				io.WriteString(w, c.answer)
			})
			s := open(t, server.URL+"/v1", local+"batch_concurrency: 1", c.rest)
			columns := c.columns
			var got string
			var err error
			if columns == nil {
				var values arrow.Array
				values, err = s.Call(t.Context(), array.NewRecordBatch(arrow.NewSchema(nil, nil), nil, 1))
				if err == nil {
					got = "[" + string(s.result.Append(nil, values, 0)) + "]"
				}
			} else {
				got, err = call(t, s, columns...)
			}
			if err != nil || got != c.want {
				t.Errorf("got %s, %v; want %s", got, err, c.want)
			}
			if fmt.Sprint(requests) != fmt.Sprint(c.request) {
				t.Errorf("got requests %s, want %s", requests, c.request)
			}
		})
	}
}

// rowsJSON is a list of numbers from 0.
func rowsJSON(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ",%d", i)
	}
	return "[" + b.String()[1:] + "]"
}

func TestBatchesInOrderAtOnce(t *testing.T) {
	var requests, arrived, running, most atomic.Int32
	var together sync.WaitGroup
	together.Add(3) // the first three requests wait for each other
	inner := double(t, &requests)
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n := running.Add(1)
		defer running.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		if arrived.Add(1) <= 3 {
			together.Done()
			together.Wait()
		}
		inner(w, r)
	})
	s := open(t, server.URL, local+"batch_size: 10, batch_concurrency: 3", addOne)
	got, err := call(t, s, rowsJSON(95))
	if err != nil || !strings.HasPrefix(got, "[0,2,4,") || !strings.HasSuffix(got, ",186,188]") || strings.Count(got, ",") != 94 {
		t.Errorf("%v %s", err, got)
	}
	if requests.Load() != 10 || most.Load() != 3 {
		t.Errorf("%d requests, %d at once", requests.Load(), most.Load())
	}
}

func TestErrorsOfTheService(t *testing.T) {
	long := strings.Repeat("é", 300)
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		params string
		want   string
	}{
		"status":      {answer(500, "no\nsuch\r\nthing"), "", `remote function 'f' returned HTTP 500: no such  thing`},
		"long status": {answer(404, long), "", `returned HTTP 404: ` + strings.Repeat("é", 256) + "… [truncated]"},
		"not JSON":    {answer(200, `{"values":[1,2`), "", `remote function 'f' response was not valid JSON: unexpected end of JSON input`},
		"page":        {answer(200, `<html>`), "", `response was not valid JSON: invalid character '<'`},
		"nothing":     {answer(204, ``), "", `response was not valid JSON`},
		"list":        {answer(200, `[1,2]`), "", `response is not an object with the list "values"`},
		"no values":   {answer(200, `{"rows":[]}`), "", `response is not an object with the list "values"`},
		"no list":     {answer(200, `{"values":{}}`), "", `response is not an object with the list "values"`},
		"too few":     {answer(200, `{"values":[1]}`), "", `remote function 'f' returned 1 values for a batch of 2 rows`},
		"too many":    {answer(200, `{"values":[1,2,3]}`), "", `returned 3 values for a batch of 2 rows`},
		"type": {
			answer(200, `{"values":[1,"x"]}`), "",
			`remote function 'f' response values did not match declared return type: value 1: "x" is not a valid BIGINT`,
		},
		"too large": {
			answer(200, `{"values":[1,2]}`+strings.Repeat(" ", 2000)), "max_response_bytes: 1KiB",
			`response is larger than 1KiB (params.max_response_bytes)`,
		},
		"bomb": {bomb, "max_response_bytes: 1MiB", `response is larger than 1MiB (params.max_response_bytes)`},
		"cut":  {cut, "", `remote function 'f' request failed: unexpected EOF`},
		"token echoed": {func(w http.ResponseWriter, r *http.Request) {
			answer(401, r.Header.Get("Authorization"))(w, r)
		}, "auth_bearer: t0ken", `returned HTTP 401: Bearer ***`},
		"login page": {http.RedirectHandler("/login", http.StatusFound).ServeHTTP, "", `the server redirects as to a page`},
		"another host": {
			http.RedirectHandler("http://169.254.169.254/", http.StatusTemporaryRedirect).ServeHTTP,
			"", `the server redirects to another host, "169.254.169.254"`,
		},
		"many redirects": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path+"x", http.StatusTemporaryRedirect)
		}, "", `the server redirects more than 3 times`},
	} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int32
			good := double(t, &requests)
			var fails atomic.Bool
			fails.Store(true)
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if fails.Load() {
					c.answer(w, r)
					return
				}
				good(w, r)
			})
			s := open(t, server.URL+"/", local+c.params, addOne)
			_, err := call(t, s, `[1,2]`)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "t0ken") || strings.Contains(err.Error(), server.URL) {
				t.Errorf("error %v, want %s", err, c.want)
			}
			var row *body.Error
			if errors.As(err, &row) != (name == "type") || row != nil && row.Row != 1 {
				t.Errorf("row %+v", row)
			}
			fails.Store(false)
			if got, err := call(t, s, `[1,null]`); got != `[2,null]` {
				t.Errorf("the next call: %s %v", got, err)
			}
		})
	}
}

// bomb is 64 MiB in 64 KiB.
func bomb(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	for range 64 {
		if _, err := z.Write(bytes.Repeat([]byte(" "), 1<<20)); err != nil {
			return
		}
	}
	z.Close()
}

// cut ends the connection within the body.
func cut(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "100")
	io.WriteString(w, `{"values":`)
}

func TestRowsOfTables(t *testing.T) {
	const table = "kind: table\n    signature: { args: [{ name: x, type: int64 }], returns: [{ name: a, type: int64 }] }"
	for answered, want := range map[string]string{
		`{"rows":[{"a":1},{"a":2},{"a":3}]}`: `remote function 'f' returned 3 rows, which is more than 2 (params.max_rows)`,
		`{"rows":[{"a":1},{"a":"x"}]}`:       `response values did not match declared return type: row 1: field "a": "x" is not a valid BIGINT`,
		`{"rows":[{"a":1},[2]]}`:             `row 1: [2] is not a valid STRUCT`,
		`{"values":[1]}`:                     `response is not an object with the list "rows"`,
	} {
		server := serve(t, answer(200, answered))
		s := open(t, server.URL, local+"max_rows: 2", table)
		_, err := call(t, s, `[1]`)
		var row *body.Error
		if err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, &row) || row.Row != 0 {
			t.Errorf("%s: error %v, want %s", answered, err, want)
		}
	}
}

func TestRetries(t *testing.T) {
	for _, c := range []struct {
		status   int
		header   string
		failures int32
		params   string
		requests int32
		want     string
	}{
		{503, "", 2, "", 3, ""},
		{429, "0", 1, "", 2, ""},
		{503, "", 9, "max_retries: 1", 2, "returned HTTP 503: busy"},
		{503, "", 1, "max_retries: 0", 1, "returned HTTP 503: busy"},
		{429, "3600", 9, "", 1, "asks to wait 1h0m0s, which is longer than 30s"},
		{500, "", 1, "", 1, "returned HTTP 500: busy"},
		{502, "", 1, "", 1, "returned HTTP 502: busy"},
	} {
		var requests, seen atomic.Int32
		good := double(t, &requests)
		server := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if seen.Add(1) > c.failures {
				good(w, r)
				return
			}
			if c.header != "" {
				w.Header().Set("Retry-After", c.header)
			}
			answer(c.status, "busy")(w, r)
		})
		s := open(t, server.URL, local+c.params, addOne)
		got, err := call(t, s, `[4]`)
		if c.want == "" && got != "[8]" || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %s %v", c, got, err)
		}
		if seen.Load() != c.requests {
			t.Errorf("%+v: %d requests", c, seen.Load())
		}
	}
}

// A connection that is refused is tried again, and the next call works when the server is back.
func TestServerComesBack(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	s := open(t, "http://"+address, local+"max_retries: 1", addOne)
	if _, err := call(t, s, `[1]`); err == nil ||
		!strings.Contains(err.Error(), "remote function 'f' request failed: dial tcp "+address+": connect: connection refused") {
		t.Errorf("error %v", err)
	}
	if l, err = net.Listen("tcp", address); err != nil {
		t.Skip("the port is taken: " + err.Error())
	}
	var requests atomic.Int32
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: double(t, &requests)}}
	server.Start()
	defer server.Close()
	if got, err := call(t, s, `[1]`); got != "[2]" {
		t.Errorf("%s %v", got, err)
	}
}

func TestTimeout(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"silent": func(_ http.ResponseWriter, r *http.Request) { drain(r) },
		"endless": func(w http.ResponseWriter, r *http.Request) {
			for {
				if _, err := io.WriteString(w, " "); err != nil || r.Context().Err() != nil {
					return
				}
				w.(http.Flusher).Flush()
			}
		},
	} {
		server := serve(t, h)
		s := open(t, server.URL, local+"timeout: 50ms, max_response_bytes: 1GiB", addOne)
		if _, err := call(t, s, `[1]`); err == nil || err.Error() != "remote function 'f' request failed: the service took longer than 50ms (params.timeout)" {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// drain reads a request and waits until the client leaves.
func drain(r *http.Request) {
	io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func TestCancel(t *testing.T) {
	left, arrived := make(chan struct{}, 8), make(chan struct{}, 8)
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		drain(r)
		left <- struct{}{}
	})
	s := open(t, server.URL, local+"batch_size: 1, batch_concurrency: 2", addOne)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := s.Call(ctx, batchOf(t, s, `[1,2,3]`))
		done <- err
	}()
	<-arrived
	<-arrived
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	<-left
	<-left
	if len(s.slots) != 0 || len(arrived) != 0 {
		t.Errorf("%d slots are taken, and %d more requests came", len(s.slots), len(arrived))
	}
}

// A wait for the service ends with the call, and is not begun if the call ends before.
func TestWaitEndsWithTheCall(t *testing.T) {
	arrived := make(chan struct{}, 8)
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "20")
		w.WriteHeader(503)
		arrived <- struct{}{}
	})
	s := open(t, server.URL, local, addOne)
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	if _, err := s.Call(ctx, batchOf(t, s, `[1]`)); err == nil || !strings.Contains(err.Error(), "returned HTTP 503") || ctx.Err() != nil {
		t.Errorf("error %v after %v", err, ctx.Err())
	}
	<-arrived
	ctx, cancel = context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	if _, err := s.Call(ctx, batchOf(t, s, `[1]`)); err == nil {
		t.Error("no error")
	}
}

func TestTLS(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewUnstartedServer(double(t, &requests))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // a handshake fails
	server.StartTLS()
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	if got, err := call(t, openWith(t, server.URL, local, addOne, Maker{Roots: roots}), `[3]`); got != "[6]" {
		t.Errorf("%s %v", got, err)
	}
	if _, err := call(t, open(t, server.URL, local, addOne), `[3]`); err == nil ||
		!strings.Contains(err.Error(), "request failed: tls: failed to verify certificate") {
		t.Errorf("error %v", err)
	}
	downgrade := httptest.NewTLSServer(http.RedirectHandler("http://"+strings.TrimPrefix(server.URL, "https://"), http.StatusTemporaryRedirect))
	t.Cleanup(downgrade.Close)
	downgrade.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+r.Host+"/", http.StatusTemporaryRedirect)
	})
	roots.AddCert(downgrade.Certificate())
	if _, err := call(t, openWith(t, downgrade.URL, local, addOne, Maker{Roots: roots}), `[3]`); err == nil ||
		!strings.Contains(err.Error(), "redirects from https to http") {
		t.Errorf("error %v", err)
	}
}

func TestProxiesAreIgnored(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	if proxy := open(t, "http://a.example", "", addOne).client.Transport.(*http.Transport).Proxy; proxy != nil {
		t.Error("a proxy of the environment is used")
	}
}

func TestGuard(t *testing.T) {
	prefix := netip.MustParsePrefix
	for _, c := range []struct {
		address string
		ranges  []netip.Prefix
		private bool
		want    string
	}{
		{"93.184.216.34", nil, false, ""},
		{"2606:4700::1111", nil, false, ""},
		{"127.0.0.1", nil, false, "loopback"},
		{"127.0.0.1", nil, true, "loopback"},
		{"127.8.9.1", []netip.Prefix{prefix("127.0.0.0/8")}, false, ""},
		{"::1", nil, false, "loopback"},
		{"::1", []netip.Prefix{prefix("::1/128")}, false, ""},
		{"0.0.0.0", nil, true, "unspecified"},
		{"::", nil, true, "unspecified"},
		{"10.1.2.3", nil, false, "private"},
		{"10.1.2.3", nil, true, ""},
		{"10.1.2.3", []netip.Prefix{prefix("10.1.0.0/16")}, false, ""},
		{"10.2.2.3", []netip.Prefix{prefix("10.1.0.0/16")}, false, "private"},
		{"172.31.0.1", nil, true, ""},
		{"172.32.0.1", nil, false, ""},
		{"192.168.0.1", nil, false, "private"},
		{"fd12::1", nil, true, ""},
		{"fd12::1", nil, false, "private"},
		{"169.254.1.1", nil, true, "link-local"},
		{"fe80::1%eth0", nil, true, "link-local"},
		{"169.254.169.254", nil, true, "a metadata service"},
		{"169.254.169.254", []netip.Prefix{prefix("0.0.0.0/0")}, true, "a metadata service"},
		{"169.254.169.254", []netip.Prefix{prefix("169.254.169.254/32")}, false, ""},
		{"fd00:ec2::254", nil, true, "a metadata service"},
		{"168.63.129.16", nil, false, "a metadata service"},
		{"100.100.100.200", []netip.Prefix{prefix("100.64.0.0/10")}, false, "a metadata service"},
		{"100.64.0.1", nil, true, "of a carrier's network"},
		{"224.0.0.1", nil, true, "multicast"},
		{"ff02::1", nil, true, "multicast"},
		{"255.255.255.255", nil, true, "reserved"},
		{"198.18.0.1", nil, true, "reserved"},
		{"2001:db8::1", nil, true, "reserved"},
		{"2001::1", nil, true, "reserved"},
		{"64:ff9b:1::1", nil, true, "reserved"},
		{"::ffff:127.0.0.1", nil, false, "loopback"},
		{"::ffff:10.0.0.1", nil, true, ""},
		{"::ffff:93.184.216.34", nil, false, ""},
		{"::127.0.0.1", nil, false, "loopback as 127.0.0.1"},
		{"64:ff9b::7f00:1", nil, false, "loopback as 127.0.0.1"},
		{"64:ff9b::a9fe:a9fe", []netip.Prefix{prefix("::/0")}, true, "a metadata service as 169.254.169.254"},
		{"64:ff9b::5db8:d822", nil, false, ""},
		{"2002:7f00:1::", nil, false, "loopback as 127.0.0.1"},
		{"2002:a00:1::", nil, true, ""},
	} {
		g := guard{ranges: c.ranges, private: c.private}
		if got := g.refusal(netip.MustParseAddr(c.address)); got != c.want {
			t.Errorf("%s with %v, %v: %q, want %q", c.address, c.ranges, c.private, got, c.want)
		}
	}
}

// The address that was checked is the one that is connected to, whatever the name has later.
func TestNamesAreResolvedOnce(t *testing.T) {
	var requests atomic.Int32
	server := serve(t, double(t, &requests))
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(server.URL, "http://"))
	var lookups atomic.Int32
	answers := []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("127.0.0.1")}
	lookup := func(_ context.Context, host string) ([]netip.Addr, error) {
		if lookups.Add(1) > 1 || host != "geo.example" {
			return nil, errors.New("resolved again")
		}
		return answers, nil
	}
	s := openWith(t, "http://geo.example:"+port, local, addOne, Maker{Lookup: lookup})
	if got, err := call(t, s, `[1]`); got != "[2]" {
		t.Errorf("%s %v", got, err)
	}
	lookups.Store(0)
	s = openWith(t, "http://geo.example:"+port, "max_retries: 0", addOne, Maker{Lookup: lookup})
	const want = `remote function 'f' request failed: host "geo.example" is not at a public address: 10.0.0.1 is private, 127.0.0.1 is loopback. ` +
		`To allow it, list its network in params.allowed_endpoint_ranges; params.allow_private: true allows private networks; a metadata service must be listed by its address`
	if _, err := call(t, s, `[1]`); err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
	if requests.Load() != 1 {
		t.Errorf("%d requests", requests.Load())
	}
}

func TestLookupFails(t *testing.T) {
	for _, addrs := range [][]netip.Addr{nil, {}} {
		lookup := func(context.Context, string) ([]netip.Addr, error) {
			if addrs == nil {
				return nil, &net.DNSError{Err: "no such host", Name: "geo.example", IsNotFound: true}
			}
			return addrs, nil
		}
		s := openWith(t, "http://geo.example", "max_retries: 1", addOne, Maker{Lookup: lookup})
		_, err := call(t, s, `[1]`)
		if err == nil || !strings.Contains(err.Error(), "no such host") && !strings.Contains(err.Error(), "the host has no address") {
			t.Errorf("error %v", err)
		}
	}
}

func TestFaultyDeclarations(t *testing.T) {
	for _, c := range []struct{ from, params, rest, want, path string }{
		{"http://", "", addOne, `failed to parse endpoint URL 'http://': it names no host`, ".from"},
		{"http://[::1", "", addOne, `failed to parse endpoint URL 'http://[::1': missing ']' in host`, ".from"},
		{"http://u:p@h/", "", addOne, `the URL contains a user or a password`, ".from"},
		{"http://h/#x", "", addOne, `the URL has a fragment`, ".from"},
		{"http://h", "batch_size: 0", addOne, `param 'batch_size' is expected to be a positive integer ≤ 100000, got 0`, ".params.batch_size"},
		{"http://h", "batch_size: many", addOne, `param 'batch_size' is expected to be a positive integer ≤ 100000, got many`, ".params.batch_size"},
		{"http://h", "batch_concurrency: 65", addOne, `param 'batch_concurrency' is expected to be a positive integer ≤ 64, got 65`, ".params.batch_concurrency"},
		{"http://h", "max_retries: 11", addOne, `param 'max_retries' is expected to be an integer from 0 and ≤ 10, got 11`, ".params.max_retries"},
		{"http://h", "max_rows: 5", addOne, `params.max_rows is for table functions`, ".params.max_rows"},
		{"http://h", "max_response_bytes: 2GiB", addOne, `params.max_response_bytes takes 1 to 1073741824 bytes`, ".params.max_response_bytes"},
		{"http://h", "timeout: 2h", addOne, `params.timeout takes more than 0 and at most 1h0m0s`, ".params.timeout"},
		{"http://h", "auth_bearer: [a]", addOne, `params.auth_bearer takes text, not a list`, ".params.auth_bearer"},
		{"http://h", "auth_bearer: 12", addOne, `param 'auth_bearer' must be a plain string value`, ".params.auth_bearer"},
		{"http://h", `auth_bearer: ""`, addOne, `params.auth_bearer is empty`, ".params.auth_bearer"},
		{"http://127.0.0.1:8080/v1", "", addOne, `host "127.0.0.1" is not at a public address: 127.0.0.1 is loopback`, ".from"},
		{"http://[::1]/v1", "allow_private: true", addOne, `host "::1" is not at a public address: ::1 is loopback`, ".from"},
		{"http://169.254.169.254/latest", "allowed_endpoint_ranges: [169.254.0.0/16]", addOne, `169.254.169.254 is a metadata service`, ".from"},
		{"http://10.0.0.1", "allow_private: false", addOne, `10.0.0.1 is private`, ".from"},
		{
			"http://h", "allowed_endpoint_ranges: [10.0.0.0/33]", addOne, `params.allowed_endpoint_ranges[0]: "10.0.0.0/33" is not a network`,
			".params.allowed_endpoint_ranges",
		},
		{"http://h", "allow_private: perhaps", addOne, `params.allow_private takes true or false`, ".params.allow_private"},
		{"http://h", "batchsize: 5", addOne, `unknown param "batchsize" of a function from a URL`, ".params.batchsize"},
		{
			"http://h", "", "signature: { args: [{ name: x, type: 'union(n int64)' }], returns: int64 }", `has no form in JSON, which requests to a service are`,
			".signature.args[0].type",
		},
	} {
		_, err := Maker{}.New(t.Context(), specOf(t, declare(t, c.from, c.params, c.rest)))
		var list spicepod.Problems
		if !errors.As(err, &list) {
			t.Errorf("%s %s: %v, want %s", c.from, c.params, err, c.want)
			continue
		}
		p := list[0]
		if !strings.Contains(p.Message, c.want) || p.Path != "functions[0]"+c.path || p.Component != "function f" || p.Line == 0 {
			t.Errorf("%s %s: %v, want %s", c.from, c.params, err, c.want)
		}
	}
}

func TestParamsOfSpice(t *testing.T) {
	s := open(t, "HTTPS://h/v1",
		`timeout: "5", batch_size: "100", auth_bearer: abc, max_response_bytes: 1024, allowed_endpoint_ranges: [10.0.0.1, "fd00::/8"], allow_private: true`, addOne)
	if s.set.timeout != 5*time.Second || s.set.batchSize != 100 || s.set.bearer != "abc" || s.set.maxResponse != 1024 ||
		fmt.Sprint(s.set.ranges) != "[10.0.0.1/32 fd00::/8]" || !s.set.private {
		t.Errorf("%+v", s.set)
	}
	d := open(t, "https://h/v1", "", addOne).set
	if d.timeout != 30*time.Second || d.batchSize != 1024 || d.concurrency != 4 || d.maxResponse != 10<<20 || d.maxRows != 100_000 || d.retries != 2 {
		t.Errorf("%+v", d)
	}
}

// Whatever a service answers is values or an error.
func FuzzResponse(f *testing.F) {
	for _, seed := range []string{`{"values":[1,null]}`, `{"values":"x"}`, `{"rows":[{"a":1}]}`, `{"rows":[[]],"rows":[{"b":[{}]}]}`, `{"values":[`, ``} {
		f.Add(seed)
	}
	scalar := open(f, "http://h", "", "signature: { args: [{ name: x, type: int64 }], returns: 'list<struct<a: int64, b: utf8>>' }")
	table := open(f, "http://h", "", "kind: table\n    signature: { returns: [{ name: a, type: int64 }, { name: b, type: 'decimal(9,2)' }] }")
	f.Fuzz(func(t *testing.T, response string) {
		for _, s := range []*Service{scalar, table} {
			values, err := s.values([]byte(response), 2)
			if err == nil && values.Len() != 2 && !s.table || err != nil && !strings.HasPrefix(err.Error(), "remote function 'f' re") &&
				!strings.HasPrefix(err.Error(), "value ") {
				t.Errorf("%q: %v, %v", response, values, err)
			}
		}
	})
}
