package usage_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spiced-sql/spiced/internal/find/usage"
)

func TestChatsAreCountedByModelAndDay(t *testing.T) {
	c := newClock()
	r := open(t, usage.Options{Now: c.now})
	defer closeIt(t, r)
	tokens := usage.Tokens{Input: 100, Output: 10, CacheRead: 80, CacheWrite: 20, Reasoning: 4}
	r.Chat(usage.Chat{Model: "m", OK: true, Rounds: 3, ToolCalls: 2, Tokens: tokens, FirstToken: 5 * time.Millisecond, Latency: time.Second})
	r.Chat(usage.Chat{Model: "m", Rounds: 1, Tokens: tokens, Latency: time.Second})
	r.Chat(usage.Chat{Model: "m", Cancelled: true, Rounds: -1, Tokens: usage.Tokens{Input: -5}, Latency: -time.Second})
	c.advance(24 * time.Hour)
	r.Chat(usage.Chat{Model: "a", OK: true})
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	want := []usage.ModelUsage{
		{Model: "a", Day: day.AddDate(0, 0, 1), Chats: usage.Chats{Chats: 1}},
		{Model: "m", Day: day, Chats: usage.Chats{
			Chats: 3, Failed: 1, Cancelled: 1, Rounds: 4, ToolCalls: 2, Time: 2 * time.Second,
			Tokens: usage.Tokens{Input: 200, Output: 20, CacheRead: 160, CacheWrite: 40, Reasoning: 8},
		}},
	}
	got := r.Models()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreTypes(usage.Histogram{})); diff != "" {
		t.Error(diff)
	}
	if q := got[1].FirstTokenQuantile(.5); q < 4*time.Millisecond || q > 6*time.Millisecond {
		t.Errorf("first token after %s, want about 5 ms", q)
	}
}
