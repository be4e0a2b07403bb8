package anthropic

import (
	"encoding/json"
	"slices"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// prompt is what a request has of system blocks and messages.
type prompt struct {
	writer
	system []json.RawMessage
	turns  []turn
}

// turn is one message of the request, made of one or more of the chat. Results
// of calls stand in front of the rest, as the API wants them.
type turn struct {
	role    chat.Role
	raw     json.RawMessage // a client's message as it was written, while it stands alone
	results []json.RawMessage
	blocks  []json.RawMessage
}

// messageForm is a message.
type messageForm struct {
	Role    chat.Role       `json:"role"`
	Content json.RawMessage `json:"content"`
}

func (p *prompt) add(messages []chat.Message) error {
	for _, m := range userFirst(messages) {
		own := m.Raw != nil && m.Form == chat.FormAnthropic
		if m.Role == chat.RoleSystem && !own {
			blocks, err := p.parts(m.Parts)
			if err != nil {
				return err
			}
			p.system = append(p.system, blocks...)
			continue
		}
		if err := p.message(m, own); err != nil {
			return err
		}
	}
	return nil
}

// message adds a message to the turn of its role, or begins one. Results of
// calls are the user's.
func (p *prompt) message(m chat.Message, own bool) error {
	t := turn{role: m.Role, raw: m.Raw}
	if m.Role == chat.RoleTool {
		t.role = chat.RoleUser
	}
	if !own {
		t.raw = nil
		blocks, err := p.parts(m.Parts)
		if err != nil || len(blocks) == 0 {
			return err
		}
		t.add(blocks)
	}
	if last := len(p.turns) - 1; last >= 0 && p.turns[last].role == t.role {
		return p.turns[last].merge(t)
	}
	p.turns = append(p.turns, t)
	return nil
}

func (t *turn) add(blocks []json.RawMessage) {
	for _, raw := range blocks {
		var b struct{ Type string }
		if json.Unmarshal(raw, &b) == nil && b.Type == "tool_result" {
			t.results = append(t.results, raw)
		} else {
			t.blocks = append(t.blocks, raw)
		}
	}
}

// merge adds another message of the role, block by block.
func (t *turn) merge(other turn) error {
	for _, side := range []*turn{t, &other} {
		if err := side.open(); err != nil {
			return err
		}
	}
	t.results = append(t.results, other.results...)
	t.blocks = append(t.blocks, other.blocks...)
	return nil
}

// open takes a client's message apart into its blocks.
func (t *turn) open() error {
	if t.raw == nil {
		return nil
	}
	var m messageForm
	if err := json.Unmarshal(t.raw, &m); err != nil {
		return err
	}
	t.raw = nil
	blocks, err := m.blocks()
	t.add(blocks)
	return err
}

func (m messageForm) blocks() (list []json.RawMessage, err error) {
	var text string
	if json.Unmarshal(m.Content, &text) != nil {
		err = json.Unmarshal(m.Content, &list)
		return list, err
	}
	if text == "" {
		return nil, nil
	}
	raw, err := encode(block{Type: "text", Text: &text})
	return []json.RawMessage{raw}, err
}

// messages are the turns as JSON.
func (p *prompt) messages() []json.RawMessage {
	var list []json.RawMessage
	for _, t := range p.turns {
		raw := t.raw
		if raw == nil {
			raw = slices.Concat(json.RawMessage(`{"role":"`+string(t.role)+`","content":`), join(slices.Concat(t.results, t.blocks)), json.RawMessage("}"))
		}
		list = append(list, raw)
	}
	return list
}

// userFirst moves the first user message to the front when the chat begins with
// calls of the assistant, which the runtime puts there: the API's chats begin
// with the user.
func userFirst(messages []chat.Message) []chat.Message {
	first := slices.IndexFunc(messages, func(m chat.Message) bool { return m.Role != chat.RoleSystem })
	if first < 0 || messages[first].Role != chat.RoleAssistant || len(messages[first].Calls()) == 0 {
		return messages
	}
	user := slices.IndexFunc(messages, func(m chat.Message) bool { return m.Role == chat.RoleUser && !hasResults(m) })
	if user < 0 {
		return messages
	}
	moved := slices.Delete(slices.Clone(messages), user, user+1)
	return slices.Insert(moved, first, messages[user])
}

func hasResults(m chat.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p chat.Part) bool { return p.Kind == chat.PartResult })
}
