package xmltools

import (
	"context"
	"iter"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// Wrap returns a provider that describes tools to p as text instead of sending them,
// and parses calls from the text of the answer. Requests without tools and calls pass
// unchanged. Hosted tools are sent to p.
//
// Every call gets a new id. An answer with calls ends with [chat.ReasonCalls]
// where the model just stopped. The arguments of a call that is not valid JSON are the
// text that the model wrote.
func Wrap(p chat.Provider) chat.Provider { return &provider{p} }

type provider struct{ inner chat.Provider }

var _ chat.Provider = (*provider)(nil)

// Form returns the form of the wrapped provider.
func (p *provider) Form() chat.Form { return p.inner.Form() }

// Chat sends the request with tools as text and yields the answer with its calls.
func (p *provider) Chat(ctx context.Context, r *chat.Request) iter.Seq2[chat.Delta, error] {
	plain, tools := inWords(r)
	stream := p.inner.Chat(ctx, plain)
	if len(tools) == 0 || r.Choice.Mode == chat.ChoiceNone {
		return stream
	}
	return func(yield func(chat.Delta, error) bool) {
		a := newAnswer(tools)
		for d, err := range stream {
			ready := a.next(d, err)
			for _, d := range ready {
				if !yield(d, nil) {
					return
				}
			}
			if err != nil {
				yield(d, err)
				return
			}
		}
	}
}

// answer converts the deltas of the provider.
type answer struct {
	scanner *scanner
	calls   int         // so far
	native  map[int]int // index of a native call of the provider → ours
	out     []chat.Delta
}

func newAnswer(tools []chat.Tool) *answer {
	a := &answer{native: map[int]int{}}
	a.scanner = newScanner(tools, a)
	return a
}

// next handles a delta, or the error that ends the answer, and returns the deltas known
// by then.
func (a *answer) next(d chat.Delta, err error) []chat.Delta {
	a.out = nil
	switch {
	case err != nil:
		a.scanner.abandon()
	case d.Kind == chat.DeltaText:
		a.scanner.write(d.Text)
	case d.Kind == chat.DeltaFinish:
		a.finish(d)
	default:
		a.out = append(a.out, a.renumbered(d))
	}
	return a.out
}

func (a *answer) finish(d chat.Delta) {
	a.scanner.close(d.Reason == chat.ReasonLength)
	if d.Reason == chat.ReasonStop && a.calls > 0 {
		d.Reason, d.Raw = chat.ReasonCalls, nil
	}
	a.out = append(a.out, d)
}

// renumbered returns a delta with the index of the call among all calls.
func (a *answer) renumbered(d chat.Delta) chat.Delta {
	switch d.Kind {
	case chat.DeltaCall:
		a.native[d.Index] = a.calls
		a.calls++
		fallthrough
	case chat.DeltaArguments, chat.DeltaCallEnd:
		d.Index = a.native[d.Index]
	}
	return d
}

// text yields text of the answer, without Raw, which contains the tags.
func (a *answer) text(text string) {
	if text == "" {
		return
	}
	if last := len(a.out) - 1; last >= 0 && a.out[last].Kind == chat.DeltaText {
		a.out[last].Text += text
		return
	}
	a.out = append(a.out, chat.Delta{Kind: chat.DeltaText, Text: text})
}

// call yields a call. An incomplete one has no end.
func (a *answer) call(c chat.Call, complete bool) {
	arguments := c.Arguments
	c.Arguments = ""
	a.out = append(a.out,
		chat.Delta{Kind: chat.DeltaCall, Index: a.calls, Call: &c},
		chat.Delta{Kind: chat.DeltaArguments, Index: a.calls, Text: arguments})
	if complete {
		a.out = append(a.out, chat.Delta{Kind: chat.DeltaCallEnd, Index: a.calls})
	}
	a.calls++
}
