package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spiced-sql/spiced/internal/access/approval"
	"github.com/spiced-sql/spiced/internal/access/caller"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// keys need a key of ann, who approves.
type keys struct{}

func (keys) Enabled() bool             { return true }
func (keys) Approver(name string) bool { return name == "ann" }

// free are no keys.
type free struct{ keys }

func (free) Enabled() bool { return false }

var (
	limits = approval.Limits{Expiry: time.Hour, Open: 1000, PerPeer: 1000}
	ann    = caller.Caller{Principal: "ann"}
	bob    = caller.Caller{Principal: "bob", UserID: "bob"}
	yes    = approval.Decision{Decision: approval.Approve}
)

// clock is a time that tests set.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func open(t testing.TB, dir string, c *clock) *approval.Store {
	t.Helper()
	s, err := approval.Open(approval.Options{Dir: dir, Now: c.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func call(n int, who caller.Caller) approval.Call {
	return approval.Call{Tool: "f", Checksum: "c", Risk: "write", Arguments: json.RawMessage(fmt.Sprintf(`{"n":%d,"html":"<&>"}`, n)), Caller: who}
}

func ask(t testing.TB, s *approval.Store, c approval.Call) approval.Approval {
	t.Helper()
	a, err := s.Ask(t.Context(), c, limits)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func use(t testing.TB, s *approval.Store, id string) bool {
	t.Helper()
	used, err := s.Use(t.Context(), id, bob)
	if err != nil {
		t.Fatal(err)
	}
	return used
}

func approve(t testing.TB, s *approval.Store, id string) {
	t.Helper()
	if _, err := s.Decide(t.Context(), keys{}, id, yes, ann); err != nil {
		t.Fatal(err)
	}
}

func TestCallsDiffer(t *testing.T) {
	s := open(t, "", &clock{time.Unix(1e9, 0)})
	base := call(1, bob)
	id := ask(t, s, base).ID
	for name, change := range map[string]func(*approval.Call){
		"tool": func(c *approval.Call) { c.Tool = "F" }, "checksum": func(c *approval.Call) { c.Checksum = "d" },
		"arguments": func(c *approval.Call) { c.Arguments = json.RawMessage(`{"n":1.0,"html":"<&>"}`) },
		"principal": func(c *approval.Call) { c.Caller.Principal = "eve" }, "user": func(c *approval.Call) { c.Caller.UserID = "eve" },
		"space": func(c *approval.Call) { c.Caller.SpaceID = "s" },
		// Parts that run into each other.
		"shifted": func(c *approval.Call) { c.Tool, c.Checksum = "fc", "" },
		"owner":   func(c *approval.Call) { c.Caller.Principal, c.Caller.UserID = "bo", "bbob" },
	} {
		other := base
		change(&other)
		if got := ask(t, s, other); got.ID == id {
			t.Errorf("%s: the same approval", name)
		}
	}
	if again := ask(t, s, base); again.ID != id {
		t.Error("an equal call asks again")
	}
}

func TestExpiry(t *testing.T) {
	c := &clock{time.Unix(1e9, 0)}
	s := open(t, t.TempDir(), c)
	pending, approved, denied := ask(t, s, call(1, bob)), ask(t, s, call(2, bob)), ask(t, s, call(3, bob))
	approve(t, s, approved.ID)
	if _, err := s.Decide(t.Context(), keys{}, denied.ID, approval.Decision{Decision: approval.Deny, Note: "no"}, ann); err != nil {
		t.Fatal(err)
	}
	c.now = c.now.Add(time.Hour - 1)
	if got := ask(t, s, call(3, bob)); got.ID != denied.ID || got.Status != approval.Denied || s.Pending() != 1 {
		t.Errorf("%+v", got)
	}
	c.now = c.now.Add(1)
	if use(t, s, approved.ID) || s.Pending() != 0 {
		t.Error("an expired approval was used")
	}
	var decided *approval.Error
	if _, err := s.Decide(t.Context(), keys{}, pending.ID, yes, ann); !errors.As(err, &decided) || !decided.Decided {
		t.Error(err)
	}
	for i, old := range []approval.Approval{pending, approved, denied} {
		if got := ask(t, s, call(i+1, bob)); got.ID == old.ID || got.Status != approval.Pending {
			t.Errorf("%d: %+v", i, got)
		}
	}
	c.now = c.now.Add(30 * 24 * time.Hour)
	ask(t, s, call(9, bob))
	if list := s.List(keys{}, ann); len(list) != 1 {
		t.Errorf("%d are kept for ever", len(list))
	}
}

func TestLimits(t *testing.T) {
	c := &clock{time.Unix(1e9, 0)}
	s := open(t, "", c)
	tight := approval.Limits{Expiry: time.Hour, Open: 3, PerPeer: 2}
	try := func(n int, who caller.Caller) string {
		_, err := s.Ask(t.Context(), call(n, who), tight)
		var e *approval.Error
		if err != nil && (!errors.As(err, &e) || !e.Full) {
			t.Fatal(err)
		}
		return fmt.Sprint(err)
	}
	for i, step := range []struct {
		who  caller.Caller
		want string
	}{
		{bob, "<nil>"},
		{bob, "<nil>"},
		{bob, "2 calls of this caller wait for approval; the limit is 2"},
		{ann, "<nil>"},
		{ann, "3 calls wait for approval; the limit is 3"},
		{caller.Caller{Address: "10.0.0.1"}, "3 calls wait for approval; the limit is 3"},
	} {
		if got := try(i, step.who); got != step.want {
			t.Errorf("%d: %s, want %s", i, got, step.want)
		}
	}
	if got := try(0, bob); got != "<nil>" { // it is open already
		t.Error(got)
	}
	approve(t, s, s.List(keys{}, bob)[0].ID)
	if got := try(7, bob); got == "<nil>" { // approved and not used is open
		t.Error(got)
	}
	c.now = c.now.Add(time.Hour)
	if got := try(7, bob); got != "<nil>" {
		t.Error(got)
	}
	large := call(1, bob)
	large.Arguments = json.RawMessage(`"` + strings.Repeat("x", approval.MaxArguments) + `"`)
	var e *approval.Error
	if _, err := s.Ask(t.Context(), large, limits); !errors.As(err, &e) || !e.Large {
		t.Error(err)
	}
	for i := range 1500 { // what has ended is bounded
		a := ask(t, s, call(100+i, bob))
		approve(t, s, a.ID)
		use(t, s, a.ID)
	}
	if n := len(s.List(keys{}, ann)); n > 1100 {
		t.Errorf("%d are kept", n)
	}
}

func TestWhoDecides(t *testing.T) {
	s := open(t, "", &clock{time.Unix(1e9, 0)})
	ofBob, ofAnn, ofNone := ask(t, s, call(1, bob)), ask(t, s, call(2, ann)), ask(t, s, call(3, caller.Caller{}))
	for _, c := range []struct {
		keys approval.Keys
		id   string
		who  caller.Caller
		want string
	}{
		{keys{}, ofBob.ID, bob, "the key is not that of an approver"},
		{keys{}, ofBob.ID, caller.Caller{Principal: "eve"}, `there is no approval "` + ofBob.ID + `"`},
		{keys{}, ofBob.ID, caller.Caller{Principal: "bob", UserID: "other"}, `there is no approval "` + ofBob.ID + `"`},
		{keys{}, ofBob.ID, caller.Caller{}, `there is no approval "` + ofBob.ID + `"`},
		{keys{}, ofAnn.ID, ann, "an approver cannot decide about calls of the same principal"},
		{keys{}, ofAnn.ID, caller.Caller{Principal: "ann", UserID: "zoe"}, "an approver cannot decide about calls of the same principal"},
		{keys{}, ofBob.ID, ann, "<nil>"},
		{free{}, ofNone.ID, caller.Caller{}, "<nil>"},
		{keys{}, "nope", ann, `there is no approval "nope"`},
	} {
		if _, err := s.Decide(t.Context(), c.keys, c.id, yes, c.who); fmt.Sprint(err) != c.want {
			t.Errorf("%s by %+v: %v, want %s", c.id, c.who, err, c.want)
		}
	}
}

func TestAwait(t *testing.T) {
	s := open(t, "", &clock{time.Unix(1e9, 0)})
	a := ask(t, s, call(1, bob))
	if got, err := s.Await(t.Context(), a.ID, time.Millisecond); err != nil || got.Status != approval.Pending {
		t.Errorf("%v %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { _, err := s.Await(ctx, a.ID, time.Hour); ended <- err }()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	status := make(chan approval.Status)
	go func() { got, _ := s.Await(t.Context(), a.ID, time.Hour); status <- got.Status }()
	approve(t, s, a.ID)
	if got := <-status; got != approval.Approved {
		t.Error(got)
	}
}

func TestAwaitEndsWithTheApproval(t *testing.T) {
	c := &clock{time.Unix(1e9, 0)}
	s := open(t, "", c)
	a := ask(t, s, call(1, bob))
	c.now = a.ExpiresAt
	if got, err := s.Await(t.Context(), a.ID, time.Hour); err != nil || got.Status != approval.Expired {
		t.Errorf("%v %v", got.Status, err)
	}
}

// A journal that is damaged anywhere never makes an approval usable that was used, and one
// that was cut is read up to there.
func TestDamage(t *testing.T) {
	c := &clock{time.Unix(1e9, 0)}
	dir := t.TempDir()
	s := open(t, dir, c)
	used, approved := ask(t, s, call(1, bob)), ask(t, s, call(2, bob))
	approve(t, s, used.ID)
	approve(t, s, approved.ID)
	if !use(t, s, used.ID) || s.Close() != nil {
		t.Fatal("not used")
	}
	if _, err := s.Ask(t.Context(), call(3, bob), limits); err == nil {
		t.Error("a closed store takes approvals")
	}
	path := filepath.Join(dir, "approvals.journal")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	read := func(text []byte) []approval.Approval {
		again := t.TempDir()
		if err := os.WriteFile(filepath.Join(again, "approvals.journal"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, again, c)
		defer s.Close()
		return s.List(free{}, ann)
	}
	if list := read(whole); len(list) != 2 || list[1].Status != approval.Used || list[0].Status != approval.Approved ||
		string(list[0].Arguments) != `{"n":2,"html":"<&>"}` {
		t.Fatalf("%+v", list)
	}
	for at := 0; at < len(whole); at += 41 {
		changed := slices.Clone(whole)
		changed[at] ^= 1
		for _, a := range read(changed) {
			if a.ID == used.ID && a.Status == approval.Approved {
				t.Fatalf("byte %d changed: %+v", at, a)
			}
		}
	}
	for cut := 0; cut < len(whole); cut += 61 { // killed while it wrote
		for _, a := range read(whole[:cut]) {
			if a.ID == approved.ID && a.Status == approval.Used || len(a.Arguments) == 0 {
				t.Fatalf("cut at %d: %+v", cut, a)
			}
		}
	}
}

// Approvals that a key without a name asked for end with the run.
func TestUnnamedKeys(t *testing.T) {
	c := &clock{time.Unix(1e9, 0)}
	dir := t.TempDir()
	s := open(t, dir, c)
	unnamed := call(1, caller.Caller{Principal: "key-1", UserID: "key-1"})
	first := ask(t, s, unnamed)
	approve(t, s, first.ID)
	named := ask(t, s, call(1, bob))
	s.Close()
	s = open(t, dir, c)
	if got := ask(t, s, unnamed); got.ID == first.ID || got.Status != approval.Pending {
		t.Errorf("%+v", got)
	}
	if got := ask(t, s, call(1, bob)); got.ID != named.ID {
		t.Errorf("%+v", got)
	}
}
