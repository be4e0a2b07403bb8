package availability

import (
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/spicepod"
)

// Context is what expressions know of a request, as ctx. An empty text is null.
type Context struct {
	Principal, UserID, SpaceID, Agent, Model string
	SessionID, RequestID, FlowID, StepID     string
	Now                                      time.Time
}

// ContextOf returns the context of a caller's request. The agent and the model are those
// that the runtime runs, never those that a client names.
func ContextOf(c caller.Caller, now time.Time) *Context {
	return &Context{
		Principal: c.Principal, UserID: c.UserID, SpaceID: c.SpaceID, Agent: c.Acting.Agent, Model: c.Acting.Model,
		SessionID: c.SessionID, RequestID: c.RequestID, FlowID: c.Trace.FlowID, StepID: c.Trace.StepID, Now: now,
	}
}

// Tool is what expressions know of a tool or function, as tool.
type Tool struct {
	Name, Owner string
	Tags        []string
	Source      string // builtin, function, or mcp: and the server's name
	Risk        Risk
}

// Risk is what a call may do.
type Risk = spicepod.Risk

// The values of [Risk].
const (
	Read        = spicepod.RiskRead
	Write       = spicepod.RiskWrite
	Destructive = spicepod.RiskDestructive
)

// texts are the fields of ctx that are texts, or null.
var texts = []struct {
	name string
	of   func(*Context) string
}{
	{"principal", func(c *Context) string { return c.Principal }},
	{"user_id", func(c *Context) string { return c.UserID }},
	{"space_id", func(c *Context) string { return c.SpaceID }},
	{"agent", func(c *Context) string { return c.Agent }},
	{"model", func(c *Context) string { return c.Model }},
	{"session_id", func(c *Context) string { return c.SessionID }},
	{"request_id", func(c *Context) string { return c.RequestID }},
	{"flow_id", func(c *Context) string { return c.FlowID }},
	{"step_id", func(c *Context) string { return c.StepID }},
}

// The other fields of ctx.
const (
	fieldNow      = "now"
	fieldSettings = "settings"
)

// fields are the fields of tool.
var fields = []string{"name", "owner", "tags", "source", "risk"}

// Fields is a set of fields of ctx: bit i is texts[i], and the last one is now.
type Fields uint16

// Now reports whether ctx.now is in the set.
func (f Fields) Now() bool { return f&nowField != 0 }

const nowField Fields = 1 << 15

// Key identifies the values of the fields f in c, without the time: contexts with equal
// keys have equal results of expressions that use no other fields.
func (c *Context) Key(f Fields) string {
	var b []byte
	for i, t := range texts {
		if f&(1<<i) != 0 {
			b = append(append(b, t.of(c)...), 0) // no text has a zero byte
		}
	}
	return string(b)
}
