package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/azuretest"
	"github.com/spiced-sql/spiced/internal/test/flighttest"
	"github.com/spiced-sql/spiced/internal/test/gate"
	"github.com/spiced-sql/spiced/internal/test/githubtest"
	"github.com/spiced-sql/spiced/internal/test/mysqltest"
	"github.com/spiced-sql/spiced/internal/test/pgtest"
	"github.com/spiced-sql/spiced/internal/test/s3test"
)

// standIn is what stands in for the sources of a connector in the Spicepods of the
// cookbook.
type standIn struct {
	connectors []string
	// start starts a server with what the Spicepods read, at an address, and returns the
	// params that differ from the Spicepods': where the server is, and its credentials. In
	// them HOST, PORT and ADDRESS are those that clients connect to. Nil: the sources are
	// files of the Spicepod.
	start func(t *testing.T) (address string, params map[string]string)
	// datasets are two of this kind, without names; where PARAMS is, the params are.
	datasets [2]string
	// catalogsOnly: the cookbook has no dataset of this kind, or catalogs only.
	catalogsOnly bool
}

// standIns has one entry for each kind of source.
var standIns = []standIn{
	{connectors: []string{"file"}, datasets: [2]string{"from: file:a.csv", "from: file:b.csv, acceleration: {}"}},
	{connectors: []string{"duckdb"}, datasets: [2]string{"from: duckdb:shop.db/customer", "from: duckdb:shop.db/customer, acceleration: {}"}},
	{connectors: []string{"sqlite"}, datasets: [2]string{"from: sqlite:shop.sqlite/orders", "from: sqlite:shop.sqlite/orders, acceleration: {}"}},
	{connectors: []string{"http", "https"}, start: webStandIn, datasets: [2]string{`from: "http://ADDRESS/zones.csv"`, `from: "http://ADDRESS/games.jsonl"`}},
	{connectors: []string{"postgres"}, start: postgresStandIn, datasets: [2]string{
		"from: postgres:zones, params: { pg_db: rides, PARAMS }", "from: postgres:products, params: { pg_db: shop, PARAMS }",
	}},
	{connectors: []string{"s3"}, start: s3StandIn, datasets: [2]string{
		`from: "s3://rides-public/partitioned/", params: { PARAMS }`, `from: "s3://rides-public/zones.csv", params: { PARAMS }`,
	}},
	{connectors: []string{"abfs", "abfss"}, start: azureStandIn, datasets: [2]string{
		`from: "abfs://rides@lakehouse/2025/", params: { PARAMS }`, `from: "abfss://rides@lakehouse.dfs.core.windows.net/zones.csv", params: { PARAMS }`,
	}},
	{connectors: []string{"gs"}, catalogsOnly: true, start: googleStandIn, datasets: [2]string{
		`from: "gs://rides-public/partitioned/", params: { PARAMS }`, `from: "gs://rides-public/zones.csv", params: { PARAMS }`,
	}},
	{connectors: []string{"mysql"}, start: mysqlStandIn, datasets: [2]string{
		"from: mysql:shop.sample, params: { mysql_sslmode: disabled, PARAMS }",
		"from: mysql:shop.more, params: { mysql_sslmode: disabled, PARAMS }, acceleration: {}",
	}},
	{connectors: []string{"github"}, start: githubStandIn, datasets: [2]string{
		"from: github:github.com/example/club/issues, params: { PARAMS }, acceleration: {}",
		"from: github:github.com/example/club/files/trunk, params: { PARAMS }, acceleration: {}",
	}},
	{connectors: []string{"delta_lake"}, catalogsOnly: true, datasets: [2]string{"from: delta_lake:delta", "from: delta_lake:delta, acceleration: {}"}},
	{connectors: []string{"iceberg"}, catalogsOnly: true, datasets: [2]string{"from: iceberg:iceberg", "from: iceberg:iceberg, acceleration: {}"}},
	{connectors: []string{"ducklake"}, catalogsOnly: true, datasets: [2]string{
		"from: ducklake:orders, params: { ducklake_connection_string: 'sqlite:meta.sqlite' }",
		"from: ducklake:orders, params: { ducklake_connection_string: 'sqlite:meta.sqlite' }, acceleration: {}",
	}},
	{connectors: []string{"flightsql"}, start: flightStandIn, datasets: [2]string{
		"from: flightsql:rides, params: { flightsql_username: ada, PARAMS }, acceleration: {}",
		"from: flightsql:rides, params: { flightsql_username: ada, PARAMS }, acceleration: { refresh_check_interval: 100ms }",
	}},
	{connectors: []string{"spice.ai", "spiceai"}, start: spiceStandIn, datasets: [2]string{
		"from: spice.ai/chain.recent_blocks, params: { PARAMS }, acceleration: {}",
		"from: spice.ai/example/club/datasets/rides, params: { PARAMS }, acceleration: {}",
	}},
}

// stand is a stand-in that is started.
type stand struct {
	standIn
	gate   *gate.Gate // nil for files
	params map[string]string
}

// startStandIns starts each stand-in once, and returns them by connector.
func startStandIns(t *testing.T) map[string]*stand {
	t.Helper()
	all := map[string]*stand{}
	for _, in := range standIns {
		s := &stand{standIn: in, params: map[string]string{}}
		if in.start != nil {
			address, params := in.start(t)
			s.gate = gate.Open(t, address)
			host, port, _ := strings.Cut(s.gate.Address, ":")
			for key, value := range params {
				s.params[key] = strings.NewReplacer("ADDRESS", s.gate.Address, "HOST", host, "PORT", port).Replace(value)
			}
		}
		for _, name := range in.connectors {
			all[name] = s
		}
	}
	return all
}

// dataset returns one of the datasets, as YAML on one line.
func (s *stand) dataset(name string, i int) string {
	var params []string
	for key, value := range s.params {
		params = append(params, fmt.Sprintf("%s: %q", key, value))
	}
	text := strings.ReplaceAll(s.datasets[i], "PARAMS", strings.Join(params, ", "))
	if s.gate != nil {
		text = strings.ReplaceAll(text, "ADDRESS", s.gate.Address)
	}
	return fmt.Sprintf("  - { name: %s, %s }\n", name, text)
}

func webStandIn(t *testing.T) (string, map[string]string) {
	web := httptest.NewServer(http.HandlerFunc(serveRecipeFile))
	t.Cleanup(web.Close)
	return strings.TrimPrefix(web.URL, "http://"), nil
}

func postgresStandIn(t *testing.T) (string, map[string]string) {
	server := pgtest.Start(t)
	for database, tables := range map[string][]string{
		"club":  {"CREATE TABLE members (email text PRIMARY KEY, changed_at timestamptz)", "INSERT INTO members VALUES ('a@x', '2025-01-01'), ('b@x', '2025-01-02')"},
		"shop":  {"CREATE TABLE products (id bigint, name text)", "INSERT INTO products VALUES (1, 'tea')"},
		"rides": {"CREATE TABLE zones (id bigint, zone text)", "INSERT INTO zones VALUES (1, 'north'), (2, 'south')"},
	} {
		server.Exec("CREATE DATABASE " + database)
		server.On(database, append(tables, "GRANT SELECT ON ALL TABLES IN SCHEMA public TO "+pgtest.Reader)...)
	}
	return fmt.Sprintf("127.0.0.1:%d", server.Port), map[string]string{"pg_host": "HOST", "pg_port": "PORT", "pg_user": pgtest.Reader, "pg_pass": pgtest.Password}
}

func s3StandIn(t *testing.T) (string, map[string]string) {
	server := s3test.Start(t)
	server.Bucket("rides-public")
	rides := parquet(t, "SELECT range AS id, range % 3 AS riders FROM range(10)")
	for _, key := range []string{"2025/rides.parquet", "partitioned/day=1/a.parquet", "partitioned/day=2/a.parquet", "tpch/nation/nation.parquet"} {
		server.Put("rides-public", key, rides)
	}
	server.Put("rides-public", "zones.csv", "id,zone\n1,north\n")
	return strings.TrimPrefix(server.URL, "http://"),
		map[string]string{"s3_endpoint": "http://ADDRESS", "s3_auth": "key", "s3_key": server.Key, "s3_secret": server.Secret}
}

// googleStandIn has the API of S3, which that of Google is like.
func googleStandIn(t *testing.T) (string, map[string]string) {
	address, params := s3StandIn(t)
	return address, map[string]string{"gcs_endpoint": "http://ADDRESS", "gcs_key": params["s3_key"], "gcs_secret": params["s3_secret"]}
}

func mysqlStandIn(t *testing.T) (string, map[string]string) {
	server := mysqltest.Start(t)
	server.Exec("CREATE DATABASE shop", "CREATE TABLE shop.sample (id bigint PRIMARY KEY, name text)", "INSERT INTO shop.sample VALUES (1, 'tea'), (2, 'coffee')",
		"CREATE TABLE shop.more AS SELECT * FROM shop.sample", "GRANT ALL ON shop.* TO "+mysqltest.Reader)
	return fmt.Sprintf("127.0.0.1:%d", server.Port), map[string]string{
		"mysql_host": "HOST", "mysql_tcp_port": "PORT", "mysql_user": mysqltest.Reader,
		"mysql_pass": mysqltest.Password,
	}
}

// githubStandIn has a repository that was changed today.
func githubStandIn(t *testing.T) (string, map[string]string) {
	server := githubtest.Start(t, "github-token")
	server.Repository("example/club", strings.ReplaceAll(githubtest.Example(20), "2026-01-03", time.Now().Format(time.DateOnly)),
		map[string]string{"README.md": "# Club", "docs/rules.md": "Be kind."})
	return strings.TrimPrefix(server.URL, "http://"), map[string]string{"github_endpoint": "http://ADDRESS", "github_token": "github-token"}
}

func azureStandIn(t *testing.T) (string, map[string]string) {
	server := azuretest.Start(t)
	server.Container("rides")
	server.Put("rides", "2025/rides.parquet", parquet(t, "SELECT range AS id, range % 3 AS riders FROM range(10)"))
	server.Put("rides", "zones.csv", "id,zone\n1,north\n")
	return server.Address, map[string]string{"abfs_endpoint": "http://ADDRESS/" + azuretest.Account, "abfs_access_key": azuretest.Key}
}

// parquet returns the rows of a query as a Parquet file.
func parquet(t *testing.T, query string) string {
	t.Helper()
	db, err := engine.Open(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	path := filepath.Join(t.TempDir(), "rows.parquet")
	if err := db.Exec(t.Context(), "COPY ("+query+") TO "+engine.Literal(path)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// rideColumns are those of tables of Flight SQL servers.
var rideColumns = arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "riders", Type: arrow.PrimitiveTypes.Int64}}, nil)

func flightStandIn(t *testing.T) (string, map[string]string) {
	server := flighttest.Start(t, flighttest.Options{User: "ada", Password: "flight-pass"})
	server.Table("rides", rideColumns, `[{"id": 1, "riders": 2}]`, `[{"id": 2, "riders": 3}]`)
	return server.Address, map[string]string{"flightsql_endpoint": "http://ADDRESS", "flightsql_password": "flight-pass"}
}

// spiceStandIn has the datasets of another runtime.
func spiceStandIn(t *testing.T) (string, map[string]string) {
	server := flighttest.Start(t, flighttest.Options{Password: "spice-key"})
	server.Table("chain.recent_blocks", rideColumns, `[{"id": 1, "riders": 2}]`)
	server.Table("example.club.rides", rideColumns, `[{"id": 1, "riders": 1}, {"id": 2, "riders": 3}]`)
	return server.Address, map[string]string{"spiceai_endpoint": "http://ADDRESS", "spiceai_api_key": "spice-key"}
}
