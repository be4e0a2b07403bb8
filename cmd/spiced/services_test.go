package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// rowService is a service of functions that doubles x. It can end and begin again.
type rowService struct {
	address string

	mu       sync.Mutex
	server   *http.Server
	requests int
	sent     map[string]int // rows, as JSON
	bearer   string
}

func newRowService(t *testing.T) *rowService {
	t.Helper()
	s := &rowService{address: "127.0.0.1:0", sent: map[string]int{}}
	s.start(t)
	t.Cleanup(s.stop)
	return s
}

func (s *rowService) start(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	s.address = l.Addr().String()
	s.server = &http.Server{Handler: s}
	go s.server.Serve(l)
}

func (s *rowService) stop() { s.server.Close() }

// take returns the numbers of requests and of different rows since the last time.
func (s *rowService) take() (requests, rows, different int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests, different = s.requests, len(s.sent)
	for _, n := range s.sent {
		rows += n
	}
	s.requests, s.sent = 0, map[string]int{}
	return requests, rows, different
}

func (s *rowService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Rows []struct{ X *int64 }
		Args struct{ X int64 }
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	s.bearer = r.Header.Get("Authorization")
	if strings.HasSuffix(r.URL.Path, "/table") {
		rows := []map[string]any{}
		for i := range in.Args.X {
			rows = append(rows, map[string]any{"n": i, "square": i * i})
		}
		json.NewEncoder(w).Encode(map[string]any{"rows": rows})
		return
	}
	values := []any{}
	for _, row := range in.Rows {
		if row.X == nil {
			values = append(values, nil)
			s.sent["null"]++
			continue
		}
		values = append(values, *row.X*2)
		s.sent[fmt.Sprint(*row.X)]++
	}
	json.NewEncoder(w).Encode(map[string]any{"values": values})
}

// servicePod has functions whose bodies are services; % is the address.
const servicePod = `version: v1
kind: Spicepod
name: services
runtime:
  functions: { enabled: true }
  query: { isolation: none }
functions:
  - name: twice
    from: http://%/v1
    description: Doubles a number.
    signature: { args: [{ name: x, type: int64 }], returns: int64 }
    params: { auth_bearer: "${env:ROW_SERVICE_TOKEN}", allowed_endpoint_ranges: [127.0.0.0/8], max_retries: 0 }
    tests: [{ args: { x: -1 }, returns: -2 }]
  - name: twice_kept
    from: http://%/v1
    volatility: immutable
    signature: { args: [{ name: x, type: int64 }], returns: int64 }
    params: { allowed_endpoint_ranges: [127.0.0.0/8] }
  - name: quad
    from: sql
    signature: { args: [{ name: x, type: int64 }], returns: int64 }
    body: twice(twice(x))
  - name: squares
    from: http://%/table
    kind: table
    signature: { args: [{ name: x, type: int64 }], returns: [{ name: n, type: int64 }, { name: square, type: int64 }] }
    params: { allowed_endpoint_ranges: [127.0.0.0/8] }
  - { name: refused, from: "http://%/v1", signature: { args: [{ name: x, type: int64 }], returns: int64 } }
  - { name: faulty, from: "http://%/v1", signature: { args: [{ name: x, type: int64 }], returns: int64 }, params: { batch_size: 0 } }
`

// TestServices calls functions whose bodies are services.
func TestServices(t *testing.T) {
	t.Parallel()
	service := newRowService(t)
	p := start(t, folder(t, "spicepod.yaml", strings.ReplaceAll(servicePod, "%", service.address), ".env", dotenv("ROW_SERVICE_TOKEN", "t0ken-of-rows")))
	service.take() // its tests

	if got := p.sql("SELECT count(*) AS n, sum(twice(i % 37)) AS s FROM range(10000) t(i)"); got != `[{"n":10000,"s":359730}]` {
		t.Errorf("duplicates: %s", got)
	}
	if requests, rows, different := service.take(); rows != 37 || different != 37 || requests > 10 {
		t.Errorf("%d requests with %d rows, %d different ones", requests, rows, different)
	}
	if service.bearer != "Bearer t0ken-of-rows" {
		t.Errorf("Authorization: %s", service.bearer)
	}
	for range 2 {
		if got := p.sql("SELECT twice_kept(21) AS v, twice_kept(NULL::BIGINT) AS u"); got != `[{"v":42,"u":null}]` {
			t.Errorf("immutable: %s", got)
		}
	}
	if _, rows, _ := service.take(); rows != 2 {
		t.Errorf("immutable: %d rows were sent", rows)
	}
	if got := p.sql("SELECT quad(5) AS v, (SELECT sum(square) FROM squares(4)) AS s"); got != `[{"v":20,"s":14}]` {
		t.Errorf("in a body, as a table: %s", got)
	}
	p.want(p.do("POST", "/v1/tools/twice:invoke", `{"args":{"x":4}}`), 200, `"ok":true`, `"result":8`)
	p.want(p.do("POST", "/v1/sql", "SELECT refused(1)"), 400, `host "127.0.0.1" is not at a public address: 127.0.0.1 is loopback`,
		"params.allowed_endpoint_ranges", "spicepod.yaml:28:")
	p.want(p.do("POST", "/v1/sql", "SELECT faulty(1)"), 400, "param 'batch_size' is expected to be a positive integer ≤ 100000, got 0", "spicepod.yaml:29:")

	service.stop()
	p.want(p.do("POST", "/v1/sql", "SELECT twice(77)"), 400, "remote function 'twice' request failed")
	p.want(p.do("POST", "/v1/tools/twice:invoke", `{"args":{"x":78}}`), 200, `"ok":false`, "request failed")
	service.start(t)
	if got := p.sql("SELECT twice(77) AS v"); got != `[{"v":154}]` {
		t.Errorf("after the service is back: %s", got)
	}
	for _, shown := range []string{p.log.String(), p.do("GET", "/v1/functions", "").body, p.sql("FROM spiced.functions"), p.do("GET", "/v1/status", "").body} {
		if strings.Contains(shown, "t0ken-of-rows") {
			t.Errorf("the token is shown: %s", shown)
		}
	}
}
