// Package scripted has a model without a provider: it answers from a script, for tests and
// demos that have no key and no network.
//
//	model, err := scripted.New([]spicepod.ScriptStep{{User: "far", Calls: []spicepod.ScriptCall{{Tool: "airport_km"}}},
//		{After: "airport_km", Say: "It is {{result}} km."}})
//
// The model has no memory: the first step that matches a request answers it. A step matches
// by the last text of the user, and by the tool whose result the request ends with, so that
// one script plays many conversations at once, and the same request always gets the same
// answer. A request that no step matches is an error.
package scripted

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"regexp"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/tokens"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/spicepod"
)

// Limits of a script.
const (
	MaxSteps = 1000
	MaxDelay = time.Minute // of a step
)

// maxShown limits a text in an error, in bytes.
const maxShown = 200

// anyTool in [spicepod.ScriptStep.After] is every tool.
const anyTool = "*"

// Model is a model that answers from a script. It is immutable and safe for concurrent use.
type Model struct{ steps []step }

var _ chat.Provider = (*Model)(nil)

// step is a step with its expression compiled; nil: it matches every text.
type step struct {
	spicepod.ScriptStep
	user *regexp.Regexp
}

// Error is an error of a script.
type Error struct {
	Step  int    // from 0; -1: of the script
	Field string // of the step, by its name in YAML
	Text  string
}

// Error returns the text.
func (e *Error) Error() string { return e.Text }

// placeholder is what a text may have in {{ }}.
var placeholder = regexp.MustCompile(`\{\{\s*(\w*)\s*\}\}`)

// New returns the model of a script. An error is an [*Error].
func New(script []spicepod.ScriptStep) (*Model, error) {
	if len(script) == 0 || len(script) > MaxSteps {
		return nil, &Error{Step: -1, Text: fmt.Sprintf("a script has 1 to %d steps; this one has %d", MaxSteps, len(script))}
	}
	m := &Model{steps: make([]step, len(script))}
	for i, declared := range script {
		s := step{ScriptStep: declared}
		if declared.User != "" {
			var err error
			if s.user, err = regexp.Compile("(?i)" + declared.User); err != nil {
				return nil, &Error{i, "user", fmt.Sprintf("%q is not a regular expression: %s", declared.User, err)}
			}
		}
		if declared.Say == "" && declared.Calls == nil && declared.Error == nil && declared.Think == "" {
			return nil, &Error{i, "", "the step says nothing: give it say, calls or error"}
		}
		if declared.Delay < 0 || declared.Delay > MaxDelay {
			return nil, &Error{i, "delay", fmt.Sprintf("delay takes 0 to %s, got %s", MaxDelay, declared.Delay)}
		}
		if err := s.checkTexts(i); err != nil {
			return nil, err
		}
		m.steps[i] = s
	}
	return m, nil
}

// checkTexts refuses placeholders that do not exist.
func (s step) checkTexts(i int) error {
	unknown := func(field, text string) error {
		for _, found := range placeholder.FindAllStringSubmatch(text, -1) {
			if found[1] != "user" && found[1] != "result" {
				return &Error{i, field, fmt.Sprintf("%s is neither {{user}} nor {{result}}", found[0])}
			}
		}
		return nil
	}
	if err := unknown("say", s.Say); err != nil {
		return err
	}
	for at, c := range s.Calls {
		field := fmt.Sprintf("calls[%d].arguments", at)
		if _, err := json.Marshal(c.Arguments); err != nil {
			return &Error{i, field, fmt.Sprintf("the arguments cannot be sent as JSON: %s", err)}
		}
		var err error
		replaceTexts(c.Arguments, func(text string) string {
			if err == nil {
				err = unknown(field, text)
			}
			return text
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// replaceTexts returns a value of YAML with its texts replaced.
func replaceTexts(value any, replace func(string) string) any {
	switch v := value.(type) {
	case string:
		return replace(v)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = replaceTexts(v[i], replace)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for key := range v {
			object[key] = replaceTexts(v[key], replace)
		}
		return object
	}
	return value
}

// Form returns [chat.FormOpenAI].
func (m *Model) Form() chat.Form { return chat.FormOpenAI }

// Chat answers a request.
func (m *Model) Chat(ctx context.Context, r *chat.Request) iter.Seq2[chat.Delta, error] {
	return func(yield func(chat.Delta, error) bool) {
		at := readRequest(r)
		for _, s := range m.steps {
			if s.matches(at) {
				s.play(ctx, r, at, yield)
				return
			}
		}
		yield(chat.Delta{}, at.unmatched(len(m.steps)))
	}
}

// position is where a conversation is: the last text of the user, and the results that the
// request ends with.
type position struct {
	user   string
	tools  []string // of the results
	result string   // the text of the last one
}

func readRequest(r *chat.Request) position {
	var p position
	tools := map[string]string{} // by id of the call
	for _, message := range r.Messages {
		if text := message.Text(); message.Role == chat.RoleUser && text != "" {
			p = position{user: text}
		}
		if message.Role == chat.RoleAssistant {
			p.tools, p.result = nil, ""
		}
		for _, c := range message.Calls() {
			tools[c.ID] = c.Name
		}
		for _, part := range message.Parts {
			if part.Kind == chat.PartResult {
				p.tools, p.result = append(p.tools, tools[part.Result.ID]), part.Result.Text()
			}
		}
	}
	return p
}

// unmatched is the error of a request that no step matches.
func (p position) unmatched(steps int) error {
	after := ""
	if len(p.tools) > 0 {
		names := truncate.Ellipsis(strings.Join(p.tools, ", "), maxShown)
		after = ", and the request ends with a result of " + names
	}
	return &chat.Error{Code: errcode.ProviderError, Message: fmt.Sprintf(
		"no step of the model's script matches the request: the user says %q%s; the script has %d steps, whose user and after "+
			"decide", truncate.Ellipsis(p.user, maxShown), after, steps)}
}

func (s step) matches(p position) bool {
	switch {
	case s.After == "" && len(p.tools) > 0, s.After != "" && len(p.tools) == 0:
		return false
	case s.After != "" && s.After != anyTool && p.tools[len(p.tools)-1] != s.After:
		return false
	}
	return s.user == nil || s.user.MatchString(p.user)
}

// reasons are why answers end.
var reasons = map[spicepod.ScriptFinish]chat.Reason{
	spicepod.ScriptStop: chat.ReasonStop, spicepod.ScriptLength: chat.ReasonLength,
	spicepod.ScriptFilter: chat.ReasonFilter,
}

// play yields the answer of the step.
func (s step) play(ctx context.Context, r *chat.Request, p position, yield func(chat.Delta, error) bool) {
	if err := wait(ctx, s.Delay); err != nil {
		yield(chat.Delta{}, &chat.Error{Code: errcode.Cancelled, Message: "the client closed the connection", Cause: err})
		return
	}
	fill := func(text string) string {
		return placeholder.ReplaceAllStringFunc(text, func(found string) string {
			if placeholder.FindStringSubmatch(found)[1] == "user" {
				return p.user
			}
			return p.result
		})
	}
	var deltas []chat.Delta
	add := func(d chat.Delta) { deltas = append(deltas, d) }
	if s.Error == nil || s.Say+s.Think != "" || s.Calls != nil {
		add(chat.Delta{Kind: chat.DeltaStart})
	}
	said := fill(s.Say)
	for word := range strings.SplitAfterSeq(s.Think, " ") {
		if word != "" {
			add(chat.Delta{Kind: chat.DeltaThinking, Text: word})
		}
	}
	for word := range strings.SplitAfterSeq(said, " ") {
		if word != "" {
			add(chat.Delta{Kind: chat.DeltaText, Text: word})
		}
	}
	output := tokens.Count(said) + tokens.Count(s.Think)
	for i, c := range s.Calls {
		arguments := []byte("{}")
		if len(c.Arguments) > 0 {
			arguments, _ = json.Marshal(replaceTexts(c.Arguments, fill)) // New has done so, too
		}
		output += tokens.Count(c.Tool + string(arguments))
		id := fmt.Sprintf("call_%d_%d", len(r.Messages), i)
		add(chat.Delta{Kind: chat.DeltaCall, Index: i, Call: &chat.Call{ID: id, Name: c.Tool}})
		add(chat.Delta{Kind: chat.DeltaArguments, Index: i, Text: string(arguments)})
		add(chat.Delta{Kind: chat.DeltaCallEnd, Index: i})
	}
	if s.Error == nil {
		reason := reasons[s.Finish]
		if reason == "" && len(s.Calls) > 0 {
			reason = chat.ReasonCalls
		} else if reason == "" {
			reason = chat.ReasonStop
		}
		add(chat.Delta{Kind: chat.DeltaUsage, Usage: chat.Usage{Input: inputTokens(r), Output: int64(output)}})
		add(chat.Delta{Kind: chat.DeltaFinish, Reason: reason})
	}
	for _, d := range deltas {
		if !yield(d, nil) {
			return
		}
	}
	if s.Error != nil {
		yield(chat.Delta{}, &chat.Error{Code: errcode.Code(s.Error.Code), Message: s.Error.Message})
	}
}

// wait waits, or returns why ctx has ended.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// inputTokens estimates the tokens of a request: see [tokens.Count].
func inputTokens(r *chat.Request) int64 {
	sum := 0
	for _, message := range r.Messages {
		sum += tokens.Count(message.Text())
		for _, part := range message.Parts {
			switch part.Kind {
			case chat.PartCall:
				sum += tokens.Count(part.Call.Name + part.Call.Arguments)
			case chat.PartResult:
				sum += tokens.Count(part.Result.Text())
			}
		}
	}
	for _, t := range r.Tools {
		sum += tokens.Count(t.Name + t.Description + string(t.Parameters))
	}
	return int64(sum)
}
