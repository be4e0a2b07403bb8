package upstream

import (
	"context"
	"errors"
	"iter"
	"net/http"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/memory"
	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// Decoder converts the events of one answer to deltas, which are valid until the next
// call.
type Decoder interface {
	// Event returns the deltas of an event; with an error they precede it. done means
	// that the answer is complete.
	Event(e Event) (deltas []chat.Delta, done bool, err error)
	// End returns the deltas of a stream that ends before it is done, or an error.
	End() ([]chat.Delta, error)
}

// Chat posts body to path and yields the deltas of the answer; see [Endpoint.Stream].
// An answer that exceeds [MaxArgumentBytes], [MaxCalls] or [MaxContentBytes] ends with
// an error.
func (e *Endpoint) Chat(ctx context.Context, path string, body []byte, header http.Header,
	d Decoder,
) iter.Seq2[chat.Delta, error] {
	return func(yield func(chat.Delta, error) bool) {
		var m meter
		pass := func(deltas []chat.Delta, err error) bool {
			if exceeded := m.add(deltas); exceeded != "" {
				yield(chat.Delta{}, e.Fail(errcode.StreamBroken, "%s", exceeded))
				return false
			}
			if short := m.take(ctx); errors.Is(short, memory.ErrShort) { // the end of ctx is noticed by the stream
				yield(chat.Delta{}, e.short())
				return false
			}
			for _, delta := range deltas {
				if !yield(delta, nil) {
					return false
				}
			}
			if err != nil {
				yield(chat.Delta{}, err)
			}
			return err == nil
		}
		for event, err := range e.Stream(ctx, path, body, header) {
			if err != nil {
				yield(chat.Delta{}, err)
				return
			}
			deltas, done, err := d.Event(event)
			if progress(deltas) {
				event.progressed()
			}
			if !pass(deltas, err) || done {
				return
			}
		}
		pass(d.End())
	}
}
