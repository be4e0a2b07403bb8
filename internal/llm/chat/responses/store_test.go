package responses_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/responses"
)

func said(text string) *chat.Response {
	return &chat.Response{Parts: []chat.Part{{Kind: chat.PartText, Text: text}}, Reason: chat.ReasonStop}
}

func named(id string, r *responses.Request) responses.EncoderOptions {
	o := options(r)
	o.ID = id
	return o
}

func texts(messages []chat.Message) string {
	var all []string
	for _, m := range messages {
		all = append(all, string(m.Role)+": "+m.Text())
	}
	return strings.Join(all, "\n")
}

func TestChainGoesOn(t *testing.T) {
	s := responses.NewStore(responses.StoreOptions{})
	first := mustParse(t, `{"model":"m","instructions":"Be brief.","input":"one"}`)
	s.Save("ann", named("resp_1", first), said("eins"))
	second := mustParse(t, `{"model":"m","instructions":"Be kind.","input":"two","previous_response_id":"resp_1"}`)
	if err := s.Resume("ann", second); err != nil {
		t.Fatal(err)
	}
	s.Save("ann", named("resp_2", second), said("zwei"))
	third := mustParse(t, `{"model":"m","input":"three","previous_response_id":"resp_2"}`)
	for range 2 { // the second time must do nothing
		if err := s.Resume("ann", third); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff("user: one\nassistant: eins\nuser: two\nassistant: zwei\nuser: three", texts(third.Messages)); diff != "" {
		t.Error(diff)
	}
	if !strings.HasPrefix(texts(second.Messages), "system: Be kind.\nuser: one") {
		t.Error(texts(second.Messages))
	}
}

func TestWhatIsNotStored(t *testing.T) {
	s := responses.NewStore(responses.StoreOptions{})
	s.Save("ann", named("resp_1", mustParse(t, `{"model":"m","input":"one","store":false}`)), said("eins"))
	s.Save("ann", named("resp_2", mustParse(t, `{"model":"m","input":"one"}`)), said("eins"))
	for _, c := range []struct{ owner, id string }{{"ann", "resp_1"}, {"bob", "resp_2"}, {"", "resp_2"}} {
		err := s.Resume(c.owner, mustParse(t, `{"model":"m","input":"x","previous_response_id":"`+c.id+`"}`))
		var fault *chat.Error
		if !errors.As(err, &fault) || fault.Code != errcode.InvalidRequest || fault.Param != "previous_response_id" ||
			!strings.Contains(string(responses.EncodeError(fault)), `"code":"previous_response_not_found"`) ||
			!strings.Contains(fault.Message, "send the whole input") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestReferences(t *testing.T) {
	s := responses.NewStore(responses.StoreOptions{})
	answer := said("eins")
	answer.Parts = append(answer.Parts, chat.Part{Kind: chat.PartCall, Call: &chat.Call{ID: "c1", Name: "f", Arguments: "{}"}})
	s.Save("ann", named("resp_1", mustParse(t, `{"model":"m","input":"one"}`)), answer)
	body := `{"model":"m","input":[{"role":"user","content":"one"},{"type":"item_reference","id":"msg_spiced_1_0"},{"id":"fc_spiced_1_1"},{"type":"function_call_output","call_id":"c1","output":"1"}]}`
	r := mustParse(t, body)
	if err := s.Resume("ann", r); err != nil {
		t.Fatal(err)
	}
	if len(r.Messages) != 3 || r.Messages[1].Text() != "eins" || len(r.Messages[1].Calls()) != 1 || r.Messages[1].Calls()[0].ID != "c1" {
		t.Errorf("%+v", r.Messages)
	}
	err := s.Resume("bob", mustParse(t, body))
	if fault := chat.AsError(err); fault.Param != "input[1].id" || !strings.Contains(fault.Message, "send the whole item") {
		t.Errorf("%v", err)
	}
}

func TestTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := responses.NewStore(responses.StoreOptions{TTL: time.Hour})
		s.Put("ann", "resp_1", responses.Chain{chat.Text(chat.RoleUser, "x")})
		time.Sleep(time.Hour - time.Nanosecond)
		if _, ok := s.Get("ann", "resp_1"); !ok {
			t.Error("it is gone too early")
		}
		time.Sleep(time.Nanosecond)
		if _, ok := s.Get("ann", "resp_1"); ok || s.Len() != 0 || s.Bytes() != 0 {
			t.Error("it is still there")
		}
	})
}

func TestTheLeastRecentlyUsedLeaves(t *testing.T) {
	s := responses.NewStore(responses.StoreOptions{Entries: 2})
	for _, id := range []string{"a", "b"} {
		s.Put("ann", id, responses.Chain{chat.Text(chat.RoleUser, id)})
	}
	s.Get("ann", "a")
	s.Put("ann", "c", responses.Chain{chat.Text(chat.RoleUser, "c")})
	for id, want := range map[string]bool{"a": true, "b": false, "c": true} {
		if _, ok := s.Get("ann", id); ok != want {
			t.Errorf("%s: %v", id, ok)
		}
	}
}

// TestBoundsHold stores random chains from several goroutines; run it with -race.
func TestBoundsHold(t *testing.T) {
	const entries, bytes = 20, 40_000
	s := responses.NewStore(responses.StoreOptions{Entries: entries, Bytes: bytes})
	var wg sync.WaitGroup
	for owner := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(owner), 1))
			for range 500 {
				o := fmt.Sprint("owner", owner)
				id := fmt.Sprint("resp_", r.IntN(30))
				s.Put(o, id, responses.Chain{chat.Text(chat.RoleUser, strings.Repeat("x", r.IntN(50_000)>>r.IntN(12)))})
				s.Get(o, fmt.Sprint("resp_", r.IntN(30)))
				if s.Len() > entries || s.Bytes() > bytes || s.Bytes() < 0 {
					t.Errorf("%d entries, %d bytes", s.Len(), s.Bytes())
				}
			}
		})
	}
	wg.Wait()
	if s.Len() == 0 {
		t.Error("nothing was kept")
	}
}
