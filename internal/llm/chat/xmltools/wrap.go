package xmltools

import (
	"context"
	"iter"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// Wrap returns a provider that sends p no tools, tells the model of them in
// words, and reads the calls in its text. Requests without tools and calls pass
// as they are. Tools that the provider brings itself are left to it.
//
// Every call has an id of ours. An answer with calls ends with
// [chat.ReasonCalls] where the model just stopped. A call that is no valid JSON
// has what the model wrote as its arguments.
func Wrap(p chat.Provider) chat.Provider { return &provider{p} }

type provider struct{ inner chat.Provider }

var _ chat.Provider = (*provider)(nil)

// Form is that of the provider within.
func (p *provider) Form() chat.Form { return p.inner.Form() }

// Chat sends the request in words and yields the answer with its calls.
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

// answer makes the deltas of an answer from those of the provider.
type answer struct {
	scanner *scanner
	calls   int         // so far
	native  map[int]int // index of a call that the provider itself made → ours
	out     []chat.Delta
}

func newAnswer(tools []chat.Tool) *answer {
	a := &answer{native: map[int]int{}}
	a.scanner = newScanner(tools, a)
	return a
}

// next takes a delta, or the error that ends the answer, and returns what is
// known by then.
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

// renumbered is a delta with the index that its call has among all calls.
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

// text yields text of the answer. What the provider sent of it is left out: it
// would show the tags.
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

// call yields a call. One that is not complete has no end.
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
