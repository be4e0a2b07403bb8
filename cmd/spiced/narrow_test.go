package main

import (
	"fmt"
	"strings"
	"testing"
)

// sentConditions are refresh_sqls with conditions that are sent to the other runtime.
var sentConditions = []string{
	"id > 10 AND id <= 50", "id IN (1, 7, 2000) OR kind = 'b'", "kind = 'ä''b'", "kind <> 'b'", "price > 3 AND price < 7", "price >= 2.25",
	"day BETWEEN '2024-01-05' AND DATE '2024-02-01'", "made > TIMESTAMP '2024-01-01 00:10:00.5'", "made = '2024-01-01 00:10:00'",
	"zoned < '2024-01-03 00:00:00+02'", "day IS NULL OR id = 5", "kind IS NOT NULL AND tiny = -3", "NOT (id > 10)", "length(kind) > 1 AND id < 90", "id % 2 = 0",
	"tiny > 1 AND (small <> 3 OR big >= 99999999)",
}

// TestConditionsOfAnotherRuntime: a refresh_sql gives the same rows as the same query at the
// other runtime, whatever of it is sent there.
func TestConditionsOfAnotherRuntime(t *testing.T) {
	t.Parallel()
	first := startProcess(t, folder(t, "spicepod.yaml", "version: v1\nkind: Spicepod\nname: first\ndatasets: [{name: seed, from: 'file:seed.csv'}]\nviews:\n"+
		"- name: rows\n  sql: |\n    SELECT i AS id, (i % 11 - 5)::TINYINT AS tiny, (i % 5)::UTINYINT AS small, i * 1000000 AS big, ['a', 'b', 'ä''b', NULL][i "+
		"% 4 + 1] AS kind,\n"+
		"    (i % 40 * 0.25)::DECIMAL(9, 2) AS price, CASE WHEN i % 9 > 0 THEN DATE '2024-01-01' + (i % 60)::INTEGER END AS day,\n"+
		"    TIMESTAMP '2024-01-01' + INTERVAL (i * 7500) MILLISECOND AS made, TIMESTAMPTZ '2024-01-01 00:00:00+00' + INTERVAL (i) HOUR AS zoned "+
		"FROM range(500) t(i), seed\n",
		"seed.csv", "a\n1\n"), sqlProtocols()...)
	first.eventually("to be ready", func() bool { return first.do("GET", "/v1/ready", "").status == 200 })
	pod := &strings.Builder{}
	pod.WriteString("version: v1\nkind: Spicepod\nname: second\ndatasets:\n")
	for i, c := range sentConditions {
		fmt.Fprintf(pod, "- {name: d%d, from: spice.ai/rows, params: {spiceai_endpoint: 'http://%s'}, acceleration: {enabled: true, refresh_sql: %q}}\n",
			i, first.address("flight"), fmt.Sprintf("SELECT * FROM d%d WHERE %s", i, c))
	}
	fmt.Fprintf(pod, "- {name: ten, from: spice.ai/rows, params: {spiceai_endpoint: 'http://%s'}, acceleration: {enabled: true, refresh_sql: SELECT id FROM "+
		"ten WHERE id > 20 LIMIT 10}}\n", first.address("flight"))
	second := startProcess(t, folder(t, "spicepod.yaml", pod.String()), "--log-level", "debug")
	second.eventually("to be ready", func() bool { return second.do("GET", "/v1/ready", "").status == 200 })
	const sum = "SELECT count(*) AS n, sum(hash(id, tiny, small, big, kind, price, day, made, zoned)::HUGEINT)::VARCHAR AS h FROM "
	for i, c := range sentConditions {
		want := first.do("POST", "/v1/sql", sum+"rows WHERE "+c)
		got := second.do("POST", "/v1/sql", fmt.Sprint(sum, "d", i))
		if got.body != want.body || got.status != 200 || strings.Contains(got.body, `"n":0,`) {
			t.Errorf("%s: got %s, want %s", c, got.body, want.body)
		}
	}
	second.want(second.do("POST", "/v1/sql", "SELECT count(*) AS n, min(id) > 20 AS in FROM ten"), 200, `[{"n":10,"in":true}]`)
	for _, sent := range []string{`(\"id\" > 10 AND \"id\" <= 50)`, `"limit":10`} {
		if !strings.Contains(second.log.String(), sent) {
			t.Errorf("the log does not say that %s is sent", sent)
		}
	}
}
