package anthropic

import (
	"encoding/json"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/wire"
	"github.com/spiced-sql/spiced/internal/llm/upstream"
	"github.com/spiced-sql/spiced/tools"
)

// openBlock handles a content_block_start, which may have none, part or all of the
// block.
func (d *decoder) openBlock(index int, raw json.RawMessage) *failure {
	b := &piled{raw: raw}
	switch {
	case d.open[index] != nil:
		return broken("block %d begins twice", index)
	case d.blocks == maxBlocks:
		return broken("more than %d blocks", maxBlocks)
	case json.Unmarshal(raw, &b.block) != nil || b.Type == "":
		return broken("block %d begins without a type, or is invalid", index)
	}
	d.begin()
	if d.open == nil {
		d.open = map[int]*piled{}
	}
	d.open[index] = b
	d.blocks++
	return d.opened(b)
}

func (d *decoder) opened(b *piled) *failure {
	after := d.text
	d.text = b.Type == "text"
	switch b.Type {
	case "text":
		if after {
			d.border(b, nil)
		}
		d.say(b, value(b.Text))
		return d.cited(b)
	case "thinking":
		d.think(b, value(b.Thinking))
		b.signature.WriteString(value(b.Signature))
	case "tool_use":
		b.call = d.calls
		d.calls++
		if b.ID == "" || b.Name == "" {
			return broken("a call without an id or a name")
		}
		d.emit(chat.Delta{Kind: chat.DeltaCall, Index: b.call, Call: &chat.Call{ID: b.ID, Name: b.Name}})
	}
	return nil
}

// cited handles the citations that a text block begins with.
func (d *decoder) cited(b *piled) *failure {
	if len(b.Citations) > 0 && json.Unmarshal(b.Citations, &b.citations) != nil {
		return broken("citations are not a list")
	}
	return nil
}

func (d *decoder) say(b *piled, text string) {
	b.said.WriteString(text)
	if text != "" {
		d.emit(chat.Delta{Kind: chat.DeltaText, Text: text})
	}
}

func (d *decoder) think(b *piled, text string) {
	b.thinking.WriteString(text)
	if text != "" {
		d.emit(chat.Delta{Kind: chat.DeltaThinking, Text: text})
	}
}

// piece handles a content_block_delta.
func (d *decoder) piece(index int, raw json.RawMessage) *failure {
	b := d.open[index]
	if b == nil {
		return broken("a delta of block %d, which is not open", index)
	}
	var p piece
	if json.Unmarshal(raw, &p) != nil {
		return broken("an invalid delta of block %d", index)
	}
	switch p.Type {
	case "text_delta":
		d.say(b, p.Text)
	case "thinking_delta":
		d.think(b, p.Thinking)
	case "signature_delta":
		b.signature.WriteString(p.Signature)
		return d.store(len(p.Signature))
	case "citations_delta":
		b.citations = append(b.citations, p.Citation)
		return d.store(len(p.Citation))
	case "input_json_delta":
		b.input.WriteString(p.JSON)
		if b.Type == "tool_use" && p.JSON != "" {
			d.emit(chat.Delta{Kind: chat.DeltaArguments, Index: b.call, Text: p.JSON})
		}
		if b.input.Len() > upstream.MaxArgumentBytes {
			return &failure{code: errcode.StreamBroken, format: upstream.ArgumentsExceeded}
		}
	}
	return nil
}

// store counts bytes of signatures and citations.
func (d *decoder) store(n int) *failure {
	if d.stored += n; d.stored > upstream.MaxContentBytes {
		return &failure{code: errcode.StreamBroken, format: upstream.ContentExceeded}
	}
	return nil
}

// closeBlock handles a content_block_stop.
func (d *decoder) closeBlock(index int) *failure {
	b := d.open[index]
	if b == nil {
		return broken("the end of block %d, which is not open", index)
	}
	delete(d.open, index)
	switch b.Type {
	case "text":
		if len(b.citations) > 0 {
			d.border(b, b.citations)
			d.text = false
		}
	case "tool_use":
		d.endCall(b)
	case "thinking":
		text, signature := b.thinking.String(), b.signature.String()
		return d.part(chat.PartThinking, text, block{Type: "thinking", Thinking: &text, Signature: &signature})
	case "redacted_thinking":
		return d.part(chat.PartThinking, "", b.raw)
	default:
		return d.foreign(b)
	}
	return nil
}

// border emits the end of a text block, or its beginning after another one, as
// [textBorder] decodes it.
func (d *decoder) border(b *piled, citations []json.RawMessage) {
	said := ""
	if citations != nil {
		said = b.said.String()
	}
	form := block{Type: "text", Text: &said}
	if citations != nil {
		form.Citations = wire.Join(citations)
	}
	if raw, err := tools.Encode(form); err == nil {
		d.emit(chat.Delta{Kind: chat.DeltaText, Raw: raw, Form: chat.FormAnthropic})
	}
}

// endCall completes a call: without deltas, its arguments are those of the start.
func (d *decoder) endCall(b *piled) {
	if b.input.Len() == 0 {
		input := "{}"
		if len(b.Input) > 0 {
			input = string(b.Input)
		}
		d.emit(chat.Delta{Kind: chat.DeltaArguments, Index: b.call, Text: input})
	}
	d.emit(chat.Delta{Kind: chat.DeltaCallEnd, Index: b.call})
}

// foreign handles a block of a hosted tool.
func (d *decoder) foreign(b *piled) *failure {
	if b.input.Len() == 0 {
		return d.part(chat.PartOther, "", b.raw)
	}
	var f map[string]json.RawMessage
	if json.Unmarshal(b.raw, &f) != nil || !json.Valid([]byte(b.input.String())) {
		return broken("the input of a block of type %q is not JSON", b.Type)
	}
	f["input"] = json.RawMessage(b.input.String())
	return d.part(chat.PartOther, "", f)
}

// part emits a block for the history.
func (d *decoder) part(kind chat.PartKind, text string, form any) *failure {
	raw, err := tools.Encode(form)
	if err != nil {
		return broken("a block is not JSON")
	}
	d.emit(chat.Delta{Kind: chat.DeltaPart, Part: &chat.Part{Kind: kind, Text: text, Raw: raw, Form: chat.FormAnthropic}})
	return nil
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
