package responses

import (
	"encoding/json"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/tools"
)

// EncodeResponse returns an answer that is not streamed: the object with which its
// stream would have ended.
func EncodeResponse(o EncoderOptions, r *chat.Response) ([]byte, error) {
	e := replay(o, r)
	status, _ := e.status()
	return tools.Encode(e.response(status))
}

// encodeItems returns the items of an answer.
func encodeItems(o EncoderOptions, r *chat.Response) []json.RawMessage {
	e := replay(o, r)
	items := make([]json.RawMessage, 0, len(e.output))
	for _, it := range e.output {
		if raw, err := tools.Encode(it.encode()); err == nil {
			items = append(items, raw)
		}
	}
	return items
}

// replay feeds the answer to an encoder without a writer.
func replay(o EncoderOptions, r *chat.Response) *encoder {
	e := newEncoder(nil, o)
	for i, p := range r.Parts {
		if i > 0 && p.Kind == chat.PartText && r.Parts[i-1].Kind == chat.PartText {
			e.closeOpen(statusCompleted) // text of another round
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

// replay writes a part. A call cut off by the token limit is marked incomplete so that
// no client runs it.
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

// details adds log probabilities and annotations to a text. With several texts it is
// unknown which one they belong to, and they are left out.
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
