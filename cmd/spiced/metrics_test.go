package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// metricsFolder is a copy of the Spicepod with metrics, with keys and other settings.
func metricsFolder(t *testing.T, settings string) string {
	t.Helper()
	const from = "../../testdata/spicepods/metrics"
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, e := range entries {
		text := read(t, filepath.Join(from, e.Name()))
		if e.Name() == "spicepod.yaml" {
			text = strings.Replace(text, "name: metrics\n", `name: metrics
runtime:
  auth: { api-key: { principals: [{ name: reader, key: `+readerKey+` }] } }
`+settings, 1)
		}
		files = append(files, e.Name(), text)
	}
	return folder(t, files...)
}

// TestMetricsOverEveryProtocol: a call of metric(…) is a query in every form of a statement, also
// in a worker. A wrong value fails the statement, by a division.
func TestMetricsOverEveryProtocol(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]string{
		"here": "", "isolated": "  query: { isolation: process, isolate: all }\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, metricsFolder(t, settings), sqlProtocols("--watch=false")...)
			for _, protocol := range p.protocolsFor("reader", readerKey) {
				for sql, want := range map[string]string{
					"SELECT 1 / (order_count = 240)::INT FROM metric('order_count')": "",
					"SELECT 1 / (sum(paid_orders) = 144)::INT FROM metric('paid_orders', by := ['customer__home__continent', 'ordered_at__month'], " +
						"where := 'category IS NOT NULL OR category IS NULL')": "",
					"WITH m AS (FROM metric(['net_revenue', 'visit_count'], by := 'customer__segment')) SELECT 1 / (count(*) = 3)::INT FROM m": "",
					"FROM metric('revenu')":                       "revenu",
					"FROM metric('revenue', by := 'nosuch')":      "nosuch",
					"FROM metric('revenue', where := 'true) --')": "where",
				} {
					switch got := protocol.run(t.Context(), sql); {
					case want == "" && got.err != nil:
						t.Errorf("%s: %s: %v", protocol.name, sql, got.err)
					case want != "" && (got.err == nil || !strings.Contains(got.err.Error(), want)):
						t.Errorf("%s: %s: got %v, want %q", protocol.name, sql, got.err, want)
					}
				}
			}
			c := pgxConnect(t, p, readerKey, "sslmode=disable")
			for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeDescribeExec} {
				var status string
				var count int64
				err := c.QueryRow(t.Context(), "SELECT status, order_count FROM metric('order_count', by := 'status', where := 'status = $1') WHERE order_count > $2",
					mode, "open", 1).Scan(&status, &count)
				if err != nil || status != "open" || count < 2 {
					t.Errorf("%s: got %s %d, %v", mode, status, count, err)
				}
			}
		})
	}
}
