package repl

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestInteractiveGoesOnAfterErrors(t *testing.T) {
	s := newServer(t)
	s.answers["bad"] = fail(1, 1)
	terminal, out, notes := interact(t, s,
		"select 1;", "bad;", `\nope`, "select", "  2;", "^C", "half", "^C", "select 3; select 4;", "exit", "never;")
	if diff := cmp.Diff([]string{"select 1", "bad", "select\n  2", "select 3", "select 4"}, s.statements()); diff != "" {
		t.Error(diff)
	}
	if !strings.HasPrefix(out, "<select 1>\n") {
		t.Errorf("out %q", out)
	}
	for _, want := range []string{"error: no column \"x\" [not_found]\n   1 | bad\n     | ^\nhint: did you mean", `unknown command \nope`} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes %q lack %q", notes, want)
		}
	}
	if diff := cmp.Diff([]string{"select 1;", "bad;", `\nope`, "select\n  2;", "select 3;", " select 4;", `\q`}, terminal.remembered); diff != "" {
		t.Error(diff)
	}
	continued := slices.Index(terminal.prompts, promptContinue)
	if continued != 4 || terminal.prompts[8] != prompt {
		t.Errorf("prompts %q", terminal.prompts)
	}
}

func TestInterruptCancelsTheStatementOnly(t *testing.T) {
	s := newServer(t)
	cancelled := make(chan struct{})
	s.answers["slow"] = func(_ http.ResponseWriter, r *http.Request) {
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Signal(os.Interrupt)
		}
		if err != nil {
			t.Error(err)
		}
		<-r.Context().Done()
		close(cancelled)
	}
	_, out, notes := interact(t, s, "slow;", "select 1;")
	<-cancelled
	if out != "<select 1>\n" || !strings.Contains(notes, "\ncancelled\n") {
		t.Errorf("out %q, notes %q", out, notes)
	}
}

func TestHelpListsEveryCommand(t *testing.T) {
	s := newServer(t)
	_, out, _ := interact(t, s, "help", `\timing`, `\timing off`, `\o`)
	for _, name := range commandNames() {
		if !strings.Contains(out, name) {
			t.Errorf("%s is not in %q", name, out)
		}
	}
}

func TestHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "history")
	h := openHistory(path)
	for _, text := range []string{"select 1;", "select 1;", " secret;", "select\n  2 -- note\n+ 3;", "select '\n';", "", strings.Repeat("x", maxRemembered+1)} {
		h.add(text)
	}
	want := []string{"select 1;", "select 2 + 3;"}
	if diff := cmp.Diff(want, openHistory(path).entries); diff != "" {
		t.Error(diff)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
	for i := range 2 * maxHistory {
		h.add(fmt.Sprintf("select %d;", i))
	}
	if got := openHistory(path).entries; len(got) != maxHistory || got[maxHistory-1] != "select 1999;" {
		t.Errorf("%d entries", len(got))
	}
	raw, err := os.ReadFile(path)
	if n := strings.Count(string(raw), "\n"); err != nil || n != maxHistory {
		t.Errorf("%d lines in the file, error %v", n, err)
	}
	if h := openHistory(filepath.Join(path, "below", "a", "file")); h.add("x") != "x" {
		t.Error("a history without a file does not work in memory")
	}
}

func TestCompletion(t *testing.T) {
	set := &nameSet{
		tables:    []string{"airports", "flights"},
		columns:   map[string][]string{"airports": {"iata", "city"}, "flights": {"origin"}},
		functions: []string{"haversine_km", "air_time"},
	}
	c := completer{names: func() *nameSet { return set }}
	for line, want := range map[string][]string{
		"sel":                           {"select"},
		"SEL":                           {"SELECT"},
		"select hav":                    {"haversine_km(", "having"},
		"select * from a":               {"airports", "air_time("},
		"select * FROM flights f join ": {"airports", "flights", "haversine_km(", "air_time("},
		"select airports.":              {"airports.iata", "airports.city"},
		"select x.ori":                  {"x.origin"},
		"select (ci":                    {"city"},
		`\t`:                            {`\timing`},
		`\d f`:                          {"flights"},
		`\df hav`:                       {"haversine_km"},
		`\o j`:                          {"json"},
		`.tab`:                          {".tables"},
		`\q x`:                          nil,
	} {
		head, words, tail := c.complete(line+" é", len([]rune(line)))
		if diff := cmp.Diff(want, words); diff != "" || tail != " é" || !strings.HasPrefix(line, head) {
			t.Errorf("%q: head %q, tail %q, words %s", line, head, tail, diff)
		}
	}
}

func TestNamesNeverBlockThePrompt(t *testing.T) {
	s := newServer(t)
	slow := make(chan struct{})
	s.answers[tableNamesSQL] = func(w http.ResponseWriter, _ *http.Request) {
		<-slow
		io.WriteString(w, `{"schema":"public","name":"airports"}`+"\n"+`{"schema":"raw","name":"flights"}`)
	}
	s.answers[columnNamesSQL] = answer(`{"dataset":"airports","name":"iata"}`)
	s.answers[functionNamesSQL] = answer(`{"name":"f"}`)
	c, err := newClient(Options{URL: s.URL, Client: s.Client()})
	if err != nil {
		t.Fatal(err)
	}
	n := newNames(context.Background(), c)
	start := time.Now()
	if set := n.now(); len(set.tables) != 0 || time.Since(start) > 10*namesWait {
		t.Errorf("got %v after %s", set, time.Since(start))
	}
	close(slow)
	n.work.Wait()
	if diff := cmp.Diff([]string{"airports", "raw.flights"}, n.now().tables); diff != "" {
		t.Error(diff)
	}
	before := len(s.statements())
	n.generation("2")
	n.now()
	if got := len(s.statements()); got != before+3 {
		t.Errorf("%d requests after a reload, want 3", got-before)
	}
	n.generation("2")
	n.now()
	if got := len(s.statements()); got != before+3 {
		t.Error("names were asked for again without a reload")
	}
	n.close()
}

func TestCloseEndsALoad(t *testing.T) {
	s := newServer(t)
	s.answers["SELECT"] = func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	c, err := newClient(Options{URL: s.URL, Client: s.Client()})
	if err != nil {
		t.Fatal(err)
	}
	newNames(context.Background(), c).close()
}

func TestRunAtATerminalThatEnds(t *testing.T) {
	s := newServer(t) // the standard input of a test is empty
	var notes strings.Builder
	o := Options{URL: s.URL, Client: s.Client(), Err: &notes, Interactive: true, History: filepath.Join(t.TempDir(), "history")}
	if err := Run(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(notes.String(), `\q to quit`) {
		t.Errorf("notes %q", notes.String())
	}
}
