package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/chattest"
	"github.com/spiced-sql/spiced/internal/test/exttest"
	"github.com/spiced-sql/spiced/internal/test/lab/serve"
	"github.com/spiced-sql/spiced/internal/test/mysqltest"
	"github.com/spiced-sql/spiced/internal/test/pgtest"
)

// The keys of the Spicepod's principals.
const (
	readerKey = "reader-key-0123456789"
	writerKey = "writer-key-0123456789"
)

// side is a binary with everything that it needs for itself.
type side struct {
	root, binary string
	work         string            // folder of this side
	dir          string            // of the Spicepod
	words        map[string]string // what {WORDS} of testdata are

	provider      *chattest.Server
	service       *httptest.Server
	other, server *serve.Server

	mu     sync.Mutex
	sent   []string // what the provider and the service got since the last answer
	heard  int      // requests of the provider that are in sent
	masked *strings.Replacer
}

func newSide(ctx context.Context, t testing.TB, root, binary, work string) (s *side, err error) {
	s = &side{root: root, work: work, dir: filepath.Join(work, "world"), binary: filepath.Join(work, "spiced")}
	if binary, err = filepath.Abs(binary); err != nil {
		return s, err
	}
	otherDir := filepath.Join(work, "other")
	for from, to := range map[string]string{
		"testdata/spicepods/tools":                     otherDir,
		"internal/test/lab/replay/testdata/world":      s.dir,
		"examples/bodies/luhn.py":                      filepath.Join(s.dir, "luhn.py"),
		"examples/bodies/luhn.wasm":                    filepath.Join(s.dir, "luhn.wasm"),
		"testdata/spicepods/sqlclients/every_type.sql": filepath.Join(s.dir, "every_type.sql"),
	} {
		if err := copyAll(filepath.Join(root, from), to); err != nil {
			return s, err
		}
	}
	if err := os.Symlink(binary, s.binary); err != nil {
		return s, err
	}
	if err := s.fill(ctx); err != nil {
		return s, err
	}
	if s.provider, err = chattest.Start(); err != nil {
		return s, err
	}
	s.provider.Script(model)
	s.service = httptest.NewServer(http.HandlerFunc(s.serve))
	if s.other, err = serve.Start(ctx, []string{s.binary}, otherDir); err != nil {
		return s, err
	}
	s.words = map[string]string{
		"SPICED": s.binary, "OTHER_DIR": otherDir, "OTHER_HTTP": s.other.URL("http"), "PROVIDER": s.provider.URL, "SERVICE": s.service.URL,
		"OTHER_FLIGHT": strings.Replace(s.other.URL("flight"), "grpc://", "http://", 1), "EXTENSIONS": os.Getenv(exttest.Variable),
	}
	if s.words["EXTENSIONS"] != "" {
		s.databases(t)
	}
	if err := s.declare(); err != nil {
		return s, err
	}
	if s.server, err = serve.Start(ctx, []string{s.binary}, s.dir, "--state-dir", filepath.Join(work, "state")); err != nil {
		return s, err
	}
	replaced := []string{s.work, "{WORK}", s.root, "{ROOT}", binary, "{BINARY}"}
	for _, url := range []string{
		s.provider.URL, s.service.URL, s.other.URL("http"), s.other.URL("flight"), s.other.URL("postgres"),
		s.server.URL("http"), s.server.URL("postgres"), s.server.URL("flight"),
	} {
		_, address, _ := strings.Cut(url, "://")
		_, port, _ := net.SplitHostPort(address)
		replaced = append(replaced, ":"+port, ":{PORT}")
	}
	for _, name := range []string{"POSTGRES", "MYSQL"} {
		if s.words[name] != "" {
			replaced = append(replaced, s.words[name], "{"+name+"}")
		}
	}
	s.masked = strings.NewReplacer(replaced...)
	return s, s.settle(ctx)
}

// settle waits until nothing loads.
func (s *side) settle(ctx context.Context) error {
	for strings.Contains(s.request(ctx, "GET /v1/status"), `"Initializing"`) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

// copyAll copies a file or a folder.
func copyAll(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.CopyFS(to, os.DirFS(from))
	}
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}

func (s *side) close() {
	for _, server := range []*serve.Server{s.server, s.other} {
		if server != nil {
			server.Stop() //nolint:errcheck // nothing is asked any more
		}
	}
	if s.provider != nil {
		s.provider.Close()
	}
	if s.service != nil {
		s.service.Close()
	}
}

// fill writes the files of datasets that are not text.
func (s *side) fill(ctx context.Context) error {
	db, err := engine.Open(ctx, engine.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	at := func(name string) string { return engine.Literal(filepath.Join(s.dir, name)) }
	for _, statement := range []string{
		"COPY (SELECT range AS i FROM range(100)) TO " + at("k.csv"),
		"COPY (SELECT range AS id, DATE '2026-01-01' + range::INT AS day, [range, range + 1] AS pair FROM range(20)) TO " + at("trips.parquet"),
		"ATTACH " + at("att.db") + " AS att",
		"CREATE TABLE att.main.secret AS SELECT 42 AS secret",
		"CREATE TABLE att.main.o (id BIGINT, name VARCHAR DEFAULT 'new', price DOUBLE, PRIMARY KEY (id))",
		"INSERT INTO att.main.o VALUES (1, 'one', 1.5), (2, 'two', 2.5), (3, 'three', NULL)",
		"CREATE TABLE att.main.s AS SELECT 7::BIGINT AS id, 'bolt' AS name",
		"DETACH att",
	} {
		if err := db.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// databases starts the servers that datasets read and write.
func (s *side) databases(t testing.TB) {
	pg, my := pgtest.Start(t), mysqltest.Start(t)
	pg.Exec("CREATE ROLE writer LOGIN PASSWORD 'writer'",
		"CREATE TABLE orders (id bigint PRIMARY KEY, customer text NOT NULL, amount numeric(10,2) CHECK (amount > 0))",
		"INSERT INTO orders SELECT i, 'c' || i, i FROM generate_series(1, 5) i",
		"CREATE TYPE mood AS ENUM ('sad', 'ok')",
		"CREATE TABLE types AS SELECT 1::smallint AS a, 2::int AS b, 3.5::real AS c, 1.25::numeric(6,3) AS d, 'x'::varchar(3) AS e, 'y'::char(4) AS f,"+
			" true AS g, '2026-01-02'::date AS h, '03:04:05'::time AS i, '2026-01-02 03:04:05.6'::timestamp AS j, '2026-01-02 03:04:05+02'::timestamptz AS k,"+
			" '0f0e0d0c-0b0a-0908-0706-050403020100'::uuid AS l, '\\xdead'::bytea AS m, '{1,2}'::int[] AS n, '{\"a\": 1}'::jsonb AS o, 'ok'::mood AS p, NULL::text AS q",
		"GRANT ALL ON ALL TABLES IN SCHEMA public TO writer")
	my.Exec("CREATE USER writer@'%' IDENTIFIED BY 'writer'",
		"CREATE TABLE orders (id bigint PRIMARY KEY, customer varchar(20) NOT NULL, amount decimal(10,2), at datetime, kind enum('a','b'), doc json)",
		"INSERT INTO orders VALUES (1, 'c1', 1.5, '2026-01-02 03:04:05', 'a', '{\"a\": 1}'), (2, 'c2', NULL, NULL, NULL, NULL)",
		"GRANT ALL ON test.* TO writer@'%'")
	s.words["POSTGRES"], s.words["MYSQL"] = fmt.Sprint(pg.Port), fmt.Sprint(my.Port)
}

var word = regexp.MustCompile(`\{([A-Z_]+)\}`)

// declare fills in the Spicepod.
func (s *side) declare() error {
	path := filepath.Join(s.dir, "spicepod.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(s.expand(string(text))), 0o644)
}

// expand replaces the {WORDS} of a text, and leaves out lines with one that is not there.
func (s *side) expand(text string) string {
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
		return slices.ContainsFunc(word.FindAllStringSubmatch(line, -1), func(m []string) bool { return s.words[m[1]] == "" && m[1] != "WORDS" })
	})
	return word.ReplaceAllStringFunc(strings.Join(lines, "\n"), func(w string) string { return s.words[strings.Trim(w, "{}")] })
}

// model is the model of every chat. It calls the tools that lines of the last text of a user
// name, "call NAME ARGUMENTS", and then says what they returned; it says any other text again.
func model(r chattest.Request) chattest.Answer {
	var steps []chattest.Step
	var results []string
	for i, line := range strings.Split(r.User, "\n") {
		name, arguments, _ := strings.Cut(strings.TrimPrefix(line, "call "), " ")
		id := fmt.Sprint("call_", i)
		switch {
		case line == "fail":
			return chattest.ServerError()
		case line == "think":
			steps = append(steps, chattest.Thinking("a ", "thought"))
		case !strings.HasPrefix(line, "call "):
			results = append(results, line)
		case len(r.Results) > 0:
			results = append(results, name+": "+r.Results[id])
		default:
			steps = append(steps, chattest.Call(id, name, arguments))
		}
	}
	return chattest.Say(append(steps, chattest.Text(results...), chattest.Usage(10, 5, 3, 0))...)
}

// serve is the service of functions and datasets.
func (s *side) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) //nolint:errcheck // it is compared
	s.mu.Lock()
	if r.URL.Path == "/luhn" || r.URL.Path == "/fails" { // others are fetched when it is time
		s.sent = append(s.sent, fmt.Sprintf("service: %s %s %s\n%s", r.Method, r.URL, r.Header.Get("Content-Type"), body))
	}
	s.mu.Unlock()
	switch r.URL.Path {
	case "/luhn":
		var rows struct{ Rows []struct{ Number *int64 } }
		_ = json.Unmarshal(body, &rows)
		values := []any{}
		for _, row := range rows.Rows {
			values = append(values, row.Number != nil && *row.Number%2 == 0)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"values": values})
	case "/towns.csv":
		_, _ = io.WriteString(w, "town,people\nOslo,700000\nRome,2800000\n")
	case "/v1/pages":
		if r.URL.RawQuery == "" {
			w.Header().Set("Link", `</v1/pages?page=2>; rel="next"`)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `[{"page": %q, "value": [1, 2.5]}]`, r.URL.RawQuery)
	default:
		http.Error(w, "the service is out of order", http.StatusInternalServerError)
	}
}

// outward returns what was sent to the provider and to the service since the last call, in an
// order of its own: agents work at the same time.
func (s *side) outward() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.provider.Requests()
	for _, r := range all[s.heard:] {
		text := "provider: " + r.Path
		for _, name := range []string{"Authorization", "X-Api-Key", "Anthropic-Version", "Content-Type", "Accept"} {
			text += fmt.Sprintf("\n%s: %s", name, r.Header.Get(name))
		}
		s.sent = append(s.sent, text+"\n"+string(r.Body))
	}
	slices.Sort(s.sent)
	text := strings.Join(s.sent, "\n")
	s.sent, s.heard = nil, len(all)
	return text
}

// may are what may differ between two answers.
var may = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "{UUID}"},
	{regexp.MustCompile(`\b(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\.\d{3,9}(Z|\+00)?)`), "{TIME}"},
	{regexp.MustCompile(`\b202\d-1[12]-\d\d[T ]\d\d:\d\d:\d\d[0-9.]*(Z|\+00)?`), "{TIME}"},
	{regexp.MustCompile(`\b[0-9.]+ ?(ns|µs|ms|s)\b`), "{DURATION}"},
	{regexp.MustCompile(`(\btime="|Time: )[0-9.]+`), "$1{DURATION}"},
	{regexp.MustCompile(`(_ms[\\"]+: ?)[0-9.]+`), "$1{NUMBER}"},
	{regexp.MustCompile(`@[0-9a-f]{16}\b`), "@{CHECKSUM}"}, // of a function, in a plan
	{regexp.MustCompile(`"(\w*_ms|created|created_at|completed_at|duration\w*|age|ttl|uptime\w*)": ?[0-9.e+-]+`), `"$1":{NUMBER}`},
	{regexp.MustCompile(`\b(req|chatcmpl|resp|msg|apr|call|rs|fc|r|res|sess|q|flow|ctx)[-_][0-9A-Za-z_-]{8,}`), "$1_{ID}"},
	{regexp.MustCompile(`(?i)((spiced-)?generation"?[:=]? ?)"?\d+`), "${1}{N}"},
	{regexp.MustCompile(`(checksum": ?|Etag: )"[0-9a-f]+"`), "$1{CHECKSUM}"}, // addresses are in it
	{regexp.MustCompile(`\b[0-9a-f]{32}\b`), "{ID}"},
	{regexp.MustCompile(`\b[A-Z2-7]{26}\b`), "{ID}"},
	{regexp.MustCompile(`Some rows:.*`), "{SAMPLE}"},
	{regexp.MustCompile(`,"last_snapshot":"[^"]*"`), ""}, // it is written in the background
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:{PORT}"},
}

// mask removes what may differ from an answer.
func (s *side) mask(text string) string {
	text = s.masked.Replace(text)
	for _, m := range may {
		text = m.pattern.ReplaceAllString(text, m.by)
	}
	return text
}
