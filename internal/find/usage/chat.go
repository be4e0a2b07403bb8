package usage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Chat is the record of one chat with a declared model: one request of a client with
// all its rounds.
type Chat struct {
	At        time.Time // start; zero: now
	Model     string
	OK        bool
	Cancelled bool // the client closed the connection
	Rounds    int  // requests to the provider
	ToolCalls int  // of the runtime's tools
	Tokens    Tokens
	// DefinitionTokens estimates what the definitions of tools cost in all rounds.
	DefinitionTokens int64
	FirstToken       time.Duration // 0: there was none
	Latency          time.Duration
}

// Tokens are the tokens of chats, as counted by the provider.
type Tokens struct {
	Input      int64 `json:"input,omitempty"` // including the caches
	Output     int64 `json:"output,omitempty"`
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
	Reasoning  int64 `json:"reasoning,omitempty"`
}

func (t *Tokens) numbers() [5]*int64 {
	return [...]*int64{&t.Input, &t.Output, &t.CacheRead, &t.CacheWrite, &t.Reasoning}
}

// Chats are sums over chats.
type Chats struct {
	Chats            int64 `json:"chats"`
	Failed           int64 `json:"failed,omitempty"`
	Cancelled        int64 `json:"cancelled,omitempty"`
	Rounds           int64 `json:"rounds,omitempty"`
	ToolCalls        int64 `json:"tool_calls,omitempty"`
	Tokens           `json:"tokens"`
	DefinitionTokens int64         `json:"definition_tokens,omitempty"`
	Time             time.Duration `json:"time,omitempty"` // of all chats
	FirstToken       Histogram     `json:"first_token"`    // of chats that had one
}

func (c *Chats) add(x *Chat) {
	c.Chats++
	switch {
	case x.Cancelled:
		c.Cancelled++
	case !x.OK:
		c.Failed++
	}
	c.Rounds += int64(max(x.Rounds, 0))
	c.ToolCalls += int64(max(x.ToolCalls, 0))
	mine, more := c.Tokens.numbers(), x.Tokens.numbers()
	for i := range mine {
		*mine[i] += max(*more[i], 0)
	}
	c.DefinitionTokens += max(x.DefinitionTokens, 0)
	c.Time += max(x.Latency, 0)
	if x.FirstToken > 0 {
		c.FirstToken.add(x.FirstToken)
	}
}

// check rejects impossible values.
func (c *Chats) check() error {
	t := c.Tokens.numbers()
	for _, n := range append(t[:], &c.Chats, &c.Failed, &c.Cancelled, &c.Rounds, &c.ToolCalls, &c.DefinitionTokens) {
		if *n < 0 {
			return fmt.Errorf("count %d: want 0 or more", *n)
		}
	}
	if c.Failed+c.Cancelled > c.Chats || c.Time < 0 {
		return fmt.Errorf("%d of %d chats, of %s, did not succeed, which is impossible", c.Failed+c.Cancelled,
			c.Chats, c.Time)
	}
	return nil
}

// FirstTokenQuantile estimates the time to the first token that a share p of the chats
// does not exceed; 0 if no chat had one.
func (c *Chats) FirstTokenQuantile(p float64) time.Duration { return c.FirstToken.quantile(p) }

// ModelUsage is the usage of one model on one day.
type ModelUsage struct {
	Model string
	Day   time.Time // 0:00 UTC
	Chats
}

type modelKey struct {
	Model string `json:"model"`
	Day   day    `json:"day"`
}

func (k modelKey) own() modelKey { return modelKey{strings.Clone(k.Model), k.Day} }

// Chat records a chat. It only changes memory and never fails. It is meant for declared
// models only, whose number is small.
func (r *Recorder) Chat(c Chat) {
	c.Model = tidyText(c.Model, MaxName)
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state.models.at(modelKey{c.Model, dayOf(r.state.when(c.At, now))}, modelKey.own).add(&c)
}

// Models returns the chats of the retained days, sorted by model and day.
func (r *Recorder) Models() []ModelUsage {
	rows := copyRows(&r.mu, &r.state.models)
	slices.SortFunc(rows, func(a, b row[modelKey, Chats]) int {
		return cmp.Or(strings.Compare(a.Key.Model, b.Key.Model), cmp.Compare(a.Key.Day, b.Key.Day))
	})
	out := make([]ModelUsage, len(rows))
	for i, x := range rows {
		out[i] = ModelUsage{x.Key.Model, x.Key.Day.time(), x.Value}
	}
	return out
}
