package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spiced-sql/spiced/internal/sql/extension"
	"github.com/spiced-sql/spiced/internal/test/exttest"
	"github.com/spiced-sql/spiced/internal/test/githubtest"
	"github.com/spiced-sql/spiced/internal/test/laketest"
	"github.com/spiced-sql/spiced/internal/test/pgtest"
	"github.com/spiced-sql/spiced/internal/test/s3test"
)

// sourcesPod has datasets of a PostgreSQL server, of an object store, and of tables of
// lakes in a folder and in the store. A reload adds those in MORE.
const sourcesPod = "version: v1\nkind: Spicepod\nname: sources\n" + `runtime:
  functions: { enabled: true }
  extensions: { directory: EXTENSIONS }
functions:
  - { name: total, from: sql, signature: { args: [{ name: c, type: utf8 }], returns: float64 }, body: (SELECT sum(amount)::DOUBLE FROM orders WHERE customer = c) }
datasets:
  - { name: orders, from: "postgres:orders", params: { pg_host: 127.0.0.1, pg_port: PORT, pg_db: test, pg_user: reader, pg_pass: "${secrets:sources_pass}" } }
  - { name: trips, from: "s3://lake/trips/", params: { s3_endpoint: "URL", s3_key: KEY, s3_secret: "${secrets:sources_s3}" } }
  - { name: delta, from: "delta_lake:lakes/delta" }
  - { name: ducks, from: "ducklake:orders", params: { ducklake_connection_string: "sqlite:lakes/meta.sqlite" } }
  - { name: ice, from: "iceberg:s3://lake/lakes/ice", params: { iceberg_s3_endpoint: "URL", iceberg_s3_access_key_id: KEY, iceberg_s3_secret_access_key: "${secrets:sources_s3}" } }
  MORE
`

// TestSources reads a PostgreSQL server and an object store over every entrance, in
// workers too, changes and ends the server, and adds datasets in a reload.
func TestSources(t *testing.T) {
	t.Parallel()
	directory := filepath.Dir(exttest.Find(t, "postgres_scanner").Path)
	for _, name := range extension.Needed("delta", "iceberg", "ducklake") {
		exttest.Find(t, name)
	}
	database, objects := pgtest.Start(t), s3test.Start(t)
	database.Exec("CREATE TABLE orders (id bigint PRIMARY KEY, customer text, amount numeric(10,2))",
		"INSERT INTO orders SELECT i, 'c' || i % 10, i FROM generate_series(1, 100) i", "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
	objects.Bucket("lake")
	objects.Put("lake", "trips/a.csv", "id,customer\n1,c1\n2,c2\n")
	objects.Put("lake", "more/b.csv", "id\n7\n")
	pod := func(more string) string {
		return strings.NewReplacer("EXTENSIONS", directory, "PORT", fmt.Sprint(database.Port), "URL", objects.URL, "KEY", objects.Key, "MORE",
			more).Replace(sourcesPod)
	}
	dir := folder(t, "spicepod.yaml", pod(""), ".env", dotenv("SOURCES_PASS", pgtest.Password, "SOURCES_S3", objects.Secret))
	if err := os.Mkdir(filepath.Join(dir, "lakes"), 0o755); err != nil {
		t.Fatal(err)
	}
	laketest.Write(t, "delta_hostile", filepath.Join(dir, "lakes/delta"))
	laketest.Write(t, "ducklake", "sqlite:"+filepath.Join(dir, "lakes/meta.sqlite")+","+filepath.Join(dir, "lakes/data/"))
	keys := []string{
		"AWS_ENDPOINT_URL=" + objects.URL, "AWS_ACCESS_KEY_ID=" + objects.Key, "AWS_SECRET_ACCESS_KEY=" + objects.Secret, "AWS_REGION=us-east-1",
		"LAKE_STATE=" + t.TempDir(),
	}
	laketest.Write(t, "iceberg", "s3://lake/lakes/ice", keys...)
	laketest.Write(t, "delta", "s3://lake/lakes/delta", keys...)
	p := startInTemp(t, dir, sqlProtocols()...)
	p.eventually("to be ready", func() bool { return p.do("GET", "/v1/ready", "").status == 200 })

	const joined = "SELECT o.id, o.amount::VARCHAR AS amount FROM orders o JOIN trips USING (id, customer) ORDER BY id"
	p.want(p.do("POST", "/v1/sql", joined), 200, `[{"id":1,"amount":"1.00"},{"id":2,"amount":"2.00"}]`)
	p.want(p.do("POST", "/v1/sql", "SELECT total('c3') AS t"), 200, `[{"t":480.0}]`)
	p.want(p.do("POST", "/v1/tools/total", `{"c":"c3"}`), 200, "480")
	if got := p.sql("SELECT count(*) AS n FROM orders WHERE id > 50"); !strings.Contains(got, "50") {
		t.Errorf("spiced sql: got %s", got)
	}
	p.want(p.do("POST", "/v1/sql", "SELECT count(*) AS n, sum(i.id) AS s FROM delta JOIN ice i USING (id) JOIN ducks USING (id)"), 200, `[{"n":2,"s":3}]`)
	// The function is refused where no worker can run the statement.
	p.want(p.do("POST", "/v1/sql",
		"SELECT max(damerau_levenshtein(o.customer, 'c1')) AS d FROM orders o JOIN trips USING (id) JOIN delta USING (id) JOIN ice USING (id) JOIN ducks USING (id)"),
		200, `[{"d":1}]`)

	secrets := []string{pgtest.Password, url.PathEscape(pgtest.Password), objects.Secret, "spiced-run-postgres", ".s.PGSQL", "gssencmode"}
	hostile := []string{
		"EXPLAIN FROM orders", "EXPLAIN ANALYZE FROM orders", "EXPLAIN (FORMAT json) FROM trips", "DESCRIBE orders", "SHOW ALL TABLES", "SUMMARIZE orders",
		"FROM duckdb_views()", "FROM duckdb_secrets()", "SELECT which_secret('s3://lake/x', 's3')", "FROM duckdb_databases()", "FROM postgres_query('x', 'SELECT 1')",
		"FROM postgres_scan('host=127.0.0.1', 'public', 'orders')", "FROM read_csv('s3://lake/trips/a.csv')", "FROM 's3://lake/trips/a.csv'",
		"SELECT current_setting('s3_secret_access_key')",
		"CREATE SECRET x (TYPE s3)", "ATTACH '' AS x (TYPE postgres)", "COPY orders TO 's3://lake/x.csv'", "CALL postgres_attach('')", "LOAD httpfs",
		"INSERT INTO orders VALUES (1)",
		"EXPLAIN ANALYZE FROM delta", "EXPLAIN FROM ice", "FROM delta_scan('" + dir + "/lakes/delta')", "FROM iceberg_scan('s3://lake/lakes/ice')",
		"FROM delta_list_files('/tmp')", "SELECT filename FROM delta", "FROM ducklake_snapshots('x')", "FROM ducks AT (VERSION => 1)",
		"CALL ducklake_expire_snapshots('x')", "FROM read_avro('s3://lake/x')",
		"SELECT error(customer) FROM orders", "SELECT customer::INT FROM orders", "FROM spiced.datasets", "FROM spiced.functions", "FROM spiced.load_errors",
	}
	for _, sql := range hostile {
		r := p.do("POST", "/v1/sql", sql)
		for _, s := range append(secrets, strings.TrimPrefix(objects.URL, "http://")) {
			if strings.Contains(r.body, s) {
				t.Errorf("%s shows %s: %s", sql, s, r.body)
			}
		}
	}

	// A reload adds datasets of another database and another folder.
	database.Exec("CREATE SCHEMA other", "CREATE TABLE other.t AS SELECT 42 AS x", "GRANT USAGE ON SCHEMA other TO reader", "GRANT SELECT ON other.t TO reader")
	write(t, filepath.Join(dir, "spicepod.yaml"), pod(`- { name: other, from: "postgres:other.t", params: { pg_host: 127.0.0.1, pg_port: `+
		fmt.Sprint(database.Port)+`, pg_db: test, pg_user: reader, pg_pass: "${secrets:sources_pass}", connection_pool_size: 5 } }
  - { name: more, from: "s3://lake/more/", params: { s3_endpoint: "`+objects.URL+`", s3_key: `+objects.Key+`, s3_secret: "${secrets:sources_s3}" } }
  - { name: delta2, from: "delta_lake:s3://lake/lakes/delta", params: { delta_lake_aws_endpoint: "`+objects.URL+`", delta_lake_aws_access_key_id: `+objects.Key+
		`, delta_lake_aws_secret_access_key: "${secrets:sources_s3}" } }`))
	p.eventually("to serve what the reload added", func() bool {
		return p.do("POST", "/v1/sql", "SELECT x, more.id, delta2.i FROM other, more JOIN delta2 ON delta2.id = 1").body == `[{"x":42,"id":7,"i":-1}]`
	})

	// The server's table changes, and the server ends and comes back.
	database.Exec("ALTER TABLE orders RENAME COLUMN customer TO client")
	p.eventually("to notice the column", func() bool {
		return strings.Contains(p.do("POST", "/v1/sql", "SELECT client FROM orders WHERE id = 1").body, "c1")
	})
	p.eventually("to say why the function is not served", func() bool {
		return strings.Contains(p.do("POST", "/v1/sql", "SELECT total('c3')").body, `function total is not served: Referenced column "customer"`)
	})
	database.Exec("ALTER TABLE orders RENAME COLUMN client TO customer")
	p.eventually("to notice the column again", func() bool {
		return p.do("POST", "/v1/sql", "SELECT total('c3')").status == 200
	})
	database.Stop()
	p.wantAway("SELECT count(*) AS n FROM orders", secrets)
	p.want(p.do("POST", "/v1/sql", "SELECT count(*) AS n FROM trips"), 200, `[{"n":2}]`)
	database.Start()
	p.eventually("to read the server again", func() bool {
		return p.do("POST", "/v1/sql", "SELECT count(*) AS n FROM orders").body == `[{"n":100}]`
	})
	p.wantNotLogged(secrets...)
	p.wantNothingLeft("spiced-run-postgres-*")
}

// wantAway waits until a statement fails because its server is away, without secrets.
func (p *program) wantAway(sql string, secrets []string) {
	p.t.Helper()
	p.eventually("to say that the server is away", func() bool {
		body := p.do("POST", "/v1/sql", sql).body
		for _, s := range secrets {
			if strings.Contains(body, s) {
				p.t.Fatalf("an error shows %s: %s", s, body)
			}
		}
		return strings.Contains(body, "connection refused")
	})
}

// apiPod has tables of a stand-in for GitHub, and a JSON API.
const apiPod = "version: v1\nkind: Spicepod\nname: apis\n" + `runtime:
  functions: { enabled: true }
functions:
  - { name: of_author, from: sql, signature: { args: [{ name: who, type: utf8 }], returns: int64 }, body: (SELECT count(*) FROM issues WHERE author = who) }
datasets:
  - { name: issues, from: "github:github.com/acme/shop/issues", params: { github_endpoint: "HUB", github_token: "${secrets:sources_hub}" }, acceleration: { enabled: true REFRESH } }
  - { name: files, from: "github:github.com/acme/shop/files/main", params: { github_endpoint: "HUB", github_token: "${secrets:sources_hub}", include: "**/*.md" }, acceleration: { enabled: true } }
  - name: trips
    from: "URL/trips"
    params: { pagination: enabled, pagination_next_pointer: /next, pagination_data_pointer: /data, http_headers: "X-Key: ${secrets:sources_api}" }
    acceleration: { enabled: true REFRESH }
`

// TestWebAPIs reads GitHub's stand-in and a JSON API over every entrance. The repository
// goes away and comes back, and so does the API.
func TestWebAPIs(t *testing.T) {
	t.Parallel()
	hub := githubtest.Start(t, "ghp_e2e-s3cr3t")
	hub.Repository("acme/shop", githubtest.Example(120), map[string]string{"README.md": "# Shop", "main.go": "package main"})
	var down atomic.Bool
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case down.Load() || r.Header.Get("X-Key") != "api-e2e-s3cr3t":
			http.Error(w, "no", http.StatusUnauthorized)
		case r.URL.Query().Get("page") == "":
			fmt.Fprint(w, `{"data": [{"id": 1, "stops": [{"city": "Köln"}]}, {"id": 2, "stops": []}], "next": "?page=2"}`)
		default:
			fmt.Fprint(w, `{"data": [{"id": 3, "stops": null}], "next": null}`)
		}
	}))
	t.Cleanup(api.Close)
	pod := func(refresh string) string {
		return strings.NewReplacer("HUB", hub.URL, "URL", api.URL, "REFRESH", refresh).Replace(apiPod)
	}
	dir := folder(t, "spicepod.yaml", pod(""), ".env", dotenv("SOURCES_HUB", "ghp_e2e-s3cr3t", "SOURCES_API", "api-e2e-s3cr3t"))
	p := startProcess(t, dir, sqlProtocols()...)
	p.want(p.do("POST", "/v1/sql", "SELECT count(*) AS n, max(labels[1]) AS label FROM issues"), 200, `[{"n":120,"label":"kind/bug"}]`)
	p.want(p.do("POST", "/v1/sql", "SELECT path, content FROM files"), 200, `[{"path":"README.md","content":"# Shop"}]`)
	p.want(p.do("POST", "/v1/sql", "SELECT id, stops[1].city AS city FROM trips ORDER BY id"),
		200, `[{"id":1,"city":"Köln"},{"id":2,"city":null},{"id":3,"city":null}]`)
	p.want(p.do("POST", "/v1/tools/of_author", `{"who":"ada"}`), 200, "120")
	for _, protocol := range p.protocolsFor("reader", "") {
		got := protocol.run(t.Context(), "SELECT CASE WHEN count(*) = 3 THEN 1 ELSE error('other rows') END AS n FROM issues JOIN trips ON number = trips.id")
		if got.err != nil {
			t.Errorf("%s: %s", protocol.name, got)
		}
	}
	secrets := []string{"ghp_e2e-s3cr3t", "api-e2e-s3cr3t"}
	for _, sql := range []string{
		"EXPLAIN FROM issues", "EXPLAIN ANALYZE FROM trips", "DESCRIBE issues", "FROM duckdb_views()", "FROM spiced.datasets",
		"FROM read_json('" + api.URL + "/trips')", "SELECT error(title) FROM issues",
	} {
		r := p.do("POST", "/v1/sql", sql)
		for _, s := range secrets {
			if strings.Contains(r.body, s) {
				t.Errorf("%s shows %s: %s", sql, s, r.body)
			}
		}
	}

	// Both are away: the rows stay, also after a reload, and refreshes say why.
	hub.Repository("acme/shop", "", nil)
	down.Store(true)
	for name, reason := range map[string]string{"issues": "Could not resolve to a Repository", "trips": "401 Unauthorized"} {
		p.do("POST", "/v1/datasets/"+name+"/acceleration/refresh", "{}")
		p.eventually("to say that "+name+" is away", func() bool {
			return strings.Contains(p.do("GET", "/v1/datasets?status=true", "").body+p.do("GET", "/v1/status", "").body, reason)
		})
	}
	p.want(p.do("POST", "/v1/sql", "SELECT (SELECT count(*) FROM issues) AS i, (SELECT count(*) FROM trips) AS t"), 200, `[{"i":120,"t":3}]`)
	hub.Repository("acme/shop", githubtest.Example(7), nil)
	down.Store(false)
	for _, name := range []string{"issues", "trips"} {
		p.do("POST", "/v1/datasets/"+name+"/acceleration/refresh", "{}")
	}
	p.eventually("to read the repository again", func() bool {
		return p.do("POST", "/v1/sql", "SELECT count(*) AS n FROM issues").body == `[{"n":7}]`
	})
	// A reload declares other refreshes: the datasets are loaded again.
	write(t, filepath.Join(dir, "spicepod.yaml"), pod(", refresh_check_interval: 1s"))
	hub.Repository("acme/shop", githubtest.Example(9), nil)
	p.eventually("to refresh by itself", func() bool {
		return p.do("POST", "/v1/sql", "SELECT count(*) AS n FROM issues").body == `[{"n":9}]`
	})
	p.wantNotLogged(secrets...)
}
