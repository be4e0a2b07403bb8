package datasets

import (
	"slices"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/test/flighttest"
)

// TestFlightSQLConditions: a server gets the conditions that it can apply, and the result
// is the same if it does not.
func TestFlightSQLConditions(t *testing.T) {
	for _, o := range []flighttest.Options{{}, {NoClauses: true}, {LateErrors: true}, {NoSchema: true, LateErrors: true}} {
		w, s := newWorld(t), startFlight(t, o)
		params := "flightsql_endpoint: 'http://" + s.Address + "'"
		w.ok("datasets:\n" + flightDataset("few", "flightsql:orders", params,
			", refresh_sql: \"SELECT id, customer FROM few WHERE id BETWEEN 2 AND 7 AND customer = 'Émile' AND length(customer) > 2 LIMIT 5\"") +
			flightDataset("first", "flightsql:orders", params, ", refresh_sql: 'SELECT id FROM first LIMIT 2'") +
			"- {name: newest, from: 'flightsql:orders', time_column: id, params: {" + params + "}, acceleration: {enabled: true, refresh_mode: append}}\n" +
			"- {name: lately, from: 'flightsql:orders', time_column: placed, params: {" + params + "}, acceleration: {enabled: true, refresh_data_window: 12h}}\n" +
			"- {name: kept, from: 'flightsql:orders', time_column: placed, params: {" + params +
			"}, acceleration: {enabled: true, retention_period: 12h, retention_check_enabled: true, retention_check_interval: 1h}}\n" +
			"- {name: doubles, from: 'flightsql:orders', columns: [{name: id, type: double}], params: {" + params +
			"}, acceleration: {enabled: true, refresh_sql: \"SELECT id FROM doubles WHERE id > 1\"}}\n")
		w.want("FROM few", "3|Émile")
		w.want("SELECT count(*) FROM first", "2")
		w.want("SELECT id FROM lately", "3") // the time is 2026-01-02 03:04:05
		w.want("SELECT list(id ORDER BY id) FROM kept", "[2, 3]")
		w.want("SELECT list(id ORDER BY id) FROM doubles", "[2.0, 3.0]")
		asked := s.Asked()
		for _, want := range []string{
			`SELECT "id", "customer" FROM "orders" WHERE (("id" >= 2 AND "id" <= 7) AND "customer" IN ('Émile'))`,
			`SELECT "id" FROM "orders" LIMIT 2`,
			`SELECT "id", "customer", "placed", "Odd, name" FROM "orders" WHERE "placed" >= CAST('2025-12-30 15:04:05+00:00' AS TIMESTAMP WITH TIME ZONE)`,
			`SELECT "id", "customer", "placed", "Odd, name" FROM "orders" WHERE ("placed" >= CAST('2025-12-30 15:04:05+00:00' AS TIMESTAMP WITH TIME ZONE) OR "placed" IS NULL)`,
			`SELECT "id", "customer", "placed", "Odd, name" FROM "orders"`,
			`SELECT "id" FROM "orders"`,
		} {
			if !slices.Contains(asked, want) {
				t.Errorf("%+v: asked %q\nnot %s", o, asked, want)
			}
		}
		if err := w.refresh("newest", refresh.Override{}); err != nil {
			t.Error(err)
		}
		w.want("SELECT list(id ORDER BY id) FROM newest", "[1, 2, 3]")
		if asked := s.Asked(); !slices.ContainsFunc(asked, func(sql string) bool { return strings.HasSuffix(sql, `FROM "orders" WHERE "id" > 3`) }) {
			t.Errorf("%+v: asked %q", o, asked)
		}
	}
}
