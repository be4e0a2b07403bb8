package toolloop_test

import (
	"context"
	"iter"
	"slices"
	"testing"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/toolloop"
	"github.com/spiced-sql/spiced/tools"
)

// talks is a provider that yields n deltas of text.
type talks int

func (talks) Form() chat.Form { return chat.FormOpenAI }

func (n talks) Chat(context.Context, *chat.Request) iter.Seq2[chat.Delta, error] {
	return func(yield func(chat.Delta, error) bool) {
		for range n {
			if !yield(text("word "), nil) {
				return
			}
		}
		yield(finish(chat.ReasonStop), nil)
	}
}

// BenchmarkDelta measures what the loop adds to a delta that passes through.
func BenchmarkDelta(b *testing.B) {
	for name, list := range map[string][]toolloop.Tool{"loop": offered("one"), "pass": nil} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			l := &toolloop.Loop{Provider: talks(b.N), Invoker: echo}
			n := 0
			for _, err := range l.Run(b.Context(), ask("go"), list, tools.Scope{}) {
				if err != nil {
					b.Fatal(err)
				}
				n++
			}
			if n != b.N+1 {
				b.Fatalf("%d events", n)
			}
		})
	}
}

// BenchmarkChat measures a chat of one answer with a hundred tools.
func BenchmarkChat(b *testing.B) {
	var names []string
	for i := range 100 {
		names = append(names, string(rune('a'+i%26))+string(rune('a'+i/26)))
	}
	slices.Sort(names)
	list, l := offered(names...), &toolloop.Loop{Provider: talks(10), Invoker: echo}
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range l.Run(b.Context(), ask("go"), list, tools.Scope{}) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
