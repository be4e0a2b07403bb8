package repl

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScriptRunsInOrder(t *testing.T) {
	s := newServer(t)
	out, _, err := run(t, s, Options{Header: http.Header{"X-Api-Key": {"k"}}}, "select 1;\n\\o csv\nselect 2; -- note\nselect 3")
	if err != nil {
		t.Fatal(err)
	}
	if want := "<select 1>\n<select 2>\n<select 3>\n"; out != want {
		t.Errorf("got %q, want %q", out, want)
	}
	h := s.header()
	if got := h.Get("Accept"); !strings.HasPrefix(got, "text/csv,") || h.Get("X-Api-Key") != "k" || !strings.HasPrefix(h.Get("Content-Type"), "text/plain") {
		t.Errorf("header %v", h)
	}
}

func TestScriptStopsAtTheFirstError(t *testing.T) {
	s := newServer(t)
	s.answers["bad"] = fail(2, 3)
	_, _, err := run(t, s, Options{}, "select 1;\n\n  select 2; bad\n  x;\nselect 3;")
	var failed *StatementError
	var cause *ServerError
	if !errors.As(err, &failed) || !errors.As(err, &cause) {
		t.Fatalf("got %v", err)
	}
	if diff := cmp.Diff([]string{"select 1", "select 2", "bad\n  x"}, s.statements()); diff != "" {
		t.Error(diff)
	}
	if failed.Line != 3 || failed.Column != 13 || cause.Status != 400 || cause.Code != "not_found" {
		t.Errorf("got %+v, %+v", failed, cause)
	}
	if got, want := err.Error(), `line 4: no column "x" [not_found]`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var text bytes.Buffer
	failed.WriteText(&text)
	want := `line 4: error: no column "x" [not_found]
   4 |   x
     |   ^
hint: did you mean "y"?
`
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Error(diff)
	}
}

func TestIncludedScripts(t *testing.T) {
	s := newServer(t)
	s.answers["bad"] = fail(1, 5)
	dir := t.TempDir()
	inner, loop := filepath.Join(dir, "inner.sql"), filepath.Join(dir, "loop.sql")
	write(t, inner, "-- note\nselect 1;\n\\q\nselect 2;")
	write(t, loop, "\\i "+loop)
	broken := filepath.Join(dir, "broken.sql")
	write(t, broken, "\nselect 1; bad x;")

	if _, _, err := run(t, s, Options{}, "\\i "+inner+"\nselect 3;"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"select 1"}, s.statements()); diff != "" {
		t.Error(diff)
	}
	for script, want := range map[string]string{
		"\\i " + broken:               broken + `:2:15: no column "x" [not_found]`,
		"\\i " + loop:                 loop + ":1:1: scripts include each other more than 16 deep",
		"select 1;\n\\i /no/such.sql": `line 2: cannot read "/no/such.sql": no such file or directory`,
		"\\i":                         `line 1: \i takes a file`,
		"\n\\timin":                   `line 2: unknown command \timin (did you mean \timing?)`,
		"\\o cvs":                     `line 1: unknown format "cvs": did you mean "csv"?`,
	} {
		if _, _, err := run(t, s, Options{}, script); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", script, err, want)
		}
	}
}

func TestExecTakesStatementsAndCommands(t *testing.T) {
	s := newServer(t)
	var out, notes bytes.Buffer
	o := Options{URL: s.URL, Out: &out, Err: &notes, Timing: true, Client: s.Client()}
	if err := Exec(context.Background(), o, Source{Text: `select 1;`}, Source{Text: `select ';'`}); err != nil {
		t.Fatal(err)
	}
	if err := Exec(context.Background(), o, Source{Text: `\dt air*_x`}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(notes.String(), "Time: "); n != 3 {
		t.Errorf("%d timings in %q", n, notes.String())
	}
	last := s.statements()[2]
	if !strings.Contains(last, `name ILIKE 'air%\_x' ESCAPE '\'`) {
		t.Errorf("sent %s", last)
	}
}

func TestDescribe(t *testing.T) {
	s := newServer(t)
	s.answers[tableNamesSQL] = answer(`{"schema":"public","name":"airports"}` + "\n" + `{"schema":"public","name":"O'Hare"}` + "\n" +
		`{"schema":"raw","name":"airports"}`)
	for command, want := range map[string]string{
		`\d AIRPORTS;`:    "WHERE schema = 'public' AND dataset = 'airports'\n",
		`\d raw.Airports`: "WHERE schema = 'raw' AND dataset = 'airports'\n",
		`.schema o'hare`:  "WHERE schema = 'public' AND dataset = 'O''Hare'\n",
		`\d`:              "FROM spiced.datasets\nORDER BY",
		`\df hav*`:        "FROM spiced.functions\nWHERE name ILIKE 'hav%' ESCAPE",
		`.functions`:      "FROM spiced.functions\nORDER BY",
		`.tables`:         "FROM spiced.datasets\nORDER BY",
	} {
		if _, _, err := run(t, s, Options{}, command); err != nil {
			t.Fatal(err)
		}
		all := s.statements()
		if got := all[len(all)-1]; !strings.Contains(got, want) {
			t.Errorf("%s sent %s", command, got)
		}
	}
	_, _, err := run(t, s, Options{}, `\d airprots`)
	if want := `line 1: no table or view "airprots" (did you mean "airports"?)`; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestErrorsOfTheWay(t *testing.T) {
	s := newServer(t)
	s.answers["text"] = func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no\x1b[31m way", http.StatusInternalServerError)
	}
	s.answers["empty"] = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }
	s.answers["moved"] = func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	}
	s.answers["cut"] = func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte("half"))
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	for sql, want := range map[string]string{
		"text":  "line 1: no\x1b[31m way",
		"empty": "line 1: the server answered 502 Bad Gateway",
		"moved": "line 1: the server answered 307 Temporary Redirect",
		"cut":   "line 1: the result was cut off: unexpected EOF",
	} {
		_, _, err := run(t, s, Options{}, sql)
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", sql, err, want)
		}
		if failed := (*StatementError)(nil); errors.As(err, &failed) {
			var text bytes.Buffer
			if failed.WriteText(&text); strings.Contains(text.String(), "\x1b") {
				t.Errorf("%q drives the terminal", text.String())
			}
		}
	}
	if err := Exec(context.Background(), Options{URL: "http://127.0.0.1:1"}, Source{Text: "x"}); err == nil ||
		!strings.HasPrefix(err.Error(), "line 1: no answer from http://127.0.0.1:1: ") {
		t.Errorf("got %v", err)
	}
	for _, o := range []Options{{URL: "localhost"}, {URL: "ftp://localhost:1"}, {URL: "http://%"}, {Format: "xml"}} {
		if err := Exec(context.Background(), o, Source{Text: "x"}); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

func TestCaretStandsUnderWideCharacters(t *testing.T) {
	long := strings.Repeat("a", 300)
	for _, tt := range []struct {
		sql    string
		column int
		want   string
	}{
		{"select 日本 x", 11, "   1 | select 日本 x\n     |             ^\n"},
		{long + "x", 301, "   1 | " + strings.Repeat("a", 50) + "x\n     | " + strings.Repeat(" ", 50) + "^\n"},
		{"ab", 99, "   1 | ab\n     |   ^\n"},
	} {
		e := &StatementError{SQL: tt.sql, Err: &ServerError{Message: "m", Line: 1, Column: tt.column}}
		var b bytes.Buffer
		e.WriteText(&b)
		if diff := cmp.Diff("error: m\n"+tt.want, b.String()); diff != "" {
			t.Error(diff)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
