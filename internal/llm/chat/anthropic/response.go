package anthropic

import (
	"encoding/json"
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/wire"
	"github.com/spiced-sql/spiced/tools"
)

// responseForm is an answer that is not streamed, and the beginning of a stream.
type responseForm struct {
	ID         string            `json:"id"`
	Type       string            `json:"type"`
	Role       string            `json:"role"`
	Model      string            `json:"model"`
	Content    []json.RawMessage `json:"content"`
	StopReason *string           `json:"stop_reason"`
	StopText   *string           `json:"stop_sequence"`
	Details    json.RawMessage   `json:"stop_details,omitempty"`
	Usage      usage             `json:"usage"`
}

func (o EncoderOptions) response() responseForm {
	return responseForm{ID: o.ID, Type: "message", Role: "assistant", Model: o.Model, Content: []json.RawMessage{}}
}

// EncodeResponse returns the body of an answer that is not streamed. A call whose
// arguments are not an object, as when cut off by max_tokens, is sent with {}.
func EncodeResponse(o EncoderOptions, r *chat.Response) ([]byte, error) {
	form := o.response()
	form.Usage = usageOf(r.Usage)
	borders, finish := ownWords(r)
	for _, p := range r.Parts {
		blocks, err := answerBlocks(p, &borders)
		if err != nil {
			return nil, err
		}
		form.Content = append(form.Content, blocks...)
	}
	raw, err := tools.Encode(finishOf(finish))
	if err != nil {
		return nil, err
	}
	var end struct {
		finishForm
		Details json.RawMessage `json:"stop_details"`
	}
	if err := json.Unmarshal(raw, &end); err != nil {
		return nil, err
	}
	form.StopReason, form.StopText, form.Details = end.StopReason, end.StopText, end.Details
	return tools.Encode(form)
}

// ownWords returns what a provider of this API sent in addition to the parts: the ends
// of text blocks with citations, and the end of the answer.
func ownWords(r *chat.Response) (borders []border, finish chat.Delta) {
	finish = chat.Delta{Kind: chat.DeltaFinish, Reason: r.Reason}
	for _, d := range r.Raw {
		if d.Form != chat.FormAnthropic {
			continue
		}
		switch d.Kind {
		case chat.DeltaText:
			if b := textBorder(d.Raw); b.text != "" && len(b.citations) > 0 {
				borders = append(borders, b)
			}
		case chat.DeltaFinish:
			finish.Raw, finish.Form = d.Raw, d.Form
		}
	}
	return borders, finish
}

// answerBlocks returns the blocks of a part.
func answerBlocks(p chat.Part, borders *[]border) ([]json.RawMessage, error) {
	form := block{}
	switch {
	case ownRaw(p) != nil:
		return []json.RawMessage{p.Raw}, nil
	case p.Kind == chat.PartText || p.Kind == chat.PartRefusal:
		return textBlocks(p.Text, borders)
	case p.Kind == chat.PartThinking && p.Text != "":
		unsigned := ""
		form = block{Type: "thinking", Thinking: &p.Text, Signature: &unsigned}
	case p.Kind == chat.PartCall:
		form = callBlock(*p.Call)
		form.ID, form.Name = p.Call.ID, p.Call.Name
	default:
		return nil, nil
	}
	raw, err := tools.Encode(form)
	return []json.RawMessage{raw}, err
}

// textBlocks returns text as blocks, one for each part with citations.
func textBlocks(text string, borders *[]border) (blocks []json.RawMessage, err error) {
	add := func(text string, citations []json.RawMessage) {
		if text == "" || err != nil {
			return
		}
		form := block{Type: "text", Text: &text}
		if citations != nil {
			form.Citations = wire.Join(citations)
		}
		var raw json.RawMessage
		raw, err = tools.Encode(form)
		blocks = append(blocks, raw)
	}
	for len(*borders) > 0 {
		b := (*borders)[0]
		before, after, found := strings.Cut(text, b.text)
		if !found {
			break
		}
		add(before, nil)
		add(b.text, b.citations)
		text, *borders = after, (*borders)[1:]
	}
	add(text, nil)
	return blocks, err
}

// errorForm is an error.
type errorForm struct {
	Type  string    `json:"type"`
	Error wireError `json:"error"`
}

func errorOf(e *chat.Error) errorForm {
	kind, ok := errorTypes[e.Code]
	if !ok {
		kind = "api_error"
	}
	return errorForm{"error", wireError{kind, e.Message}}
}

// EncodeError returns the body of an error response.
func EncodeError(e *chat.Error) []byte {
	raw, _ := tools.Encode(errorOf(e)) // encoding strings cannot fail
	return raw
}
