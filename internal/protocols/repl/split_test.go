package repl

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// splitAll cuts a script as Run does.
func splitAll(t *testing.T, script string) []statement {
	t.Helper()
	s := newSplitter()
	var all []statement
	for line := range strings.Lines(script) {
		if err := s.add(strings.TrimSuffix(line, "\n")); err != nil {
			t.Fatal(err)
		}
		all = append(all, s.take()...)
	}
	return append(all, s.rest()...)
}

func TestScriptsAreCutAtSemicolons(t *testing.T) {
	for name, tt := range map[string]struct {
		script string
		want   []statement
	}{
		"nothing":       {"", nil},
		"only comments": {"-- a;\n/* b; */ ;\n", nil},
		"one":           {"select 1;", []statement{{SQL: "select 1", Line: 1, Column: 1}}},
		"no semicolon":  {"select 1\n", []statement{{SQL: "select 1", Line: 1, Column: 1}}},
		"two on a line": {"a; é; b", []statement{{SQL: "a", Line: 1, Column: 1}, {SQL: "é", Line: 1, Column: 4}, {SQL: "b", Line: 1, Column: 7}}},
		"over lines": {
			"\n-- first\nselect\n  1;\n\n  select 2;\n",
			[]statement{{SQL: "select\n  1", Line: 3, Column: 1}, {SQL: "select 2", Line: 6, Column: 3}},
		},
		"in a literal":     {"select ';\n;', 'it''s;';x", []statement{{SQL: "select ';\n;', 'it''s;'", Line: 1, Column: 1}, {SQL: "x", Line: 2, Column: 14}}},
		"dollar quotes":    {"select $$a;b$$, $t$ ; $t$;", []statement{{SQL: "select $$a;b$$, $t$ ; $t$", Line: 1, Column: 1}}},
		"quoted name":      {`select "a;b";`, []statement{{SQL: `select "a;b"`, Line: 1, Column: 1}}},
		"comment between":  {"a -- ;\n+ /* ; /* ; */ */ b;", []statement{{SQL: "a -- ;\n+ /* ; /* ; */ */ b", Line: 1, Column: 1}}},
		"empty statements": {";;a;;", []statement{{SQL: "a", Line: 1, Column: 3}}},
		"open literal":     {"select 'a;", []statement{{SQL: "select 'a;\n", Line: 1, Column: 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := splitAll(t, tt.script)
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(statement{}), cmpopts.IgnoreFields(statement{}, "typed")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPendingStatementsAreKnown(t *testing.T) {
	for text, idle := range map[string]bool{
		"":            true,
		"-- note":     true,
		"/* a */":     true,
		"/* a":        false,
		"select":      false,
		"select 1;":   true,
		"a; select '": false,
		"$$":          false,
		"'":           false,
	} {
		s := newSplitter()
		if text != "" {
			if err := s.add(text); err != nil {
				t.Fatal(err)
			}
		}
		s.take()
		if got := s.idle(); got != idle {
			t.Errorf("%q: idle is %v", text, got)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("select 1; select ';' -- x;\n;")
	f.Add("a;$$;$$;'")
	f.Fuzz(func(t *testing.T, script string) {
		lines := strings.Split(script, "\n")
		for _, st := range splitAll(t, script) {
			if st.Line < 1 || st.Line > len(lines) || st.Column < 1 {
				t.Fatalf("%q stands at %d:%d", st.SQL, st.Line, st.Column)
			}
			first, _, _ := strings.Cut(st.SQL, "\n")
			line := []rune(lines[st.Line-1])
			if !strings.HasPrefix(string(line[st.Column-1:]), string([]rune(first))) {
				t.Fatalf("%q does not stand at %d:%d of %q", st.SQL, st.Line, st.Column, script)
			}
		}
	})
}
