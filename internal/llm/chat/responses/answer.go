package responses

import (
	"encoding/json"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// EncodeResponse is an answer as a whole: the object that its stream would
// have ended with.
func EncodeResponse(o EncoderOptions, r *chat.Response) ([]byte, error) {
	e := replay(o, r)
	status, _ := e.status()
	return encode(e.response(status))
}

// encodeItems are the items of an answer.
func encodeItems(o EncoderOptions, r *chat.Response) []json.RawMessage {
	e := replay(o, r)
	items := make([]json.RawMessage, 0, len(e.output))
	for _, it := range e.output {
		if raw, err := encode(it.encode()); err == nil {
			items = append(items, raw)
		}
	}
	return items
}

// replay writes the answer with an encoder that has no writer.
func replay(o EncoderOptions, r *chat.Response) *encoder {
	e := newEncoder(nil, o)
	for i, p := range r.Parts {
		if i > 0 && p.Kind == chat.PartText && r.Parts[i-1].Kind == chat.PartText {
			e.closeOpen(statusCompleted) // the text of another round
		}
		e.replay(i, p, r.Reason)
		if p.Kind == chat.PartText {
			e.details(r)
		}
	}
	e.usage, e.reason = newUsage(r.Usage), r.Reason
	e.finish()
	return e
}

// replay writes a part. A call that the answer's limit has cut off is not
// complete: no client may take it for one.
func (e *encoder) replay(index int, p chat.Part, reason chat.Reason) {
	switch p.Kind {
	case chat.PartText:
		e.text(chat.Delta{Text: p.Text})
	case chat.PartRefusal:
		e.refusal(p.Text)
	case chat.PartCall:
		e.call(chat.Delta{Index: index, Call: p.Call})
		e.arguments(chat.Delta{Index: index, Text: p.Call.Arguments})
		if reason != chat.ReasonLength || json.Valid([]byte(p.Call.Arguments)) {
			e.callEnd(index)
		}
	case chat.PartThinking, chat.PartOther:
		e.part(&p)
	}
}

// details adds log probabilities and annotations to a text. With several texts
// nobody knows which they belong to, and they are left out.
func (e *encoder) details(r *chat.Response) {
	texts := 0
	for _, p := range r.Parts {
		if p.Kind == chat.PartText {
			texts++
		}
	}
	if texts != 1 {
		return
	}
	for _, d := range r.Raw {
		if d.Kind == chat.DeltaText {
			d.Text = ""
			e.text(d)
		}
	}
}
