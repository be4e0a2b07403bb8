package usage_test

import (
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/find/usage"
)

// Events are bounded in number, in age and in the length of their texts.
func TestEvents(t *testing.T) {
	now := time.Date(2026, 5, 6, 12, 0, 0, 0, time.UTC)
	r, err := usage.Open(usage.Options{Events: 3, Retention: time.Hour, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	agents := func() (names string) {
		for _, e := range r.Events() {
			names += e.Agent
		}
		return names
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		r.Event(usage.Event{Type: "agent_start", Agent: name, Text: strings.Repeat("x", 10_000)})
		now = now.Add(20 * time.Minute)
	}
	if got := agents(); got != "dcb" {
		t.Errorf("of four events, three are kept: %s", got)
	}
	if text := r.Events()[0].Text; len(text) > usage.MaxEventText || len(text) < usage.MaxEventText-10 {
		t.Errorf("the text has %d bytes", len(text))
	}
	now = now.Add(10 * time.Minute)
	if got := agents(); got != "dc" {
		t.Errorf("after 70 minutes: %s", got)
	}
}
