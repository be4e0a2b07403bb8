package toolloop

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/test/full"
	"github.com/spiced-sql/spiced/tools"
)

// game feeds a random answer to the state machine: interleaved calls of all kinds,
// results in any order, any end at any point. After every move it checks the invariants
// of the type answer.
type game struct {
	t      testing.TB
	choose func(n int) int // a random number below n
	a      *answer

	growing []int // indexes of calls that receive arguments
	texts   map[int]string
	running []*call
	started []*call
	moves   []string
}

// kinds maps tool names to their traits.
var kinds = map[string]traits{
	"plain": {}, "serial": {serial: true}, "late": {late: true}, "late_serial": {late: true, serial: true}, "theirs": {client: true},
}

// Arguments as models write them, valid and invalid; the last one is too long.
var written = []string{`{"a":{"b":"}"}}`, `{}`, ``, `"{}"`, `[1]`, `{"a":`, `nonsense`, `{"a":"` + strings.Repeat("x", 100) + `"}`}

func play(t testing.TB, choose func(int) int) {
	g := &game{t: t, choose: choose, texts: map[int]string{}}
	g.a = &answer{
		limits: Limits{Rounds: 1, Calls: 1 + choose(6), Parallel: 1 + choose(3), ResultBytes: 1 << 10, ArgumentBytes: 50},
		traits: func(name string) traits { return kinds[name] }, ids: map[string]bool{}, barred: choose(10) == 0,
	}
	for n := choose(40); n > 0 && g.a.ending == open; n-- {
		g.move()
	}
	g.end()
	for len(g.running) > 0 {
		g.result()
	}
	g.settled()
}

func (g *game) fail(format string, args ...any) {
	g.t.Helper()
	g.t.Fatalf("%s\nafter %s", fmt.Sprintf(format, args...), strings.Join(g.moves, ", "))
}

// move makes one random step.
func (g *game) move() {
	switch g.choose(6) {
	case 0, 1:
		name := []string{"plain", "plain", "serial", "late", "late_serial", "theirs"}[g.choose(6)]
		i := len(g.a.calls)
		g.take(chat.Delta{Kind: chat.DeltaCall, Index: i, Call: &chat.Call{ID: []string{"", "a", "b"}[g.choose(3)], Name: name}})
		g.growing = append(g.growing, i)
		g.texts[i] = written[g.choose(len(written))]
	case 2, 3:
		if len(g.growing) > 0 {
			g.grow(g.choose(len(g.growing)))
		}
	case 4:
		g.take(chat.Delta{Kind: []chat.DeltaKind{chat.DeltaText, chat.DeltaThinking, chat.DeltaArguments, chat.DeltaCallEnd}[g.choose(4)], Index: 99, Text: "t"})
	case 5:
		g.result()
	}
}

// grow sends some of a call's arguments, or their end.
func (g *game) grow(n int) {
	i := g.growing[n]
	if rest := g.texts[i]; rest != "" {
		size := 1 + g.choose(len(rest))
		g.texts[i] = rest[size:]
		g.take(chat.Delta{Kind: chat.DeltaArguments, Index: i, Text: rest[:size]})
		return
	}
	g.growing = slices.Delete(g.growing, n, n+1)
	g.take(chat.Delta{Kind: chat.DeltaCallEnd, Index: i})
}

func (g *game) take(d chat.Delta) {
	g.moves = append(g.moves, fmt.Sprintf("%d of %d %q", d.Kind, d.Index, d.Text))
	seen, show, err := g.a.take(d)
	if err != nil {
		g.fail("%v", err)
	}
	if show && (d.Kind == chat.DeltaCall || d.Kind == chat.DeltaArguments || d.Kind == chat.DeltaCallEnd) {
		if c := g.a.byIndex[d.Index]; !c.client || seen.Index != c.shown {
			g.fail("the client sees %+v", seen)
		}
	}
	g.start()
}

// start starts the calls that may start.
func (g *game) start() {
	for c := g.a.next(); c != nil; c = g.a.next() {
		g.moves = append(g.moves, "start "+c.ID)
		switch {
		case slices.Contains(g.started, c):
			g.fail("%s starts twice", c.ID)
		case c.client || !json.Valid([]byte(c.Arguments)):
			g.fail("%s starts with %q", c.ID, c.Arguments)
		case g.a.ending == cut || c.late && g.a.ending != normal:
			g.fail("%s starts in an answer that is %d", c.ID, g.a.ending)
		}
		for _, other := range g.a.calls[:slices.Index(g.a.calls, c)] {
			if c.serial && other.serial && other.phase != done {
				g.fail("%s starts before %s is done", c.ID, other.ID)
			}
		}
		g.started, g.running = append(g.started, c), append(g.running, c)
	}
	if len(g.running) > g.a.limits.Parallel {
		g.fail("%d run", len(g.running))
	}
}

// result ends a running call.
func (g *game) result() {
	if len(g.running) == 0 {
		return
	}
	n := g.choose(len(g.running))
	c := g.running[n]
	g.moves = append(g.moves, "result "+c.ID)
	g.running = slices.Delete(g.running, n, n+1)
	for range 1 + g.choose(2) { // the second one must be ignored
		g.a.finished(c, &chat.CallResult{ID: c.ID, Name: c.Name})
	}
	g.start()
}

// end ends the answer: normally, by a limit, broken or by the client.
func (g *game) end() {
	reasons := []chat.Reason{chat.ReasonStop, chat.ReasonCalls, chat.ReasonLength, chat.ReasonFilter, chat.ReasonPause}
	n := g.choose(len(reasons) + 2)
	g.moves = append(g.moves, fmt.Sprintf("end %d", n))
	if n < len(reasons) {
		g.take(chat.Delta{Kind: chat.DeltaFinish, Reason: reasons[n]})
		if n < 2 && g.choose(5) == 0 { // the client leaves while calls still run
			g.a.cut("the client closed the connection")
		}
	} else {
		g.a.cut("the answer ended unexpectedly")
	}
	g.start()
	g.take(chat.Delta{Kind: chat.DeltaCall, Index: 100, Call: &chat.Call{ID: "late", Name: "plain"}})
}

// settled checks the final state.
func (g *game) settled() {
	if !g.a.settled() || g.a.next() != nil || g.a.running != 0 {
		g.fail("it is not settled: %d running, %d pending", g.a.running, g.a.pending)
	}
	results := g.a.results()
	for _, c := range g.a.calls {
		if c.client {
			continue
		}
		if len(results) == 0 || results[0].Result.ID != c.ID {
			g.fail("%s has no result in its place", c.ID)
		}
		if !strings.HasPrefix(strings.TrimSpace(c.Arguments), "{") || !json.Valid([]byte(c.Arguments)) {
			g.fail("the history has the arguments %q", c.Arguments)
		}
		results = results[1:]
	}
	if len(results) > 0 {
		g.fail("%d results too many", len(results))
	}
	if again, _ := g.a.verdict(); again {
		for _, m := range g.a.history() {
			if slices.ContainsFunc(m.Calls(), func(c *chat.Call) bool { return kinds[c.Name].client }) {
				g.fail("a call of the client goes back to the model without a result")
			}
		}
	}
}

func TestAnswerKeepsItsPromises(t *testing.T) {
	games := uint64(20_000)
	if !full.Test() {
		games /= 10
	}
	for seed := range games {
		r := rand.New(rand.NewPCG(seed, 4))
		play(t, r.IntN)
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte{5, 2, 9, 30, 0, 0, 1, 0, 2, 0, 3, 2, 0, 4, 2})
	f.Add([]byte{1, 1, 9, 39, 0, 2, 1, 1, 0, 2, 2, 0, 0, 2, 0, 0, 5, 1})
	f.Add([]byte("any text is a game too, and a rather long one at that"))
	f.Fuzz(func(t *testing.T, moves []byte) {
		play(t, func(n int) int {
			if len(moves) == 0 {
				return 0
			}
			m := int(moves[0]) % n
			moves = moves[1:]
			return m
		})
	})
}

func TestCutTextsAreWholeCharacters(t *testing.T) {
	text := "aé€😀z\xff"
	for size := range len(text) + 2 {
		got := truncate.Bytes(text, size)
		if !strings.HasPrefix(text, got) || len(got) > size || strings.ToValidUTF8(got, "") != strings.TrimSuffix(got, "\xff") {
			t.Errorf("%d: %q", size, got)
		}
		if len(text) > size && len(got) < size-3 {
			t.Errorf("%d: %q is too short", size, got)
		}
	}
}

func TestRefusedCallsAreToldInSpicesWords(t *testing.T) {
	err := tools.NewError(errcode.ToolNotFound, "there is no such thing", "look it up")
	err.DidYouMean, err.Example = []string{"a", "b"}, json.RawMessage(`{"x":1}`)
	want := `Failed to call the tool t. An error occurred: there is no such thing; look it up; did you mean "a" or "b"?; for example {"x":1}`
	if got := failure("t", err, 1000); got != want {
		t.Error(got)
	}
	if got := failure(strings.Repeat("t", 1000), nil, 1000); len(got) > 250 {
		t.Error(got)
	}
	if got := failure("t", err, 50); len(got) > 50 || !strings.HasSuffix(got, "…") {
		t.Error(got)
	}
}
