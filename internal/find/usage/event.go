package usage

import "time"

// Event is a step of an agent that works for a call.
type Event struct {
	At           time.Time // zero: now
	Type         string
	Agent        string
	Depth        int
	CallID       string
	ParentCallID string
	Tool         string
	Text         string // the task
	Arguments    string // as JSON; shortened, it may be none
	Result       string // as Arguments
	OK           *bool  // of events of an end
	Code         string
	Error        string
	Latency      time.Duration
	RequestID    string
	SessionID    string
	Holder       string // the only owner who may read it; "" means everyone
}

// tidy shortens and cleans the texts.
func (e *Event) tidy() {
	for _, s := range [...]*string{&e.Agent, &e.Tool} {
		*s = tidyText(*s, MaxName)
	}
	for _, s := range [...]*string{&e.CallID, &e.ParentCallID, &e.RequestID, &e.SessionID, &e.Holder} {
		*s = tidyText(*s, MaxID)
	}
	for _, s := range [...]*string{&e.Text, &e.Arguments, &e.Result} {
		*s = tidyText(*s, MaxEventText)
	}
	e.Type, e.Code, e.Error = tidyText(e.Type, MaxWord), tidyText(e.Code, MaxWord), tidyText(e.Error, MaxText)
	e.Latency = max(e.Latency, 0)
}

// Event records an event. Events are in memory only: they have texts of conversations.
func (r *Recorder) Event(e Event) {
	e.tidy()
	now := r.now()
	r.mu.Lock()
	e.At = r.state.when(e.At, now)
	r.state.events.push(&e)
	r.mu.Unlock()
	r.stepped(e)
}

// Events returns the retained events, latest first.
func (r *Recorder) Events() []Event { return newestFirst(r, &r.state.events) }
