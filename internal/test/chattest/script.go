package chattest

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// Answer is the server's answer to a request. The zero value is an answer without text.
type Answer struct {
	Steps []Step // actions of the model, in order

	Status int         // 0 means 200
	Header http.Header // in addition to the headers of the API
	Body   []byte      // sent instead of Steps

	ChunkBytes int  // the most bytes of the body per write; 0: one event per write
	Cut        int  // bytes of the body after which the connection breaks; 0: none, less than 0: before the status
	Hang       bool // after Steps or Body, or before the status without them, nothing is sent until the client leaves

	fault *fault
}

// Say returns an answer of steps.
func Say(steps ...Step) Answer { return Answer{Steps: steps} }

// Always returns the same answer for every request.
func Always(a Answer) func(Request) Answer {
	return func(Request) Answer { return a }
}

// InTurn returns the next answer for each request, and then an error of status 500.
func InTurn(answers ...Answer) func(Request) Answer {
	var mu sync.Mutex
	next := 0
	return func(Request) Answer {
		mu.Lock()
		defer mu.Unlock()
		next++
		if next > len(answers) {
			a := ServerError()
			a.fault.message = fmt.Sprintf("request %d, but the script has %d answers", next, len(answers))
			return a
		}
		return answers[next-1]
	}
}

// Step is an action of the model: [Text], [Call], [Wait] and the others.
type Step struct {
	kind     stepKind
	id, name string   // of a call
	pieces   []string // one event each
	ends     bool     // the call begins and ends with this step
	pause    time.Duration
	until    <-chan struct{}
	usage    chat.Usage
	reason   chat.Reason
}

type stepKind int

const (
	stepText stepKind = iota + 1
	stepThinking
	stepBegin
	stepArguments
	stepEnd
	stepWait
	stepUsage
	stepFinish
	stepFail
	stepRaw
)

// Text says a text, piece by piece.
func Text(pieces ...string) Step { return Step{kind: stepText, pieces: pieces} }

// Thinking thinks, piece by piece: a summary of reasoning in [chat.FormResponses], a
// signed block in [chat.FormAnthropic], and reasoning_content, as compatible servers
// have it, in [chat.FormOpenAI].
func Thinking(pieces ...string) Step { return Step{kind: stepThinking, pieces: pieces} }

// Call calls a tool; each piece of the arguments is an event.
func Call(id, name string, arguments ...string) Step {
	return Step{kind: stepBegin, id: id, name: name, pieces: arguments, ends: true}
}

// Begin begins a call that [Arguments] continue and [End] ends, so that calls can be
// interleaved, as in OpenAI's APIs. Anthropic's ends a block before the next begins.
func Begin(id, name string) Step { return Step{kind: stepBegin, id: id, name: name} }

// Arguments adds arguments to a call. It is ignored without [Begin].
func Arguments(id string, pieces ...string) Step {
	return Step{kind: stepArguments, id: id, pieces: pieces}
}

// End ends a call. Calls without it end with the answer.
func End(id string) Step { return Step{kind: stepEnd, id: id} }

// Wait pauses.
func Wait(d time.Duration) Step { return Step{kind: stepWait, pause: d} }

// Until waits until the channel is closed.
func Until(closed <-chan struct{}) Step { return Step{kind: stepWait, until: closed} }

// Usage sets the tokens of the answer: all input, all output, and the input read from a
// cache and written to one. Its position is irrelevant; without it the numbers are 0.
func Usage(in, out, cacheRead, cacheWrite int64) Step {
	return Step{kind: stepUsage, usage: chat.Usage{Input: in, Output: out, CacheRead: cacheRead, CacheWrite: cacheWrite}}
}

// Finish sets why the answer ends. Its position is irrelevant; the default is calls if
// there are any, else stop.
func Finish(r chat.Reason) Step { return Step{kind: stepFinish, reason: r} }

// Fail ends a stream with an error of the API. It is ignored in answers that are not
// streamed.
func Fail(message string) Step { return Step{kind: stepFail, pieces: []string{message}} }

// Raw writes text into a stream unchanged, such as a comment that keeps a connection
// alive or an event that no other step writes. It is ignored in answers that are not
// streamed.
func Raw(text string) Step { return Step{kind: stepRaw, pieces: []string{text}} }
