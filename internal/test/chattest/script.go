package chattest

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// Answer is what the server answers to a request. The zero value is an answer
// without text.
type Answer struct {
	Steps []Step // what the model does, in order

	Status int         // 0 is 200
	Header http.Header // beside the headers of the form
	Body   []byte      // sent as it is, in place of Steps

	ChunkBytes int  // the most bytes of the body written at once; 0: an event at once
	Cut        int  // bytes of the body after which the connection breaks; 0: none, less than 0: before the status
	Hang       bool // after Steps or Body, and without them before the status, nothing comes until the client leaves

	fault *fault
}

// Say is an answer of steps.
func Say(steps ...Step) Answer { return Answer{Steps: steps} }

// Always answers every request alike.
func Always(a Answer) func(Request) Answer {
	return func(Request) Answer { return a }
}

// InTurn gives each request the next answer. A request too many gets an error
// of status 500 that says so.
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

// Step is a thing the model does: [Text], [Call], [Wait] and the others.
type Step struct {
	kind     stepKind
	id, name string   // of a call
	pieces   []string // each is an event of its own
	ends     bool     // the call, which begins and ends with this step
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

// Text says something, piece by piece.
func Text(pieces ...string) Step { return Step{kind: stepText, pieces: pieces} }

// Thinking thinks, piece by piece: a summary of reasoning in
// [chat.FormResponses], a signed block in [chat.FormAnthropic], and
// reasoning_content, which compatible servers have, in [chat.FormOpenAI].
func Thinking(pieces ...string) Step { return Step{kind: stepThinking, pieces: pieces} }

// Call calls a tool; each piece of the arguments is an event.
func Call(id, name string, arguments ...string) Step {
	return Step{kind: stepBegin, id: id, name: name, pieces: arguments, ends: true}
}

// Begin begins a call that [Arguments] continue and [End] ends, so that calls
// can be woven into each other. OpenAI's forms do so; Anthropic's ends a block
// before the next begins.
func Begin(id, name string) Step { return Step{kind: stepBegin, id: id, name: name} }

// Arguments are more arguments of a call. Without its [Begin] they are nothing.
func Arguments(id string, pieces ...string) Step {
	return Step{kind: stepArguments, id: id, pieces: pieces}
}

// End ends a call. What a script does not end ends with the answer.
func End(id string) Step { return Step{kind: stepEnd, id: id} }

// Wait does nothing for a while.
func Wait(d time.Duration) Step { return Step{kind: stepWait, pause: d} }

// Until does nothing until the channel is closed.
func Until(closed <-chan struct{}) Step { return Step{kind: stepWait, until: closed} }

// Usage are the tokens of the answer: all that went in, all that came out, and
// what of the first was read from a cache and written to one. It may stand
// anywhere; without it the numbers are 0.
func Usage(in, out, cacheRead, cacheWrite int64) Step {
	return Step{kind: stepUsage, usage: chat.Usage{Input: in, Output: out, CacheRead: cacheRead, CacheWrite: cacheWrite}}
}

// Finish is why the answer ends. It may stand anywhere; without it an answer
// with calls ends for those, and others because all is said.
func Finish(r chat.Reason) Step { return Step{kind: stepFinish, reason: r} }

// Fail breaks a stream off with an error in its form. Answers that are not
// streamed pass it over.
func Fail(message string) Step { return Step{kind: stepFail, pieces: []string{message}} }

// Raw writes text into a stream as it stands, such as a comment that keeps a
// connection open or an event that no other step makes. Answers that are not
// streamed pass it over.
func Raw(text string) Step { return Step{kind: stepRaw, pieces: []string{text}} }
