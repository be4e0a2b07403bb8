package repl

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cells answers with rows for a terminal.
func cells(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", cellsType)
		io.WriteString(w, text)
	}
}

const twoRows = `[{"name":"i","type":"BIGINT","numeric":true},{"name":"s","type":"VARCHAR"}]
["1","a|b"]
["-20",null]
["3","\u001b[2J\n日"]
`

func TestLayouts(t *testing.T) {
	s := newServer(t)
	s.answers["two"] = cells(twoRows)
	for script, want := range map[string]string{
		"two": `+-----+---------------+
| i   | s             |
+-----+---------------+
|   1 | a|b           |
| -20 | NULL          |
|   3 | \u001b[2J\n日 |
+-----+---------------+
(3 rows)
`,
		"\\o box\ntwo": `┌─────┬───────────────┐
│ i   │ s             │
├─────┼───────────────┤
│   1 │ a|b           │
│ -20 │ NULL          │
│   3 │ \u001b[2J\n日 │
└─────┴───────────────┘
(3 rows)
`,
		"\\o markdown\ntwo": `| i   | s             |
|----:|---------------|
|   1 | a\|b          |
| -20 | NULL          |
|   3 | \u001b[2J\n日 |
`,
		"\\x\ntwo": `-[ RECORD 1 ]
i | 1
s | a|b
-[ RECORD 2 ]
i | -20
s | NULL
-[ RECORD 3 ]
i | 3
s | \u001b[2J\n日
(3 rows)
`,
	} {
		out, _, err := run(t, s, Options{}, script)
		if diff := cmp.Diff(want, out); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", script, err, diff)
		}
	}
}

func TestTablesFitTheTerminal(t *testing.T) {
	s := newServer(t)
	s.answers["wide"] = cells(`[{"name":"id","type":"BIGINT","numeric":true},{"name":"note","type":"VARCHAR"}]
["1","the quick brown fox jumps over"]
["2",""]
`)
	out, _, err := run(t, s, Options{Size: func() (int, int) { return 24, 10 }}, "wide")
	want := `+----+-----------------+
| id | note            |
+----+-----------------+
|  1 | the quick       |
|    | brown fox       |
|    | jumps over      |
|  2 |                 |
+----+-----------------+
(2 rows)
`
	if diff := cmp.Diff(want, out); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	out, _, err = run(t, s, Options{Size: func() (int, int) { return 12, 10 }}, "wide")
	if err != nil || !strings.HasPrefix(out, "-[ RECORD 1 ]\nid   | 1\nnote | the quick brown fox") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestPlansAreReadable(t *testing.T) {
	s := newServer(t)
	s.answers["EXPLAIN"] = cells(`[{"name":"explain_key","type":"VARCHAR"},{"name":"explain_value","type":"VARCHAR"}]
["physical_plan","┌───┐\n│ X │\n└───┘\n"]
`)
	out, _, err := run(t, s, Options{}, "EXPLAIN x")
	if err != nil || out != "┌───┐\n│ X │\n└───┘\n" {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestCutOffTables(t *testing.T) {
	s := newServer(t)
	s.answers["half"] = cells(`[{"name":"i","type":"BIGINT"}]` + "\n[\"1\"]\n[\"")
	s.answers["odd"] = cells(`[{"name":"i","type":"BIGINT"}]` + "\n[\"1\",\"2\"]\n")
	for sql, want := range map[string]string{
		"half": "line 1: the result was cut off: unexpected EOF",
		"odd":  "line 1: the result was cut off: a row of 2 values for 1 column",
	} {
		if _, _, err := run(t, s, Options{}, sql); err == nil || err.Error() != want {
			t.Errorf("%s: got %v", sql, err)
		}
	}
}

func TestLongResultsArePaged(t *testing.T) {
	s := newServer(t)
	s.answers["two"] = cells(twoRows)
	file := filepath.Join(t.TempDir(), "paged")
	for height, paged := range map[int]bool{5: true, 40: false} {
		os.Remove(file)
		o := Options{Size: func() (int, int) { return 80, height }, Pager: "cat >'" + file + "'"}
		out, _, err := run(t, s, o, "two")
		text, _ := os.ReadFile(file)
		if got := strings.Contains(string(text), "(3 rows)"); err != nil || got != paged || strings.Contains(out, "(3 rows)") == paged {
			t.Errorf("height %d: paged %v, error %v, out %q", height, got, err, out)
		}
	}
	o := Options{Size: func() (int, int) { return 80, 5 }, Pager: "exit 1"}
	if _, _, err := run(t, s, o, "two"); err != nil {
		t.Errorf("a pager that is left: %v", err)
	}
}

func TestEditRunsWhatIsSaved(t *testing.T) {
	s := newServer(t)
	t.Setenv("VISUAL", `sed -i 's/select 1/select 2/'`)
	if _, _, err := run(t, s, Options{}, "select 1;\n\\e\n"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"select 1", "select 2"}, s.statements()); diff != "" {
		t.Error(diff)
	}
	t.Setenv("VISUAL", "exit 3;")
	if _, _, err := run(t, s, Options{}, `\e`); err == nil || !strings.Contains(err.Error(), `the editor "exit 3;" failed: exit status 3`) {
		t.Errorf("got %v", err)
	}
}

func TestFilesAndTextsRunInOrder(t *testing.T) {
	s := newServer(t)
	file := filepath.Join(t.TempDir(), "f.sql")
	write(t, file, "select 2;\nbad")
	s.answers["bad"] = fail(1, 1)
	o := Options{URL: s.URL, Client: s.Client(), In: strings.NewReader("select 3")}
	err := Exec(t.Context(), o, Source{Text: "select 1"}, Source{File: "-"}, Source{File: file}, Source{Text: "select 4"})
	if want := file + `:2:1: no column "x" [not_found]`; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{"select 1", "select 3", "select 2", "bad"}, s.statements()); diff != "" {
		t.Error(diff)
	}
}

func TestFunctionsAndViews(t *testing.T) {
	s := newServer(t)
	s.answers[functionNamesSQL] = answer(`{"name":"haversine_km"}`)
	for command, want := range map[string]string{
		`\dv`:              "FROM spiced.datasets\nWHERE kind = 'view'\nORDER BY",
		`\dv a*`:           "WHERE kind = 'view'\n  AND name ILIKE 'a%' ESCAPE",
		`\df+ h*`:          "FROM spiced.functions\nWHERE name ILIKE 'h%' ESCAPE",
		`\sf HAVERSINE_KM`: "WHERE name = 'haversine_km'",
	} {
		if _, _, err := run(t, s, Options{}, command); err != nil {
			t.Fatal(err)
		}
		all := s.statements()
		if got := all[len(all)-1]; !strings.Contains(got, want) {
			t.Errorf("%s sent %s", command, got)
		}
	}
	for command, want := range map[string]string{
		`\sf haversin_km`: `line 1: no function "haversin_km" (did you mean "haversine_km"?)`,
		`\sf`:             `line 1: \sf takes the name of a function`,
		`\x maybe`:        `line 1: expanded output must be on or off, got "maybe"`,
	} {
		if _, _, err := run(t, s, Options{}, command); err == nil || err.Error() != want {
			t.Errorf("%s: got %v", command, err)
		}
	}
}
