package toolloop

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/tools"
)

// phase is the state of a call; it only advances.
type phase int

const (
	growing phase = iota // receiving arguments
	ready                // arguments are complete; waits to start
	running              // the call is running
	done                 // has its result, or is a complete call of a client tool
)

// call is one call of an answer.
type call struct {
	chat.Call // as in the history: Arguments are an object
	phase     phase
	traits        // of the tool
	shown     int // its number for the client, if it is a call of a client tool
	arguments strings.Builder
	long      bool // arguments exceed the limit
	result    *chat.CallResult
}

// traits are what the loop has to know about a tool.
type traits struct {
	client     bool // a client tool
	serial     bool
	late       bool // waits until the answer ends
	parameters json.RawMessage
	names      map[string]string // declared, by those that the model knows
}

// ending is how an answer ended.
type ending int

const (
	open   ending = iota
	normal        // the model ended it
	cut           // a limit or filter, a broken stream or a client that left
)

// answer is the state machine of one answer: what the model said, and the state of the
// calls. Methods take, end, cut and finished feed it events; next, settled and verdict
// say what to do. It starts nothing itself.
//
// When the answer is settled, every call of a runtime tool that began has exactly one
// result. A call starts at most once, and only with complete arguments. Nothing starts
// after a cut.
type answer struct {
	limits Limits
	traits func(name string) traits
	target func(*chat.Call) (Tool, bool) // may be nil
	ids    map[string]bool               // of all calls of the chat
	barred bool                          // calls are refused: the rounds are used up

	script  script
	calls   []*call       // in order of arrival
	byIndex map[int]*call // the provider's numbering
	shown   int           // calls of client tools
	own     int           // calls of runtime tools
	running int
	pending int // calls of runtime tools without a result

	usage  chat.Usage
	ending ending
	finish chat.Delta
}

// take handles the next delta of the provider and returns what the client sees of it.
// It returns an error if the answer exceeds a limit.
func (a *answer) take(d chat.Delta) (seen chat.Delta, show bool, err error) {
	if a.ending != open {
		return d, false, nil
	}
	switch d.Kind {
	case chat.DeltaText:
		a.script.write(chat.PartText, d.Text)
	case chat.DeltaThinking:
		a.script.write(chat.PartThinking, d.Text)
	case chat.DeltaRefusal:
		a.script.write(chat.PartRefusal, d.Text)
	case chat.DeltaCall:
		return a.begin(d)
	case chat.DeltaArguments:
		seen, show = a.grow(d)
		return seen, show, a.within()
	case chat.DeltaCallEnd:
		seen, show = a.complete(d)
		return seen, show, nil
	case chat.DeltaPart:
		if d.Part == nil {
			return d, false, nil
		}
		a.script.add(*d.Part)
	case chat.DeltaUsage:
		a.usage = d.Usage
		return d, false, nil
	case chat.DeltaFinish:
		a.end(d)
		return d, false, nil
	default:
		return d, d.Kind == chat.DeltaStart, nil
	}
	return d, true, a.within()
}

func (a *answer) within() error {
	if a.script.bytes > maxAnswer {
		return tooLarge(fmt.Sprintf("%d bytes", maxAnswer))
	}
	return nil
}

func tooLarge(limit string) error {
	return &chat.Error{Code: errcode.StreamBroken, Message: "the model's answer exceeds " + limit +
		"; the rest was discarded"}
}

// begin handles the beginning of a call.
func (a *answer) begin(d chat.Delta) (chat.Delta, bool, error) {
	if d.Call == nil {
		return d, false, nil
	}
	if len(a.calls) == maxBegun {
		return d, false, tooLarge(fmt.Sprintf("%d tool calls", maxBegun))
	}
	c := &call{Call: *d.Call, traits: a.traits(d.Call.Name)}
	c.ID, c.Arguments = a.unique(c.ID), ""
	if a.byIndex == nil {
		a.byIndex = map[int]*call{}
	}
	a.byIndex[d.Index] = c
	a.calls = append(a.calls, c)
	a.script.add(chat.Part{Kind: chat.PartCall, Call: &c.Call})
	if c.client {
		c.shown = a.shown
		a.shown++
		begun := c.Call
		d.Index, d.Call = c.shown, &begun
		return d, true, a.within()
	}
	a.own++
	a.pending++
	switch {
	case a.barred:
		a.refuse(c, tools.NewError(errcode.Limit, "no more tools can be called in this chat", "answer with what is known"))
	case a.own > a.limits.Calls:
		a.refuse(c, tools.NewError(errcode.Limit, fmt.Sprintf("an answer may call at most %d tools", a.limits.Calls),
			"call the others in the next answer"))
	}
	return d, false, a.within()
}

// unique returns the id, or a new one if the chat has it already: some servers count
// calls from 0 in every answer, and some send no ids.
func (a *answer) unique(id string) string {
	free := id
	for n := 1; free == "" || a.ids[free]; n++ {
		free = fmt.Sprintf("%s_%d", cmp.Or(id, "call"), n)
	}
	a.ids[free] = true
	return free
}

// grow appends to a call's arguments.
func (a *answer) grow(d chat.Delta) (chat.Delta, bool) {
	c := a.byIndex[d.Index]
	if c == nil || c.phase != growing {
		return d, false
	}
	if !c.long {
		c.long = c.arguments.Len()+len(d.Text) > a.limits.ArgumentBytes
	}
	if !c.long {
		a.script.bytes += len(d.Text)
		c.arguments.WriteString(d.Text)
	}
	d.Index = c.shown
	return d, c.client
}

// complete handles the end of a call's arguments.
func (a *answer) complete(d chat.Delta) (chat.Delta, bool) {
	c := a.byIndex[d.Index]
	if c == nil || c.phase != growing {
		return d, false
	}
	if c.client {
		d.Index, c.phase, c.Arguments = c.shown, done, cmp.Or(c.arguments.String(), "{}")
		return d, true
	}
	if err := a.check(c); err != nil {
		a.refuse(c, err)
	} else {
		c.phase = ready
		a.follow(c)
	}
	return d, false
}

// follow gives a call the traits of the tool that it finally runs.
func (a *answer) follow(c *call) {
	if a.target == nil {
		return
	}
	if t, ok := a.target(&c.Call); ok {
		c.late, c.serial = t.AfterResponse, t.Serial
	}
}

// check checks that the arguments are an object, or text that can be repaired to one.
// The tool's own schema is checked when the call is made.
func (a *answer) check(c *call) *tools.Error {
	if c.long {
		return tools.NewError(errcode.Limit, fmt.Sprintf("the arguments exceed %d bytes", a.limits.ArgumentBytes),
			"pass less")
	}
	raw := c.arguments.String()
	object, _, err := tools.Parse(json.RawMessage(raw))
	if err != nil {
		err.Example = exampleOf(c.parameters)
		return err
	}
	c.Arguments = raw
	if !strings.HasPrefix(strings.TrimSpace(raw), "{") {
		repaired, _ := tools.Encode(object) // it came from JSON
		c.Arguments = string(repaired)
	}
	return nil
}

// refuse sets the result of a call without making it.
func (a *answer) refuse(c *call, why *tools.Error) {
	if c.phase == growing { // the history requires an object
		c.Arguments = "{}"
	}
	c.phase = done
	c.result = &chat.CallResult{
		ID: c.ID, Name: c.Name, Error: true,
		Parts: textParts(failure(c.Name, why, a.limits.ResultBytes)),
	}
	a.pending--
}

// end handles the end of the answer.
func (a *answer) end(d chat.Delta) {
	a.finish = d
	if d.Reason != chat.ReasonStop && d.Reason != chat.ReasonCalls {
		a.cut(fmt.Sprintf("the answer was cut short (%s)", d.Reason))
		return
	}
	a.ending = normal
	for _, c := range a.calls {
		if c.phase == growing && !c.client {
			a.refuse(c, tools.NewError(errcode.InvalidArguments, "the arguments are incomplete",
				"repeat the call with all arguments"))
		}
	}
}

// cut ends the answer early. Calls that have not started are refused; running calls are
// awaited.
func (a *answer) cut(why string) {
	if a.ending == cut {
		return
	}
	a.ending = cut
	for _, c := range a.calls {
		if !c.client && c.phase < running {
			a.refuse(c, tools.NewError(errcode.Cancelled, "the call was not made: "+why, ""))
		}
	}
}

// next returns a call to start now, nil if none may: at most [Limits.Parallel] run at
// once, a serial call waits for the serial calls before it, and a late one for the end
// of the answer.
func (a *answer) next() *call {
	if a.running >= a.limits.Parallel || a.running == a.pending || a.ending == cut {
		return nil
	}
	waits := false // serial calls, for one before them
	for _, c := range a.calls {
		free := !(c.serial && waits) && !(c.late && a.ending == open)
		if c.phase == ready && free {
			c.phase = running
			a.running++
			return c
		}
		waits = waits || c.serial && c.phase != done
	}
	return nil
}

// finished sets the result of a call that ran.
func (a *answer) finished(c *call, result *chat.CallResult) {
	if c.phase != running {
		return
	}
	c.phase, c.result = done, result
	a.running--
	a.pending--
}

// settled reports whether the answer has ended and every call of a runtime tool has its
// result.
func (a *answer) settled() bool { return a.ending != open && a.pending == 0 }

// verdict returns what follows a settled answer: another round, or the end with a
// reason.
func (a *answer) verdict() (again bool, reason chat.Reason) {
	reason = a.finish.Reason
	switch {
	case reason == chat.ReasonPause:
		return a.shown == 0 && !a.barred, reason
	case a.ending == cut:
		return false, reason
	case a.shown > 0:
		return false, chat.ReasonCalls
	case a.own == 0:
		return false, reason
	}
	return true, reason
}

// defiant reports whether the model called tools of the runtime where it may call none.
func (a *answer) defiant() bool { return a.barred && a.own > 0 }

func (a *answer) message() chat.Message {
	a.script.close()
	return chat.Message{Role: chat.RoleAssistant, Parts: a.script.parts}
}

// results returns the results of runtime tools, in the order of the calls.
func (a *answer) results() []chat.Part {
	var parts []chat.Part
	for _, c := range a.calls {
		if c.result != nil {
			parts = append(parts, chat.Part{Kind: chat.PartResult, Result: c.result})
		}
	}
	return parts
}

// history returns the answer and its results, as the next request has them.
func (a *answer) history() []chat.Message {
	var messages []chat.Message
	if m := a.message(); len(m.Parts) > 0 {
		messages = append(messages, m)
	}
	if results := a.results(); len(results) > 0 {
		messages = append(messages, chat.Message{Role: chat.RoleTool, Parts: results})
	}
	return messages
}
