package datasets

import (
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/test/flighttest"
	"github.com/spiced-sql/spiced/internal/test/selfsigned"
)

var orderSchema = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "customer", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "placed", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, Nullable: true},
	{Name: "Odd, name", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32), Nullable: true},
}, nil)

var orderRows = []string{
	`[{"id": 1, "customer": "Ada", "placed": "2026-01-01 10:00:00Z", "Odd, name": [1, 2]}, {"id": 2, "customer": null, "placed": null, "Odd, name": null}]`,
	`[{"id": 3, "customer": "Émile", "placed": "2026-01-03 10:00:00Z", "Odd, name": []}]`,
}

func startFlight(t *testing.T, o flighttest.Options) *flighttest.Server {
	t.Helper()
	s := flighttest.Start(t, o)
	s.Table("orders", orderSchema, orderRows...)
	s.Table("shop.main.orders", orderSchema, orderRows...)
	s.Table("org.app.orders", orderSchema, orderRows...)
	return s
}

func flightDataset(name, from, params, more string) string {
	return fmt.Sprintf("- {name: %s, from: '%s', params: {%s}, acceleration: {enabled: true%s}}\n", name, from, params, more)
}

func TestFlightSQL(t *testing.T) {
	t.Setenv("FLIGHT_PASS", "pässword")
	certificate := selfsigned.Certificate(t)
	for _, o := range []flighttest.Options{
		{}, {NoSchema: true}, {User: "ada", Password: "pässword"}, {User: "ada", Password: "pässword", Handshake: true, TLS: &certificate},
	} {
		t.Run(fmt.Sprintf("user=%s,handshake=%v,tls=%v,schema=%v", o.User, o.Handshake, o.TLS != nil, !o.NoSchema), func(t *testing.T) {
			w, s := newWorld(t), startFlight(t, o)
			params := "flightsql_endpoint: 'http://" + s.Address + "'"
			if o.TLS != nil {
				writePEM(t, filepath.Join(w.dir, "ca.pem"), o.TLS.Certificate[0])
				params = "flightsql_endpoint: 'grpc+tls://" + s.Address + "', flightsql_tls_ca_certificate_file: ca.pem"
			}
			if o.User != "" {
				params += ", flightsql_username: ada, flightsql_password: '${secrets:flight_pass}'"
			}
			w.ok("datasets:\n" + flightDataset("orders", "flightsql:orders", params, "") +
				flightDataset("part", "flightsql:shop.main.orders", params, ", primary_key: id, refresh_sql: 'SELECT id, placed FROM part WHERE id > 1'") +
				"- {name: newest, from: 'flightsql:orders', time_column: placed, params: {" + params + "}, acceleration: {enabled: true, refresh_mode: append}}\n")
			w.want("FROM orders ORDER BY id", "1|Ada|2026-01-01 10:00:00+00|[1, 2], 2|NULL|NULL|NULL, 3|Émile|2026-01-03 10:00:00+00|[]")
			w.want("FROM part ORDER BY id", "2|NULL, 3|2026-01-03 10:00:00+00")
			if asked := s.Asked(); !slices.Contains(asked, `SELECT "id", "placed" FROM "shop"."main"."orders" WHERE "id" > 1`) {
				t.Errorf("not all columns and rows were to be asked for: %q", asked)
			}
			s.Table("orders", orderSchema,
				append(orderRows, `[{"id": 4, "customer": "new", "placed": "2027-01-01 10:00:00Z"}, {"id": 5, "customer": "old", "placed": "2025-01-01 10:00:00Z"}]`)...)
			for _, name := range []string{"orders", "newest"} {
				if err := w.refresh(name, refresh.Override{}); err != nil {
					t.Error(err)
				}
			}
			w.want("SELECT count(*) FROM orders", "5")
			w.want("SELECT list(id ORDER BY id) FROM newest", "[1, 2, 3, 4]")

			s.Break(errors.New("the disk of the server is full"))
			if err := w.refresh("orders", refresh.Override{}); err == nil ||
				!strings.Contains(err.Error(), "the Flight SQL server "+s.Address+": the disk of the server is full") {
				t.Errorf("got %v", err)
			}
			s.Break(nil)
			fewer := arrow.NewSchema(orderSchema.Fields()[:2], nil)
			s.Table("orders", fewer, `[{"id": 7, "customer": "x"}]`)
			if err := w.refresh("orders", refresh.Override{}); err != nil {
				t.Error(err)
			}
			w.want("FROM orders", "7|x")
			s.Stop()
			if err := w.refresh("orders", refresh.Override{}); err == nil ||
				!strings.Contains(err.Error(), "cannot reach the Flight SQL server "+s.Address+": connection refused") {
				t.Errorf("got %v", err)
			}
			w.want("FROM orders", "7|x")
			o.Address = s.Address
			startFlight(t, o)
			if err := w.refresh("orders", refresh.Override{}); err != nil {
				t.Error(err)
			}
			w.want("SELECT count(*) FROM orders", "3")
			if strings.Contains(w.log.String(), "pässword") {
				t.Errorf("the log has the password: %s", w.log)
			}
		})
	}
}

func writePEM(t *testing.T, path string, der []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestSpiceAI names datasets of another runtime in each way.
func TestSpiceAI(t *testing.T) {
	t.Setenv("FLIGHT_KEY", "a-key")
	w, s := newWorld(t), startFlight(t, flighttest.Options{Password: "a-key", Handshake: true})
	const key = "spiceai_api_key: '${secrets:flight_key}'"
	endpoint := "spiceai_endpoint: 'http://" + s.Address + "', " + key
	w.ok("datasets:\n" + flightDataset("orders", "spice.ai:http://"+s.Address, key, "") +
		flightDataset("short", "spice.ai/orders", endpoint, "") +
		flightDataset("cloud", "spice.ai://org/app/datasets/orders", endpoint, "") +
		flightDataset("legacy", "spiceai:org/app/datasets/orders", "spiceai_flight_endpoint: 'http://"+s.Address+"', spiceai_token: '${secrets:flight_key}'", ""))
	for _, name := range []string{"orders", "short", "cloud", "legacy"} {
		w.want("SELECT count(*) FROM "+name, "3")
	}
}

// TestFlightSQLFaults declares datasets that cannot be read, next to one that can.
func TestFlightSQLFaults(t *testing.T) {
	t.Setenv("FLIGHT_PASS", "pässword")
	t.Setenv("WRONG", "hunter2")
	w, s := newWorld(t), startFlight(t, flighttest.Options{User: "ada", Password: "pässword"})
	s.Table("empty", arrow.NewSchema(nil, nil), "[]")
	certificate := selfsigned.Certificate(t)
	secure := startFlight(t, flighttest.Options{TLS: &certificate})
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	silent.Close()
	at := "the Flight SQL server " + s.Address
	endpoint := "flightsql_endpoint: 'http://" + s.Address + "'"
	good := endpoint + ", flightsql_username: ada, flightsql_password: '${secrets:flight_pass}'"
	w.file("no.pem", "no certificate")
	for _, c := range []struct{ name, from, params, message, hint string }{
		{
			"password", "flightsql:orders", endpoint + ", flightsql_username: ada, flightsql_password: '${secrets:wrong}'", at + ": sign in",
			"correct params.flightsql_username",
		},
		{"no user", "flightsql:orders", endpoint, at + ": sign in", "correct params.flightsql_username"},
		{"table", "flightsql:order", good, at + `: there is no table "order"`, ""},
		{"no columns", "flightsql:empty", good, at + ` says no columns of "empty"`, ""},
		{"port", "flightsql:orders", "flightsql_endpoint: 'http://" + silent.Addr().String() + "'", "connection refused", ""},
		{"host", "flightsql:orders", "flightsql_endpoint: 'http://nowhere.invalid:50051'", "cannot reach the Flight SQL server nowhere.invalid:50051: ", ""},
		{
			"TLS to a server without", "flightsql:orders", "flightsql_endpoint: 'https://" + s.Address + "'",
			"cannot reach " + at + ": tls: first record does not look like a TLS handshake", "",
		},
		{
			"no TLS to a server with", "flightsql:orders", "flightsql_endpoint: 'http://" + secure.Address + "'",
			"cannot reach the Flight SQL server " + secure.Address, "",
		},
		{
			"certificate", "flightsql:orders", "flightsql_endpoint: 'https://" + secure.Address + "'", "certificate signed by unknown authority",
			"flightsql_tls_ca_certificate_file",
		},
		{
			"file of the certificate", "flightsql:orders", "flightsql_endpoint: 'https://" + secure.Address + "', flightsql_tls_ca_certificate_file: nothing.pem",
			`cannot read the certificate "nothing.pem": no such file`, "",
		},
		{
			"no certificate", "flightsql:orders", "flightsql_endpoint: 'https://" + secure.Address + "', flightsql_tls_ca_certificate_file: no.pem",
			"the file has no certificate", "PEM",
		},
		{"endpoint", "flightsql:orders", "flightsql_endpoint: 'localhost:50051'", `is not `, "write https://host:port"},
		{"scheme", "flightsql:orders", "flightsql_endpoint: 'ftp://localhost:50051'", `"ftp" is not a scheme`, "write https://host:port"},
		{"path", "flightsql:orders", "flightsql_endpoint: 'http://localhost:50051/orders'", "is not the URL", "write https://host:port"},
		{"no endpoint", "flightsql:orders", "flightsql_username: ada", "the endpoint of the server is missing", "set params.flightsql_endpoint"},
		{"password without user", "flightsql:orders", endpoint + ", flightsql_password: x", "a password without a user", "flightsql_username"},
		{"name", "flightsql:a..b", good, "is not the name of a table", ""},
		{"param", "flightsql:orders", good + ", flightsql_pasword: x", `unknown param "flightsql_pasword"`, `"flightsql_password"`},
		{"no endpoint of Spice", "spice.ai/orders", "spiceai_api_key: '${secrets:wrong}'", "the endpoint of the runtime is missing", "params.spiceai_region"},
		{"two endpoints", "spice.ai:http://" + s.Address, "spiceai_endpoint: 'http://localhost:1'", "from has the endpoint", "one of them"},
		{
			"two keys", "spice.ai/orders", "spiceai_endpoint: 'http://localhost:1', spiceai_api_key: x, spiceai_token: y", "spiceai_api_key is set as well",
			"leave it out",
		},
		{"path of Spice", "spice.ai/a/b/c", "spiceai_endpoint: 'http://localhost:1'", "is not a dataset of a runtime", "spice.ai/org/app/datasets/table"},
		{
			"key of Spice", "spice.ai/orders", "spiceai_endpoint: 'http://" + s.Address + "', spiceai_api_key: '${secrets:wrong}'", "sign in",
			"correct params.spiceai_api_key",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			problems := w.reload("datasets:\n" + flightDataset("good", "flightsql:orders", good, "") + flightDataset("bad", c.from, c.params, ""))
			if len(problems) != 1 || !strings.Contains(problems[0].Message, c.message) || !strings.Contains(problems[0].Hint, c.hint) {
				t.Errorf("got %v\nwant %s; %s", problems, c.message, c.hint)
			}
			if text := problems.Error() + w.status("bad").Error; strings.Contains(text, "hunter2") || strings.Contains(text, "pässword") {
				t.Errorf("a secret is shown: %s", text)
			}
			w.want("SELECT count(*) FROM good", "3")
		})
	}
	w.t = t
	problems := w.reload("datasets: [{name: live, from: 'flightsql:orders', params: {" + good + "}}]\n")
	if len(problems) != 1 || problems[0].Message != "connector flightsql reads into an accelerated copy only" ||
		problems[0].Hint != "set acceleration.enabled: true" {
		t.Errorf("got %v", problems)
	}
}
