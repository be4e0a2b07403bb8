package models_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/access/availability"
	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/llm/models"
	"github.com/spiced-sql/spiced/internal/test/chattest"
	"github.com/spiced-sql/spiced/internal/test/podtest"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// pinning is a model m whose tools change, with sessions that keep theirs.
type pinning struct {
	t      *testing.T
	server *chattest.Server
	stage  *stage
	pins   *models.Pins
	set    *models.Set
	now    time.Time
}

func newPinning(t *testing.T) *pinning {
	p := &pinning{t: t, server: serve(t), pins: models.NewPins(), now: time.Date(2026, 5, 6, 12, 0, 0, 0, time.UTC)}
	p.pins.SetNow(func() time.Time { return p.now })
	p.stage = newStage(t, podtest.Load(t, p.sections()), nil)
	p.stage.options.Pins, p.stage.options.SessionPin = p.pins, time.Hour
	return p
}

func (p *pinning) sections() string {
	return at(p.server, "openai:gpt", "tools: 'f00, f01, f02, f03'") + `
toolsets: [{name: vault, description: Of a vault., tools: [f01], available: "ctx.space_id != 'open'"}]
`
}

// load takes over a generation with these tools; hidden says whether f01 is hidden from
// those in the space open.
func (p *pinning) load(hidden bool, list ...tools.Tool) {
	p.t.Helper()
	pod := podtest.Load(p.t, p.sections())
	contents := registry.Contents{Tools: list, Embeddings: p.stage.options.Embeddings}
	if hidden {
		policy, problems := availability.Compile(pod, nil)
		if len(problems) > 0 {
			p.t.Fatal(problems)
		}
		contents.Availability = registry.Availability{Policy: policy}
	}
	var err error
	if p.stage.options.Catalog, err = registry.NewCatalog(p.stage.registry.Current(), contents); err != nil {
		p.t.Fatal(err)
	}
	p.stage.registry.Publish(p.stage.options.Catalog)
	p.set, _ = models.NewSet(pod, p.set, p.stage.options)
}

// ask chats in a session, and returns the names and the bytes of the tools that were sent.
func (p *pinning) ask(session string, who caller.Caller) (names, bytes string) {
	p.t.Helper()
	r := hello()
	r.Session = session
	if _, err := ask(p.t, p.set, "m", r, tools.Scope{Caller: who}); err != nil {
		p.t.Fatal(err)
	}
	all := p.server.Requests()
	last := all[len(all)-1]
	return strings.Join(last.Tools, " "), toolBytes(p.t, last.Body)
}

// calls chats in a session with a model that calls a tool, and returns the result.
func (p *pinning) calls(session string, who caller.Caller, tool, arguments string) string {
	p.t.Helper()
	p.server.Script(chattest.InTurn(chattest.Say(chattest.Call("c1", tool, arguments)), chattest.Say(chattest.Text("done"))))
	defer p.server.Script(chattest.Always(chattest.Say(chattest.Text("hello"))))
	p.ask(session, who)
	all := p.server.Requests()
	return all[len(all)-1].Results["c1"]
}

// changed is f00 with another schema.
func changed(t testing.TB) tools.Tool {
	return tool(t, tools.Definition{
		Name: "f00", Description: "Adds to a text.", Source: tools.SourceFunction,
		Parameters: json.RawMessage(`{"type":"object","properties":{"words":{"type":"array","items":{"type":"string"}},"limit":{"type":"integer"}},"required":["words","limit"],"additionalProperties":false}`),
	}, nil)
}

// A session keeps the bytes of its tools while these are there, and calls are checked
// against what is there now.
func TestSessionKeepsItsTools(t *testing.T) {
	p := newPinning(t)
	ann := caller.Caller{UserID: "ann", SpaceID: "open"}
	f := functions(t, 4)
	p.load(false, f[:3]...)
	names, first := p.ask("a", ann)
	if names != "f00 f01 f02" {
		t.Fatal(names)
	}
	p.load(false, changed(t), f[1], f[2], f[3])
	if _, got := p.ask("a", ann); got != first {
		t.Errorf("after a change of a tool, and with a new one:\n%s\nwant\n%s", got, first)
	}
	for what, who := range map[string]struct {
		session string
		who     caller.Caller
	}{"another session": {"b", ann}, "no session": {"", ann}, "another user": {"a", caller.Caller{UserID: "bob", SpaceID: "open"}}} {
		if names, got := p.ask(who.session, who.who); names != "f00 f01 f02 f03" || !strings.Contains(got, "words") {
			t.Errorf("%s is sent %s", what, got)
		}
	}
	if got := p.calls("a", ann, "f00", `{"x":1}`); !strings.Contains(got, "the parameters of the tool have changed; they are now ") ||
		!strings.Contains(got, "words") {
		t.Errorf("a call by the old schema: %s", got)
	}
	if got := p.calls("a", ann, "f00", `{"words":["a"],"limit":1}`); !strings.Contains(got, "done") {
		t.Errorf("a call by the new schema: %s", got)
	}
	if got := p.calls("b", ann, "f00", `{"x":1}`); strings.Contains(got, "have changed") {
		t.Errorf("a session that knows the new one: %s", got)
	}
	p.load(true, changed(t), f[1], f[3])
	if names, got := p.ask("a", ann); names != "f00" || strings.Contains(got, "words") {
		t.Errorf("without a tool that was removed, and one that is hidden: %s", got)
	}
	if got := p.calls("a", ann, "f02", `{"x":1}`); !strings.Contains(got, `the tool \"f02\" was removed`) && !strings.Contains(got, `the tool "f02" was removed`) {
		t.Errorf("a call of one that was removed: %s", got)
	}
	if got := p.calls("a", ann, "f01", `{"x":1}`); !strings.Contains(got, `is no longer available`) {
		t.Errorf("a call of one that is hidden: %s", got)
	}
	if got := p.calls("c", ann, "f01", `{"x":1}`); strings.Contains(got, `no longer`) || !strings.Contains(got, "there is no tool") {
		t.Errorf("the same in a session that never had it: %s", got)
	}
	p.load(false, f...)
	if _, got := p.ask("a", ann); got != first {
		t.Errorf("when all are back:\n%s\nwant\n%s", got, first)
	}
}

// A session that was idle for too long gets the current tools, as all do without the
// setting; a list that is not complete is not kept.
func TestSessionsEnd(t *testing.T) {
	p := newPinning(t)
	f := functions(t, 4)
	p.load(false, f[:2]...)
	p.ask("a", caller.Caller{})
	p.load(false, f...)
	p.now = p.now.Add(59 * time.Minute)
	if names, _ := p.ask("a", caller.Caller{}); names != "f00 f01" {
		t.Errorf("after 59 minutes: %s", names)
	}
	p.now = p.now.Add(61 * time.Minute)
	if names, _ := p.ask("a", caller.Caller{}); names != "f00 f01 f02 f03" {
		t.Errorf("after an hour without requests: %s", names)
	}
	p.stage.options.SessionPin = 0
	p.load(false, f[:3]...)
	if names, _ := p.ask("a", caller.Caller{}); names != "f00 f01 f02" {
		t.Errorf("without the setting: %s", names)
	}
	p.stage.options.SessionPin = time.Hour
	p.load(false, f[:1]...)
	p.stage.options.Catalog.Finding = func() bool { return true }
	p.ask("z", caller.Caller{})
	p.load(false, f...)
	if names, _ := p.ask("z", caller.Caller{}); names != "f00 f01 f02 f03" {
		t.Errorf("a list that was not complete is kept: %s", names)
	}
}

// Sessions with equal lists share one, and it goes with the last of them.
func TestPinnedListsAreShared(t *testing.T) {
	p := newPinning(t)
	f := functions(t, 4)
	for generation := range 3 {
		p.load(false, f[:2+generation%2]...)
		for i := range 5 {
			p.ask(fmt.Sprint(generation, i), caller.Caller{})
		}
	}
	if sessions, lists, bytes := p.pins.Stored(); sessions != 15 || lists != 2 || bytes == 0 {
		t.Errorf("%d sessions, %d lists of %d bytes", sessions, lists, bytes)
	}
	p.now = p.now.Add(2 * time.Hour)
	p.load(false, f[3])
	for generation := range 3 {
		for i := range 5 {
			p.ask(fmt.Sprint(generation, i), caller.Caller{})
		}
	}
	if sessions, lists, _ := p.pins.Stored(); sessions != 15 || lists != 1 {
		t.Errorf("%d sessions, %d lists", sessions, lists)
	}
}

// A thousand requests of callers who see the same tools have the same bytes of tools, in
// sessions and without, with reloads in between.
func TestToolBytesOfEqualCallers(t *testing.T) {
	p := newPinning(t)
	f := functions(t, 4)
	want := map[string]string{}
	for reload := range 10 {
		p.load(true, slices.Concat(f,
			[]tools.Tool{tool(t, tools.Definition{Name: fmt.Sprint("other", reload), Description: "Another.", Source: tools.SourceFunction}, nil)})...)
		for _, space := range []string{"open", "shut"} {
			m, err := p.set.Model("m")
			if err != nil {
				t.Fatal(err)
			}
			before := len(p.server.Requests())
			var group sync.WaitGroup
			for worker := range 4 {
				group.Go(func() {
					for i := range 13 {
						r := hello()
						if i%2 == 0 {
							r.Session = fmt.Sprint("s", i)
						}
						for _, err := range m.Chat(t.Context(),
							r, tools.Scope{Caller: caller.Caller{UserID: fmt.Sprint("user", worker, i), SpaceID: space, RequestID: fmt.Sprint(reload, worker, i)}}) {
							if err != nil {
								t.Error(err)
							}
						}
					}
				})
			}
			group.Wait()
			for _, r := range p.server.Requests()[before:] {
				got := toolBytes(t, r.Body)
				if want[space] == "" {
					want[space] = got
				}
				if got != want[space] {
					t.Fatalf("in %s, reload %d:\n%s\nwant\n%s", space, reload, got, want[space])
				}
			}
		}
	}
	if n := len(p.server.Requests()); n < 1000 || want["open"] == want["shut"] || strings.Contains(want["open"], "f01") || !strings.Contains(want["shut"], "f01") {
		t.Errorf("%d requests; in one space\n%s\nin the other\n%s", n, want["open"], want["shut"])
	}
}
