package nsql_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/nsql"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

func TestCandidates(t *testing.T) {
	for text, want := range map[string][]string{
		"":                       nil,
		" ;\n":                   nil,
		"SELECT 1":               {"SELECT 1"},
		"```sql\nSELECT 1\n```":  {"SELECT 1"},
		"```sql SELECT 1```":     {"```sql SELECT 1```"},
		"a\n```\nx\n```\n```\ny": {"y", "x"},
		"```sql\nx\n```\n````duckdb\ny\n```\n````\n~":       {"y\n```"},
		"Well:\nselect 1; And\n\nMore":                      {"Well:\nselect 1; And\n\nMore", "select 1; And\n\nMore", "select 1; And", "select 1"},
		"((with x as (select 1)\n\nfrom x\n\nI think":       {"((with x as (select 1)\n\nfrom x\n\nI think", "((with x as (select 1)\n\nfrom x"},
		"From it I see:\n\nFROM x":                          {"From it I see:\n\nFROM x", "FROM x"},
		"SELECT count(*\n\nFROM orders\n\nWHERE id = = 1":   {"SELECT count(*\n\nFROM orders\n\nWHERE id = = 1"},
		"<think>```sql\nSELECT 1\n```</think>\nSELECT 2 ; ": {"SELECT 2"},
	} {
		if diff := cmp.Diff(want, nsql.Candidates(text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	if n := len(nsql.Candidates(strings.Repeat("SELECT 1;\n\nAnd\n", 1000))); n != nsql.MaxCandidates {
		t.Errorf("%d candidates", n)
	}
}

func FuzzCandidates(f *testing.F) {
	for _, seed := range []string{"SELECT 1", "```sql\nSELECT 1;\n```\n", "<think>x</think>\n````\n```\nWITH x", "a\n\nFROM t;\n(VALUES (1))", "```"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all := nsql.Candidates(text)
		if len(all) > nsql.MaxCandidates {
			t.Errorf("%d candidates", len(all))
		}
		for _, c := range all {
			if c == "" || c != strings.TrimSpace(c) || !strings.Contains(text, c) {
				t.Errorf("%q is no part of %q", c, text)
			}
		}
	})
}

// FuzzAnswer passes any answer of a model to the writer: what it returns runs, and
// reads nothing else.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		"SELECT 1", "```sql\nSELECT word FROM secret\n```", "DROP TABLE orders", "SELECT * FROM read_text('/etc/passwd')",
		"FROM orders;", "EXPLAIN ANALYZE SELECT 1", "SHOW TABLES",
	} {
		f.Add(seed)
	}
	w := newWorld(f)
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range nsql.Candidates(text) {
			r := engine.Request{SQL: c, Allow: func(r engine.Relation) bool { return r.Name == "orders" }}
			if nsql.Check(w)(t.Context(), r) != nil {
				continue
			}
			rows, err := w.DB.Query(t.Context(), r)
			if err == nil {
				rows.Close()
				continue
			}
			if code := engine.AsError(err).Code; code == errcode.Refused || code == errcode.Parse || code == errcode.NotFound {
				t.Errorf("Check let %q pass: %v", c, err)
			}
		}
	})
}
