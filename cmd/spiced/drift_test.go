package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/grpc/credentials/insecure"
)

const driftPod = "version: v1\nkind: Spicepod\nname: drift\n" + `runtime:
  functions: { enabled: true }
  auth: { api-key: { keys: ["` + readerKey + `"] } }
functions:
  - { name: total, from: sql, signature: { args: [{ name: least, type: int64 }], returns: int64 }, body: (SELECT sum(a)::BIGINT FROM v WHERE b >= least) }
datasets:
  - { name: p, from: "file:p.csv" }
  - { name: q, from: "file:q.csv", acceleration: { refresh_check_interval: 100ms } }
views:
  - { name: v, sql: "SELECT a, b FROM p" }
`

// TestDrift changes and removes files under a running program. Every protocol must name
// the dataset and the cause, without the path of the file on the server; the status must
// have both, until the file is good again.
func TestDrift(t *testing.T) {
	t.Parallel()
	const good = "a,b\n1,2\n3,4\n"
	dir := folder(t, "spicepod.yaml", driftPod, "p.csv", good, "q.csv", good)
	p := startProcess(t, dir, sqlProtocols("--watch=false")...)
	answers := driftClients(t, p)
	status := func(of string) (state, problem string) {
		r := p.do("GET", "/v1/datasets?status=true", "", "X-API-Key", readerKey)
		var list []struct{ Name, Status, Error string }
		if err := json.Unmarshal([]byte(r.body), &list); err != nil {
			t.Fatalf("%v: %s", err, r.body)
		}
		for _, d := range list {
			if d.Name == of {
				return d.Status, d.Error
			}
		}
		t.Fatalf("no dataset %s: %s", of, r.body)
		return "", ""
	}
	for _, c := range []struct {
		name, text    string // "": the file is removed
		answer, error string // in every answer, and in the status
	}{
		{"ragged row", "a,b\n1,2\n3,4,5,6\n7\n\"x", `dataset "p" cannot be read: file "p.csv"`, `file "p.csv", line 3: expected 2 columns, found 4`},
		{"no file", "", `dataset "p" cannot be read: no file matches "p.csv"`, `file "p.csv" does not exist`},
		{"good again", good, "", ""},
	} {
		for _, file := range []string{"p.csv", "q.csv"} {
			path := filepath.Join(dir, file)
			if c.text == "" {
				os.Remove(path)
			} else {
				write(t, path, c.text)
			}
		}
		for client, ask := range answers {
			got := strings.ReplaceAll(ask(), `\"`, `"`)
			if strings.Contains(got, dir) || strings.Contains(got, "sniffing") || !strings.Contains(got, c.answer) {
				t.Errorf("%s, %s: %s\nwant %s", c.name, client, got, c.answer)
			}
		}
		state := "Ready"
		if c.error != "" {
			state = "Error"
		}
		p.eventually("to notice: "+c.name, func() bool {
			answers["http"]()
			now, problem := status("p")
			return now == state && strings.Contains(problem, c.error) && !strings.Contains(problem, dir)
		})
		p.eventually("to say why the rows are old: "+c.name, func() bool {
			_, problem := status("q")
			return strings.Contains(problem, strings.ReplaceAll(c.error, "p.csv", "q.csv")) && !strings.Contains(problem, dir) && (problem == "") == (c.error == "")
		})
		p.eventually("to say the same in spiced.datasets: "+c.name, func() bool {
			_, ofP := status("p")
			_, ofQ := status("q")
			var list []struct{ Error string }
			r := p.do("POST", "/v1/sql", "SELECT coalesce(error, '') AS error FROM spiced.datasets WHERE name IN ('p', 'q') ORDER BY name", "X-API-Key", readerKey,
				"Cache-Control", "no-cache")
			return json.Unmarshal([]byte(r.body), &list) == nil && len(list) == 2 && list[0].Error == ofP && list[1].Error == ofQ
		})
		p.eventually("to list the fault: "+c.name, func() bool {
			faults := p.do("POST", "/v1/sql", "SELECT component, message FROM spiced.load_errors", "X-API-Key", readerKey, "Cache-Control", "no-cache").body
			if strings.Contains(faults, dir) {
				t.Errorf("%s: load_errors has %s", c.name, faults)
			}
			return strings.Contains(faults, "dataset p") == (c.error != "")
		})
	}
	sql := func(text string) reply {
		return p.do("POST", "/v1/sql", text, "X-API-Key", readerKey, "Cache-Control", "no-cache")
	}
	for _, c := range []struct{ before, statement string }{{"b", "SELECT b FROM p"}, {"c", "SELECT p.c FROM p"}} {
		write(t, filepath.Join(dir, "p.csv"), "a,"+string(c.before[0]+1)+"\n1,2\n")
		if got := sql(c.statement).body; !strings.Contains(got, `dataset "p" had the column "`+c.before+`" when it was loaded`) {
			t.Errorf("a renamed column: %s", got)
		}
		p.eventually("to load the new column", func() bool { return !strings.Contains(sql(c.statement).body, "was loaded") })
	}
	if metrics := p.do("GET", "/metrics", "", "X-API-Key", readerKey).
		body; !regexp.MustCompile(`spiced_dataset_refreshes_total\{dataset="q",outcome="failed"\} [1-9]`).MatchString(metrics) {
		t.Errorf("refreshes that failed are not counted: %s", metrics)
	}
	write(t, filepath.Join(dir, "q.csv"), good+"5,6\n")
	p.eventually("to count the new row in spiced.datasets", func() bool {
		return p.do("POST", "/v1/sql", "SELECT rows FROM spiced.datasets WHERE name = 'q' AND last_refresh > now()::TIMESTAMP - INTERVAL 1 minute", "X-API-Key",
			readerKey, "Cache-Control", "no-cache").body == `[{"rows":3}]`
	})
}

// driftClients ask for rows of the file over every protocol. They return the answer, or
// the text of the error.
func driftClients(t *testing.T, p *program) map[string]func() string {
	conn := pgxConnect(t, p, readerKey, "sslmode=disable&default_query_exec_mode=exec")
	flight := flightConnect(t, p, readerKey, insecure.NewCredentials())
	post := func(path, body string) func() string {
		return func() string {
			return p.do("POST", path, body, "X-API-Key", readerKey, "Cache-Control", "no-cache").body
		}
	}
	return map[string]func() string{
		"http":           post("/v1/sql", "SELECT * FROM p"),
		"http, view":     post("/v1/sql", "SELECT a FROM v"),
		"http, function": post("/v1/sql", "SELECT total(1) AS t"),
		"tool":           post("/v1/tools/total:invoke", `{"args":{"least":1}}`),
		"tool sql":       post("/v1/tools/sql:invoke", `{"args":{"query":"SELECT * FROM p"}}`),
		"postgres": func() string {
			var n int
			if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM p").Scan(&n); err != nil {
				return err.Error()
			}
			return "rows"
		},
		"flight": func() string {
			text, err := flight.query("SELECT * FROM p")
			if err != nil {
				return err.Error()
			}
			return text
		},
	}
}
