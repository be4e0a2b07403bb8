package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/spiced-sql/spiced/internal/test/exttest"
	"github.com/spiced-sql/spiced/internal/test/flighttest"
	"github.com/spiced-sql/spiced/internal/test/pgtest"
	"github.com/spiced-sql/spiced/internal/test/s3test"
)

// emptyPod is a Spicepod without datasets, with a comment.
const emptyPod = "# Mine.\nversion: v1\nkind: Spicepod\nname: shop\nruntime:\n  extensions: { directory: \"EXTENSIONS\" } # of the test\n"

// TestDatasetAdd adds datasets of each kind of source, and serves them.
func TestDatasetAdd(t *testing.T) {
	t.Parallel()
	directory := filepath.Dir(exttest.Find(t, "postgres_scanner").Path)
	database, objects := pgtest.Start(t), s3test.Start(t)
	database.Exec("CREATE TABLE orders (id bigint, customer text)", "INSERT INTO orders VALUES (1, 'ada'), (2, 'bob')", `CREATE TABLE "Other lines" (id bigint)`,
		"GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
	objects.Bucket("lake")
	objects.Put("lake", "trips/a.csv", "id\n1\n2\n")
	flights := flighttest.Start(t, flighttest.Options{User: "ada", Password: "flight's secret"})
	spice := flighttest.Start(t, flighttest.Options{Password: "key-of-spice"})
	for _, s := range []*flighttest.Server{flights, spice} {
		s.Table("main.legs", arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil), `[{"id": 1}, {"id": 2}]`)
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); r.URL.Query().Get("token") != "web-token" || user != "ada" || password != "web-pass" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, "id\n1\n2\n")
	}))
	t.Cleanup(web.Close)
	dir := folder(t, "spicepod.yaml", strings.Replace(emptyPod, "EXTENSIONS", directory, 1), ".gitignore", "*.csv\n", ".git", "")
	shopDatabase(t, filepath.Join(dir, "shop.duckdb"))
	sqlite := read(t, "../../internal/data/datasets/testdata/shop.sqlite")
	write(t, filepath.Join(dir, "shop.db"), sqlite)

	pg := fmt.Sprintf("postgresql://%s@127.0.0.1:%d/test?sslmode=disable", url.UserPassword(pgtest.Reader, pgtest.Password), database.Port)
	host := strings.TrimPrefix(web.URL, "http://")
	want := read(t, filepath.Join(dir, "spicepod.yaml")) + "datasets:\n"
	for _, c := range []struct {
		args  []string
		entry string // with the variables that it has
	}{
		{
			[]string{pg, "orders"},
			fmt.Sprintf("from: postgres:orders\nname: orders\nparams:\n  pg_host: 127.0.0.1\n  pg_port: %d\n  pg_db: test\n  pg_user: reader\n  pg_pass: "+
				"${env:ORDERS_PG_PASS}\n  pg_sslmode: disable", database.Port),
		},
		{
			[]string{pg, `"Other lines"`},
			fmt.Sprintf("from: postgres:\"Other lines\"\nname: other_lines\nparams:\n  pg_host: 127.0.0.1\n  pg_port: %d\n  pg_db: test\n  pg_user: reader\n  pg_pass: "+
				"${env:ORDERS_PG_PASS}\n  pg_sslmode: disable", database.Port),
		},
		{
			[]string{fmt.Sprintf("host=127.0.0.1 port=%d dbname=test user=reader password='reader\\'s pass\\\\word'", database.Port), "orders", "--name", "same"},
			"from: postgres:orders\nname: same\nparams:\n  pg_connection_string: ${env:SAME_PG_CONNECTION_STRING}",
		},
		{
			[]string{"s3://lake/trips/", "--param", "s3_endpoint=" + objects.URL, "--param", "s3_key=" + objects.Key, "--param", "s3_secret=" + objects.Secret},
			"from: s3://lake/trips/\nname: trips\nparams:\n  s3_endpoint: " + objects.URL + "\n  s3_key: " + objects.Key + "\n  s3_secret: ${env:TRIPS_S3_SECRET}",
		},
		{
			[]string{"flightsql:http://ada:flight's%20secret@" + flights.Address, "main.legs"},
			"from: flightsql:main.legs\nname: legs\nparams:\n  flightsql_endpoint: http://" + flights.Address +
				"\n  flightsql_username: ada\n  flightsql_password: ${env:LEGS_FLIGHTSQL_PASSWORD}\nacceleration:\n  enabled: true",
		},
		{
			[]string{"spice.ai:http://" + spice.Address, "main.legs", "--name", "legs.other", "--param", "spiceai_api_key=key-of-spice"},
			"from: spice.ai/main.legs\nname: legs.other\nparams:\n  spiceai_endpoint: http://" + spice.Address +
				"\n  spiceai_api_key: ${env:LEGS_OTHER_SPICEAI_API_KEY}\nacceleration:\n  enabled: true",
		},
		{[]string{"http://ada:web-pass@" + host + "/zones.csv?a=b&token=web-token"}, "from: http://" + host +
			"/zones.csv?a=b&token=${env:ZONES_TOKEN}\nname: zones\nparams:\n  http_username: ada\n  http_password: ${env:ZONES_HTTP_PASSWORD}"},
		{[]string{"duckdb:shop.duckdb", "customer"}, "from: duckdb:shop.duckdb/customer\nname: customer"},
		{[]string{"sqlite:shop.db/orders", "--name", "lines", "--accelerate"}, "from: sqlite:shop.db/orders\nname: lines\nacceleration:\n  enabled: true"},
	} {
		status, out := spiced(t, append([]string{"dataset", "add", "--dir", dir}, c.args...)...)
		if status != 0 || !strings.Contains(out, "COLUMN") || !strings.Contains(out, "| id") {
			t.Fatalf("%q: status %d\n%s", c.args, status, out)
		}
		want += "  - " + strings.ReplaceAll(c.entry, "\n", "\n    ") + "\n"
		if strings.Contains(out, "wrote ") != strings.Contains(out, ".gitignore") {
			t.Errorf("%q: %s", c.args, out)
		}
	}
	got := read(t, filepath.Join(dir, "spicepod.yaml"))
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	env := read(t, filepath.Join(dir, ".env.local"))
	for _, secret := range []string{"ORDERS_PG_PASS=\"" + pgtest.Password, objects.Secret, "flight's secret", "key-of-spice", "web-pass", "web-token"} {
		if strings.Contains(got, secret) || strings.Count(env, strings.NewReplacer(`\`, `\\`).Replace(secret)) != 1 {
			t.Errorf("%s is in spicepod.yaml, or not once in .env.local:\n%s\n%s", secret, got, env)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, ".env.local")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf(".env.local: %v, %v", info.Mode(), err)
	}

	// A table that is not there, and a wrong password, are said, and nothing is written.
	for _, c := range []struct{ from, table, want string }{
		{pg, "order", `hint: did you mean "orders"`},
		{strings.Replace(pg, "reader:", "reader:x", 1), "orders", "password"},
		{"flightsql:http://ada:wrong@" + flights.Address, "legs", "flightsql_username"},
		{"duckdb:shop.duckdb", "customers", `hint: did you mean "customer"`},
		{"sqlite:shop.db", "order", `hint: did you mean "orders"`},
	} {
		status, out := spiced(t, "dataset", "add", "--dir", dir, c.from, c.table, "--name", "another")
		if status != 1 || !strings.Contains(out, c.want) || !strings.HasPrefix(out, "dataset another: ") || strings.Contains(out, "reader's") {
			t.Errorf("%s %s: status %d\n%s\nwant %s", c.from, c.table, status, out, c.want)
		}
	}
	if read(t, filepath.Join(dir, "spicepod.yaml")) != got || read(t, filepath.Join(dir, ".env.local")) != env {
		t.Error("a failed command has written a file")
	}

	p := start(t, dir)
	for _, name := range []string{"orders", "same", "trips", "legs", "legs.other", "zones", "lines"} {
		p.want(p.do("POST", "/v1/sql", "SELECT count(*) > 1 AS ok FROM "+name), 200, `[{"ok":true}]`)
	}
	p.want(p.do("POST", "/v1/sql", "SELECT id FROM customer"), 200, `[{"id":7}]`)
}
