package usage_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/find/usage"
)

// learning opens a recorder that records pairs.
func learning(t *testing.T, o usage.Options) *usage.Recorder {
	t.Helper()
	r := open(t, o)
	r.Learn(true)
	return r
}

// pair makes a pair: a search and a call of what it returned.
func pair(r *usage.Recorder, k usage.PairKey) {
	session := k.Principal + "/" + k.Space
	r.Search(usage.Search{Query: k.Query, SessionID: session, Principal: k.Principal, Space: k.Space, Tools: []string{k.Tool}})
	r.Call(usage.Call{Tool: k.Tool, OK: true, SessionID: session, Principal: k.Principal, Space: k.Space})
}

// pairsOf are the pairs as tool: query, principal and space, if they have one, and calls.
func pairsOf(r *usage.Recorder) []string {
	var out []string
	pairs, _ := r.Pairs()
	for _, p := range pairs {
		text := p.Tool + ": " + p.Query
		for _, more := range []string{p.Principal, p.Space} {
			if more != "" {
				text += " " + more
			}
		}
		out = append(out, fmt.Sprintf("%s ×%d", text, p.Count))
	}
	return out
}

func TestPairs(t *testing.T) {
	clock := newClock()
	search := func(query string, tools ...string) any {
		return usage.Search{Query: query, SessionID: "s", Principal: "ann", Space: "x", Tools: tools}
	}
	call := func(tool string, change ...func(*usage.Call)) any {
		c := usage.Call{Tool: tool, OK: true, SessionID: "s", Principal: "ann", Space: "x"}
		for _, f := range change {
			f(&c)
		}
		return c
	}
	fails := func(c *usage.Call) { c.OK = false }
	eve := func(c *usage.Call) { c.Principal = "eve" }
	for _, c := range []struct {
		name  string
		steps []any
		want  []string
	}{
		{"a search and a call", []any{search("far", "a", "b"), call("b")}, []string{"b: far ann x ×1"}},
		{"calls of two results", []any{search("far", "a", "b"), call("b"), call("a")}, []string{"a: far ann x ×1", "b: far ann x ×1"}},
		{"one call counts once", []any{search("far", "a"), call("a"), call("a")}, []string{"a: far ann x ×1"}},
		{"another search counts again", []any{search("far", "a"), call("a"), search("far", "a"), call("a")}, []string{"a: far ann x ×2"}},
		{"the session of another key", []any{
			search("far", "a"),
			usage.Search{Query: "near", SessionID: "s", Principal: "eve", Space: "x", Tools: []string{"a"}},
			call("a", eve), call("b", eve), call("b", eve), call("b", eve), call("b", eve), call("b", eve), call("a"),
		}, []string{"a: far ann x ×1", "a: near eve x ×1"}},
		{"the session of another user", []any{search("far", "a"), call("a", func(c *usage.Call) { c.User = "eve" })}, nil},
		{"a call that fails", []any{search("far", "a"), call("a", fails)}, nil},
		{"a call that works when repeated", []any{search("far", "a"), call("a", fails), call("a")}, []string{"a: far ann x ×1"}},
		{"a tool that was not found", []any{search("far", "a"), call("b")}, nil},
		{"two searches before their calls", []any{search("far", "a"), search("near", "b"), call("a"), call("b")}, []string{"a: far ann x ×1", "b: near ann x ×1"}},
		{"the latest search that returned it", []any{search("far", "a"), search("near", "a", "b"), call("a")}, []string{"a: near ann x ×1"}},
		{"a search four searches ago", []any{search("far", "a"), search("1", "b"), search("2", "b"), search("3", "b"), call("a")}, []string{"a: far ann x ×1"}},
		{"a search five searches ago", []any{search("far", "a"), search("1", "b"), search("2", "b"), search("3", "b"), search("4", "b"), call("a")}, nil},
		{"the fifth call", []any{search("far", "a"), call("1"), call("2"), call("3"), call("4"), call("a")}, []string{"a: far ann x ×1"}},
		{"the sixth call", []any{search("far", "a"), call("1"), call("2"), call("3"), call("4"), call("5"), call("a")}, nil},
		{"late", []any{search("far", "a"), usage.ChosenWithin + 1, call("a")}, nil},
		{"another session", []any{search("far", "a"), call("a", func(c *usage.Call) { c.SessionID = "t" })}, nil},
		{"another principal in a session of that name", []any{search("far", "a"), call("a", func(c *usage.Call) { c.Principal = "bob" })}, nil},
		{"another space", []any{search("far", "a"), call("a", func(c *usage.Call) { c.Space = "y" })}, nil},
		{"a search that is not for learning", []any{
			usage.Search{Query: "far", SessionID: "s", Tools: []string{"a"}, Unpaired: true}, usage.Call{Tool: "a", OK: true, SessionID: "s"},
		}, nil},
		{"without a session or caller", []any{usage.Search{Query: "far", Tools: []string{"a"}}, usage.Call{Tool: "a", OK: true}}, nil},
		{"in one request", []any{
			usage.Search{Query: "far", RequestID: "r", Tools: []string{"a"}}, usage.Call{Tool: "a", OK: true, RequestID: "r"},
		}, []string{"a: far ×1"}},
		{"in another request", []any{
			usage.Search{Query: "far", RequestID: "r", Tools: []string{"a"}}, usage.Call{Tool: "a", OK: true, RequestID: "s"},
		}, nil},
		{"the caller is the session", []any{
			usage.Search{Query: "far", Caller: "agent", Tools: []string{"a"}}, usage.Call{Tool: "a", OK: true, Caller: "agent"},
		}, []string{"a: far ×1"}},
		{"a long query", []any{search(strings.Repeat("x", 2*usage.MaxText), "a"), call("a")}, []string{"a: " + strings.Repeat("x", usage.MaxText-3) + "… ann x ×1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := learning(t, usage.Options{Now: clock.now})
			for _, step := range c.steps {
				switch x := step.(type) {
				case usage.Search:
					r.Search(x)
				case usage.Call:
					r.Call(x)
				case time.Duration:
					clock.advance(x)
				}
			}
			if diff := cmp.Diff(c.want, pairsOf(r)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPairsStay closes a recorder and opens it again. A forgotten pair does not come back, and
// neither does one of a key without a name.
func TestPairsStay(t *testing.T) {
	clock := newClock()
	o := usage.Options{Dir: t.TempDir(), Now: clock.now, Days: 10}
	r := learning(t, o)
	pair(r, usage.PairKey{Tool: "a", Query: "old", Principal: "ann"})
	clock.advance(9 * 24 * time.Hour)
	pair(r, usage.PairKey{Tool: "a", Query: "far", Principal: "ann", Space: "x"})
	pair(r, usage.PairKey{Tool: "b", Query: "near"})
	pair(r, usage.PairKey{Tool: "b", Query: "near", Principal: "key-3"})
	closeIt(t, r)

	r = learning(t, o)
	if diff := cmp.Diff([]string{"a: old ann ×1", "a: far ann x ×1", "b: near ×1"}, pairsOf(r)); diff != "" {
		t.Error(diff)
	}
	pair(r, usage.PairKey{Tool: "b", Query: "near"})
	r.KeepPairs(func(tool string) bool { return tool != "a" })
	closeIt(t, r)

	r = learning(t, o)
	if diff := cmp.Diff([]string{"b: near ×2"}, pairsOf(r)); diff != "" {
		t.Error(diff)
	}
	pair(r, usage.PairKey{Tool: "a", Query: "far"})
	closeIt(t, r)
	clock.advance(24 * time.Hour)
	r = learning(t, o)
	if diff := cmp.Diff([]string{"a: far ×1", "b: near ×2"}, pairsOf(r)); diff != "" {
		t.Error(diff)
	}
}

func TestPairsExpire(t *testing.T) {
	clock := newClock()
	o := usage.Options{Dir: t.TempDir(), Now: clock.now, Days: 10}
	r := learning(t, o)
	pair(r, usage.PairKey{Tool: "a", Query: "old"})
	clock.advance(5 * 24 * time.Hour)
	pair(r, usage.PairKey{Tool: "a", Query: "new"})
	closeIt(t, r)
	clock.advance(5 * 24 * time.Hour)
	if diff := cmp.Diff([]string{"a: new ×1"}, pairsOf(learning(t, o))); diff != "" {
		t.Error(diff)
	}
}

func TestLearningIsOff(t *testing.T) {
	o := usage.Options{Dir: t.TempDir()}
	r := open(t, o)
	pair(r, usage.PairKey{Tool: "a", Query: "before it is on"})
	if got := pairsOf(r); got != nil {
		t.Errorf("got %q", got)
	}
	r.Learn(true)
	pair(r, usage.PairKey{Tool: "a", Query: "far"})
	closeIt(t, r)
	if !inFiles(t, o.Dir, `"pairs"`) {
		t.Error("the files have no pair")
	}
	r = learning(t, o)
	before := r.PairsVersion()
	r.Learn(false)
	pair(r, usage.PairKey{Tool: "a", Query: "near"})
	if got := pairsOf(r); got != nil || r.PairsVersion() == before {
		t.Errorf("got %q", got)
	}
	closeIt(t, r)
	if inFiles(t, o.Dir, `"pairs"`) {
		t.Error("the files still have it")
	}
	if got := pairsOf(open(t, o)); got != nil {
		t.Errorf("after a restart: %q", got)
	}
}

// inFiles reports whether a file of a folder has a text.
func inFiles(t *testing.T, dir, text string) (found bool) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found = found || strings.Contains(string(content), text)
	}
	return found
}

// TestPairsOfATool: one principal invents 10,000 pairs of a tool, and ten others keep theirs.
func TestPairsOfATool(t *testing.T) {
	clock := newClock()
	r := learning(t, usage.Options{Now: clock.now})
	for i := range 10 {
		pair(r, usage.PairKey{Tool: "a", Query: fmt.Sprint("honest ", i), Principal: fmt.Sprint("p", i)})
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		clock.advance(time.Second)
		pair(r, usage.PairKey{Tool: "a", Query: fmt.Sprint("invented ", random.Uint64()), Principal: "mallory"})
	}
	honest, invented := 0, 0
	for _, p := range pairsOf(r) {
		if strings.HasPrefix(p, "a: honest") {
			honest++
		} else {
			invented++
		}
	}
	if honest != 10 || invented != usage.MaxPairsOfTool-10 {
		t.Errorf("%d honest pairs, %d invented ones", honest, invented)
	}
	pair(r, usage.PairKey{Tool: "a", Query: "far", Space: "x"})
	if got, _ := r.Pairs(); len(got) != usage.MaxPairsOfTool+1 {
		t.Errorf("%d pairs: each space has room of its own", len(got))
	}
}

// TestPairsThatStay has queries of two kinds: what is new and different stays.
func TestPairsThatStay(t *testing.T) {
	clock := newClock()
	r := learning(t, usage.Options{Now: clock.now})
	for _, different := range []string{"convert money to euros", "how warm is Oslo", "translate a letter"} {
		clock.advance(time.Second)
		pair(r, usage.PairKey{Tool: "a", Query: different})
	}
	for i := range 3 * usage.MaxPairsOfTool {
		clock.advance(time.Second)
		pair(r, usage.PairKey{Tool: "a", Query: fmt.Sprintf("what is the distance between the two cities in run %d of the test", i)})
	}
	got := strings.Join(pairsOf(r), "\n")
	for _, want := range []string{"money", "Oslo", "letter", fmt.Sprintf("run %d of", 3*usage.MaxPairsOfTool-1)} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is gone", want)
		}
	}
}

// TestPairsAreBounded invents tools and spaces: others keep what they have.
func TestPairsAreBounded(t *testing.T) {
	clock := newClock()
	o := usage.Options{Now: clock.now, Dir: t.TempDir()}
	r := learning(t, o)
	for i := range 100 {
		pair(r, usage.PairKey{Tool: "a", Query: "honest", Principal: fmt.Sprint("p", i%10), Space: fmt.Sprint(i / 10)})
	}
	for i := range usage.MaxPairs + 2000 {
		clock.advance(time.Second)
		pair(r, usage.PairKey{Tool: fmt.Sprint("t", i%500), Query: fmt.Sprint("invented ", i), Principal: "mallory", Space: fmt.Sprint(i % 70)})
	}
	check := func(r *usage.Recorder) {
		t.Helper()
		honest := 0
		pairs, _ := r.Pairs()
		for _, p := range pairs {
			if p.Query == "honest" {
				honest++
			}
		}
		if honest != 100 || len(pairs) > usage.MaxPairs || len(pairs) < usage.MaxPairs*9/10 {
			t.Errorf("%d pairs, %d of them honest", len(pairs), honest)
		}
	}
	check(r)
	closeIt(t, r)
	check(learning(t, o))
}
