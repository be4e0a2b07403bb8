package toolloop

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/tools"
)

// phase is where a call stands. It only ever moves on.
type phase int

const (
	growing phase = iota // its arguments arrive
	ready                // they are complete; it starts as soon as it may
	running              // it is being made
	done                 // it has its result, or is the client's and complete
)

// call is a call of the answer.
type call struct {
	chat.Call // as the history has it: Arguments are an object
	phase     phase
	traits        // of its tool
	shown     int // its number for the client, when it is the client's
	arguments strings.Builder
	long      bool // more arguments came than are kept
	result    *chat.CallResult
}

// traits are what the loop must know of a tool.
type traits struct {
	client     bool // the client brought it
	serial     bool
	late       bool // waits for the end of the answer
	parameters json.RawMessage
}

// ending is how an answer ended.
type ending int

const (
	open   ending = iota
	normal        // the model has said all it had to say
	cut           // by a limit or a filter, a broken stream, a client that left
)

// answer is the state of one answer of the model: what it said, and where its
// calls stand. It takes what happens (take, end, cut, finished) and says what
// to do (next, settled, verdict). It starts nothing itself.
//
// Every call of a runtime tool that began has exactly one result when the
// answer is settled; a call starts at most once, and only with complete
// arguments; nothing starts after a cut.
type answer struct {
	limits Limits
	traits func(name string) traits
	target func(*chat.Call) (Tool, bool) // may be nil
	ids    map[string]bool               // of all calls of the chat
	barred bool                          // no call is made: the rounds are used up

	script  script
	calls   []*call       // in the order of their beginning
	byIndex map[int]*call // as the provider counts
	shown   int           // calls of the client
	own     int           // calls of the runtime's tools
	running int
	pending int // calls of the runtime's tools without a result

	usage  chat.Usage
	ending ending
	finish chat.Delta
}

// take takes what the provider sent next, and returns what the client sees of
// it. An error says that the answer is beyond a limit.
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
	return &chat.Error{Code: chat.CodeBroken, Message: "the model's answer has more than " + limit + "; the rest is not read"}
}

// begin takes the beginning of a call.
func (a *answer) begin(d chat.Delta) (chat.Delta, bool, error) {
	if d.Call == nil {
		return d, false, nil
	}
	if len(a.calls) == maxBegun {
		return d, false, tooLarge(fmt.Sprintf("%d calls of tools", maxBegun))
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
		a.refuse(c, tools.NewError(tools.CodeLimit, "no more tools can be called in this chat", "answer with what is known"))
	case a.own > a.limits.Calls:
		a.refuse(c, tools.NewError(tools.CodeLimit, fmt.Sprintf("an answer may call at most %d tools", a.limits.Calls), "call the others in the next answer"))
	}
	return d, false, a.within()
}

// unique is the id, or one like it when the chat has it already: some servers
// count calls from 0 in every answer, and some give no ids.
func (a *answer) unique(id string) string {
	free := id
	for n := 1; free == "" || a.ids[free]; n++ {
		free = fmt.Sprintf("%s_%d", cmp.Or(id, "call"), n)
	}
	a.ids[free] = true
	return free
}

// grow takes more of a call's arguments.
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

// complete takes the end of a call's arguments.
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

// follow gives a call the traits of the tool that it leads to.
func (a *answer) follow(c *call) {
	if a.target == nil {
		return
	}
	if t, ok := a.target(&c.Call); ok {
		c.late, c.serial = t.AfterResponse, t.Serial
	}
}

// check holds the arguments against what every tool takes, an object, or text
// that can be read as one. The tool's own schema is checked when the call is
// made.
func (a *answer) check(c *call) *tools.Error {
	if c.long {
		return tools.NewError(tools.CodeLimit, fmt.Sprintf("the arguments have more than %d bytes", a.limits.ArgumentBytes), "call it with less")
	}
	raw := c.arguments.String()
	object, _, err := tools.Parse(json.RawMessage(raw))
	if err != nil {
		err.Example = exampleOf(c.parameters)
		return err
	}
	c.Arguments = raw
	if !strings.HasPrefix(strings.TrimSpace(raw), "{") {
		mended, _ := tools.Encode(object) // it came from JSON
		c.Arguments = string(mended)
	}
	return nil
}

// refuse gives a call its result without making it.
func (a *answer) refuse(c *call, why *tools.Error) {
	if c.phase == growing { // the history needs an object
		c.Arguments = "{}"
	}
	c.phase = done
	c.result = &chat.CallResult{ID: c.ID, Name: c.Name, Error: true, Parts: textParts(failure(c.Name, why, a.limits.ResultBytes))}
	a.pending--
}

// end takes the end of the answer.
func (a *answer) end(d chat.Delta) {
	a.finish = d
	if d.Reason != chat.ReasonStop && d.Reason != chat.ReasonCalls {
		a.cut(fmt.Sprintf("the answer was cut short (%s)", d.Reason))
		return
	}
	a.ending = normal
	for _, c := range a.calls {
		if c.phase == growing && !c.client {
			a.refuse(c, tools.NewError(tools.CodeInvalidArguments, "the arguments are not complete", "write all of them"))
		}
	}
}

// cut ends the answer before its time. What has not started never does; what
// runs is waited for.
func (a *answer) cut(why string) {
	if a.ending == cut {
		return
	}
	a.ending = cut
	for _, c := range a.calls {
		if !c.client && c.phase < running {
			a.refuse(c, tools.NewError(tools.CodeCancelled, "the call was not made: "+why, ""))
		}
	}
}

// next is a call that starts now, nil when none may: at most
// [Limits.Parallel] run at once, a serial one waits for those before it, and a
// late one for the end of the answer.
func (a *answer) next() *call {
	if a.running >= a.limits.Parallel || a.running == a.pending || a.ending == cut {
		return nil
	}
	waits := false // serial calls do, for one before them
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

// finished takes the result of a call that ran.
func (a *answer) finished(c *call, result *chat.CallResult) {
	if c.phase != running {
		return
	}
	c.phase, c.result = done, result
	a.running--
	a.pending--
}

// settled reports whether the answer has ended and every call of a runtime
// tool has its result.
func (a *answer) settled() bool { return a.ending != open && a.pending == 0 }

// verdict says what comes after a settled answer: another one, or the end for
// a reason.
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
	case a.barred:
		return false, chat.ReasonStop
	}
	return true, reason
}

// message is the answer as a message of the chat.
func (a *answer) message() chat.Message {
	a.script.close()
	return chat.Message{Role: chat.RoleAssistant, Parts: a.script.parts}
}

// results are those of the runtime's tools, in the order of the calls.
func (a *answer) results() []chat.Part {
	var parts []chat.Part
	for _, c := range a.calls {
		if c.result != nil {
			parts = append(parts, chat.Part{Kind: chat.PartResult, Result: c.result})
		}
	}
	return parts
}

// history is the answer and its results, as the next request has them.
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
