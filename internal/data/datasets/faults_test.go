package datasets

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/test/exttest"
	"github.com/spiced-sql/spiced/internal/test/flighttest"
	"github.com/spiced-sql/spiced/internal/test/gate"
	"github.com/spiced-sql/spiced/internal/test/pgtest"
)

// TestServersEndDuringAScan ends the connections of a server while a statement, or a load,
// reads from it, and lets it come back. The statement says which server; others are
// answered meanwhile.
func TestServersEndDuringAScan(t *testing.T) {
	t.Run("s3", func(t *testing.T) {
		w, s := newS3(t)
		path, seed := filepath.Join(w.dir, "random.parquet"), 0
		renew := func() { // DuckDB keeps what it has read of an object
			seed++
			w.exec(fmt.Sprintf("COPY (SELECT i AS id, md5('%d ' || i) || md5(i::TEXT) AS text FROM range(300000) t(i)) TO '%s' (ROW_GROUP_SIZE 20000)", seed, path))
			random, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			s.Put("lake", "r.parquet", string(random))
		}
		renew()
		g := gate.Open(t, strings.TrimPrefix(s.URL, "http://"))
		params := s3Params(s, "s3_endpoint", "http://"+g.Address)
		scanEnds(t, w, g, renew, "datasets:\n- {name: r, from: 's3://lake/r.parquet', "+params+"}\n- {name: fast, from: 's3://lake/r.parquet', "+params+
			", acceleration: {}}\n",
			"s3://lake/r.parquet", "the object store ")
	})
	t.Run("postgres", func(t *testing.T) {
		t.Setenv("PASS", pgtest.Password)
		w, s := newPostgres(t)
		s.Exec("CREATE TABLE r AS SELECT i AS id, repeat('x', 100) || i AS text FROM generate_series(0, 299999) i", "GRANT SELECT ON r TO reader")
		g := gate.Open(t, fmt.Sprintf("127.0.0.1:%d", s.Port))
		_, port, _ := strings.Cut(g.Address, ":")
		params := pgParams(s, "pg_port", port)
		scanEnds(t, w, g, func() {}, "datasets:\n- {name: r, from: 'postgres:r', "+params+"}\n- {name: fast, from: 'postgres:r', "+params+", acceleration: {}}\n",
			"PostgreSQL server", "PostgreSQL server")
	})
	t.Run("flightsql", func(t *testing.T) {
		w, s := newWorld(t), flighttest.Start(t, flighttest.Options{})
		var rows []string
		for i := range 300_000 {
			rows = append(rows, fmt.Sprintf(`{"id": %d, "text": "%s%d"}`, i, strings.Repeat("x", 20), i))
		}
		s.Table("r", arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "text", Type: arrow.BinaryTypes.String}}, nil),
			"["+strings.Join(rows[:100_000], ",")+"]", "["+strings.Join(rows[100_000:], ",")+"]")
		g := gate.Open(t, s.Address)
		scanEnds(t, w, g, func() {}, "datasets: ["+
			strings.TrimPrefix(strings.TrimSpace(flightDataset("fast", "flightsql:r", "flightsql_endpoint: 'http://"+g.Address+"'", "")), "- ")+"]\n",
			"", "Flight SQL server "+g.Address)
	})
}

// scanEnds closes the gate during a statement on r, if a part of its error is given, and
// during a refresh of fast. Both have 300,000 rows with a text, which renew changes.
func scanEnds(t *testing.T, w *world, g *gate.Gate, renew func(), sections, ofStatement, ofRefresh string) {
	t.Helper()
	w.t = t
	w.ok(sections)
	const some = 300_000 // bytes
	if ofStatement != "" {
		renew()
		g.CloseAfter(some)
		if _, err := w.read("SELECT max(text) FROM r"); err == nil || !strings.Contains(err.Error(), ofStatement) {
			t.Errorf("a statement: got %v\nwant %s", err, ofStatement)
		}
		w.want("SELECT count(*) FROM fast", "300000")
		g.Reopen()
		w.want("SELECT count(text) FROM r", "300000")
	}
	renew()
	g.CloseAfter(some)
	if err := w.refresh("fast", refresh.Override{}); err == nil || !strings.Contains(err.Error(), ofRefresh) {
		t.Errorf("a refresh: got %v\nwant %s", err, ofRefresh)
	}
	w.want("SELECT count(*) FROM fast", "300000")
	g.Reopen()
	if err := w.refresh("fast", refresh.Override{}); err != nil {
		t.Errorf("a refresh after it: %v", err)
	}
	w.want("SELECT count(text) FROM fast", "300000")
}

// TestObjectReplacedWhileRead replaces an object while a statement reads it: the statement
// has rows of one of both, or an error.
func TestObjectReplacedWhileRead(t *testing.T) {
	w, s := newS3(t)
	path := filepath.Join(w.dir, "new.parquet")
	w.exec("COPY (SELECT i + 1000000 AS id, repeat('y', 90) || i AS text FROM range(200000) t(i)) TO '" + path + "' (ROW_GROUP_SIZE 10000)")
	replacement, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	var gets atomic.Int64
	proxy := httputil.NewSingleHostReverseProxy(target)
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "r.parquet") && gets.Add(-1) == 0 {
			s.Put("lake", "r.parquet", string(replacement))
		}
		proxy.ServeHTTP(rw, r)
	}))
	t.Cleanup(front.Close)
	w.ok("datasets: [{name: r, from: 's3://lake/r.parquet', " + s3Params(s, "s3_endpoint", front.URL) + "}]\n")
	const query = "SELECT count(*), min(id), max(id), count(DISTINCT text[1]) FROM r"
	gets.Store(3)
	got, err := w.read(query)
	if n := gets.Load(); n > 0 {
		t.Fatalf("the object was not replaced during the statement: %d requests left", n)
	}
	if err == nil && got != "300000|0|299999|1" && got != "200000|1000000|1199999|1" {
		t.Errorf("got rows of both objects: %s", got)
	}
	if err != nil && !strings.Contains(err.Error(), "s3://lake/r.parquet") {
		t.Errorf("got %v", err)
	}
	w.want(query, "200000|1000000|1199999|1")
}

// TestThousandPartitions reads a thousand of them, and one.
func TestThousandPartitions(t *testing.T) {
	const all, one = "SELECT count(*), sum(id) FROM p", "SELECT id FROM p WHERE part = 500"
	t.Run("file", func(t *testing.T) {
		w := newWorld(t)
		for i := range 1000 {
			w.file(fmt.Sprintf("parts/part=%d/a.csv", i), fmt.Sprintf("id\n%d\n", i))
		}
		w.ok("datasets: [{name: p, from: 'file:parts/', params: {hive_partitioning: true}}]\n")
		w.want(all, "1000|499500")
		w.want(one, "500")
	})
	t.Run("s3", func(t *testing.T) {
		w, s := newS3(t)
		for i := range 200 {
			s.Put("lake", fmt.Sprintf("parts/part=%d/a.csv", i), fmt.Sprintf("id\n%d\n", i))
		}
		w.ok("datasets: [{name: p, from: 's3://lake/parts/', " + s3Params(s, "hive_partitioning_enabled", "true") + ", acceleration: {}}]\n")
		w.want(all, "200|19900")
		w.want("SELECT id FROM p WHERE part = 150", "150")
	})
	t.Run("postgres", func(t *testing.T) {
		t.Setenv("PASS", pgtest.Password)
		w, s := newPostgres(t)
		s.Exec("CREATE TABLE p (part int, id bigint) PARTITION BY LIST (part)",
			"DO $$ BEGIN FOR i IN 0..999 LOOP EXECUTE format('CREATE TABLE p_%s PARTITION OF p FOR VALUES IN (%s)', i, i); END LOOP; END $$",
			"INSERT INTO p SELECT i, i FROM generate_series(0, 999) i", "GRANT SELECT ON p TO reader")
		w.ok("datasets: [{name: p, from: 'postgres:p', " + pgParams(s) + "}]\n")
		w.want(all, "1000|499500")
		w.want(one, "500")
	})
}

// TestColumnDropped drops a column of a table while it is served: statements on the column
// fail with that reason, a copy keeps it until its refresh, and a load takes the columns that
// are left.
func TestColumnDropped(t *testing.T) {
	t.Run("postgres", func(t *testing.T) {
		t.Setenv("PASS", pgtest.Password)
		w, s := newPostgres(t)
		columnDropped(w, "{name: r, from: 'postgres:orders', "+pgParams(s)+"}", "{name: fast, from: 'postgres:orders', "+pgParams(s)+", acceleration: {}}", "100",
			func() { s.Exec("ALTER TABLE orders DROP COLUMN customer") })
	})
	t.Run("sqlite", func(t *testing.T) {
		w := newWorld(t, exttest.Find(t, "sqlite_scanner"))
		file, err := os.ReadFile("testdata/shop.sqlite")
		if err != nil {
			t.Fatal(err)
		}
		path := w.file("shop.db", string(file))
		columnDropped(w, "{name: r, from: 'sqlite:shop.db/orders'}", "{name: fast, from: 'sqlite:shop.db/orders', acceleration: {}}", "3", func() {
			w.exec("ATTACH '" + path + "' AS writer (TYPE sqlite)")
			w.exec("DROP VIEW writer.large")
			w.exec("ALTER TABLE writer.orders DROP COLUMN customer")
			w.exec("DETACH writer")
		})
	})
	t.Run("file", func(t *testing.T) {
		w := newWorld(t)
		w.file("r.csv", "id,customer\n1,a\n2,b\n")
		columnDropped(w, "{name: r, from: 'file:r.csv'}", "{name: fast, from: 'file:r.csv', acceleration: {}}", "2", func() { w.file("r.csv", "id\n1\n2\n") })
	})
	t.Run("s3", func(t *testing.T) {
		w, s := newS3(t)
		s.Put("lake", "r.csv", "id,customer\n1,a\n2,b\n")
		params := s3Params(s)
		columnDropped(w, "{name: r, from: 's3://lake/r.csv', "+params+"}", "{name: fast, from: 's3://lake/r.csv', "+params+", acceleration: {}}", "2",
			func() { s.Put("lake", "r.csv", "id\n1\n2\n") })
	})
	t.Run("https", func(t *testing.T) {
		w := newWorld(t)
		s := newSite(t, serve("id,customer\n1,a\n2,b\n"))
		from := "from: '" + s.URL + "/r.csv'"
		w.ok("datasets:\n- {name: r, " + from + "}\n- {name: fast, " + from + ", acceleration: {}}\n")
		s.set(serve("id\n1\n2\n"))
		w.want("SELECT count(customer) FROM r", "2") // the file that was fetched
		if err := w.refresh("fast", refresh.Override{}); err != nil {
			t.Error(err)
		}
		w.want("FROM fast ORDER BY id", "1, 2")
	})
}

func columnDropped(w *world, r, fast, rows string, drop func()) {
	w.t.Helper()
	sections := "datasets:\n- " + r + "\n- " + fast + "\n"
	w.ok(sections)
	drop()
	if _, err := w.read("SELECT customer FROM r"); err == nil || !strings.Contains(err.Error(), "customer") {
		w.t.Errorf("got %v", err)
	}
	w.want("SELECT count(*) FROM fast", rows)
	if err := w.refresh("fast", refresh.Override{}); err != nil {
		w.t.Error(err)
	}
	if problems := w.reload(sections); len(problems) > 0 {
		w.t.Error(problems)
	}
	for _, name := range []string{"r", "fast"} {
		w.want("SELECT count(*) FROM "+name, rows)
		if _, err := w.read("SELECT customer FROM " + name); err == nil {
			w.t.Errorf("%s has the column still", name)
		}
	}
}

// TestTLSRefused reads from servers whose certificates no one vouches for, and from
// servers without TLS.
func TestTLSRefused(t *testing.T) {
	w, s := newS3(t)
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "a\n1\n") }))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	plain := strings.TrimPrefix(s.URL, "http://")
	host := strings.TrimPrefix(secure.URL, "https://")
	for _, c := range []struct{ declared, message, hint string }{
		{"from: '" + secure.URL + "/a.csv', params: {max_retries: 0}", "x509: certificate signed by unknown authority", "add the authority"},
		{"from: 'https://" + plain + "/a.csv', params: {max_retries: 0}", "does not look like a TLS handshake", "write http://"},
		{"from: 'http://" + host + "/a.csv', params: {max_retries: 0}", "the server answered 400 Bad Request", ""},
		{
			"from: 's3://lake/r.parquet', " + s3Params(s, "s3_endpoint", secure.URL), "the certificate of the object store " + host + " is not valid: x509: ",
			"add the authority",
		},
		{"from: 's3://lake/r.parquet', " + s3Params(s, "s3_endpoint", "https://"+plain), "the object store " + plain + " has no TLS", "write http://"},
	} {
		problems := w.reload("datasets:\n- {name: good, from: 's3://lake/trips/', " + s3Params(s) + "}\n- {name: bad, " + c.declared + "}\n")
		if len(problems) != 1 || !strings.Contains(problems[0].Message, c.message) || !strings.Contains(problems[0].Hint, c.hint) {
			t.Errorf("%s: got %v\nwant %s; %s", c.declared, problems, c.message, c.hint)
		}
		w.want("SELECT count(*) FROM good", "3")
	}
}
