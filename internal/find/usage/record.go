package usage

import (
	"slices"
	"time"
)

// Call is the record of one tool call.
type Call struct {
	ID         string        `json:"id,omitempty"`
	At         time.Time     `json:"at"` // start; zero: now
	Tool       string        `json:"tool"`
	Owner      string        `json:"owner,omitempty"`
	Caller     string        `json:"caller,omitempty"`
	Surface    string        `json:"surface,omitempty"` // http, sql, chat, mcp or cli
	Source     string        `json:"source,omitempty"`
	OK         bool          `json:"ok,omitempty"`
	Code       string        `json:"code,omitempty"` // of the error; see [Counts] for its classes
	Latency    time.Duration `json:"latency,omitempty"`
	Rows       int64         `json:"rows,omitempty"`
	Bytes      int64         `json:"bytes,omitempty"`
	Truncated  bool          `json:"truncated,omitempty"`
	Cached     bool          `json:"cached,omitempty"`
	Foreign    bool          `json:"foreign,omitempty"` // the caller does not own the tool
	RequestID  string        `json:"request_id,omitempty"`
	SessionID  string        `json:"session_id,omitempty"`
	UserID     string        `json:"user_id,omitempty"`
	FlowID     string        `json:"flow_id,omitempty"`
	StepID     string        `json:"step_id,omitempty"`
	Generation uint64        `json:"generation,omitempty"`
	Error      string        `json:"error,omitempty"`
	Holder     string        `json:"holder,omitempty"` // the only owner who may read the texts; "" means everyone

	Principal, User, Space string `json:"-"` // of a [Pair]
}

// Search is the record of one search for tools.
type Search struct {
	ID          string        `json:"id,omitempty"`
	At          time.Time     `json:"at"` // start; zero: now
	Query       string        `json:"query,omitempty"`
	Mode        string        `json:"mode,omitempty"`
	Surface     string        `json:"surface,omitempty"`
	Caller      string        `json:"caller,omitempty"`
	SessionID   string        `json:"session_id,omitempty"`
	Tools       []string      `json:"tools,omitempty"` // the results, best first
	NoGoodMatch bool          `json:"no_good_match,omitempty"`
	Latency     time.Duration `json:"latency,omitempty"`
	Holder      string        `json:"holder,omitempty"` // the only owner who may read the texts; "" means everyone

	RequestID              string `json:"-"`
	Principal, User, Space string `json:"-"` // of a [Pair]
	Unpaired               bool   `json:"-"` // no call makes a [Pair] of it
}

// tidy shortens and cleans the texts.
func (c *Call) tidy() {
	for _, s := range [...]*string{&c.Tool, &c.Owner, &c.Caller, &c.Source} {
		*s = tidyText(*s, MaxName)
	}
	for _, s := range [...]*string{&c.ID, &c.RequestID, &c.SessionID, &c.UserID, &c.FlowID, &c.StepID, &c.Holder} {
		*s = tidyText(*s, MaxID)
	}
	c.Surface, c.Code = tidyText(c.Surface, MaxWord), tidyText(c.Code, MaxWord)
	c.Error = tidyText(c.Error, MaxText)
	c.Principal, c.User, c.Space = tidyText(c.Principal, MaxID), tidyText(c.User, MaxID), tidyText(c.Space, MaxID)
	c.Latency, c.Rows, c.Bytes = max(c.Latency, 0), max(c.Rows, 0), max(c.Bytes, 0)
}

// tidy shortens and cleans the texts. It copies the list of tools, which belongs to the
// caller.
func (s *Search) tidy() {
	s.ID, s.SessionID, s.Holder = tidyText(s.ID, MaxID), tidyText(s.SessionID, MaxID), tidyText(s.Holder, MaxID)
	s.Mode, s.Surface = tidyText(s.Mode, MaxWord), tidyText(s.Surface, MaxWord)
	s.Query, s.Caller = tidyText(s.Query, MaxText), tidyText(s.Caller, MaxName)
	s.Principal, s.User, s.Space = tidyText(s.Principal, MaxID), tidyText(s.User, MaxID), tidyText(s.Space, MaxID)
	s.RequestID = tidyText(s.RequestID, MaxID)
	s.Latency = max(s.Latency, 0)
	s.Tools = slices.Clone(s.Tools[:min(len(s.Tools), MaxSearchTools)])
	for i := range s.Tools {
		s.Tools[i] = tidyText(s.Tools[i], MaxName)
	}
}

// client identifies whose search a call follows: a session; without one, a caller; without either
// a request, such as a chat in which a model searches and calls. Clients with different keys, users
// or spaces are different ones: names of sessions are those that clients choose. The zero client is
// unknown.
type client struct{ principal, user, space, session, caller, request string }

func (c client) known() client {
	switch {
	case c.session != "":
		c.caller, c.request = "", ""
	case c.caller != "":
		c.request = ""
	case c.request == "":
		return client{}
	}
	return c
}

func (c *Call) client() client {
	return client{c.Principal, c.User, c.Space, c.SessionID, c.Caller, c.RequestID}.known()
}

func (s *Search) client() client {
	return client{s.Principal, s.User, s.Space, s.SessionID, s.Caller, s.RequestID}.known()
}
