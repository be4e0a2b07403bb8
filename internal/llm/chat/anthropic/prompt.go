package anthropic

import (
	"encoding/json"
	"slices"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/wire"
	"github.com/spiced-sql/spiced/tools"
)

// prompt collects the system blocks and messages of a request.
type prompt struct {
	writer
	system []json.RawMessage
	turns  []turn
}

// turn is one message of the request, made of one or more messages of the chat. Results
// of calls come first, as the API requires.
type turn struct {
	role    chat.Role
	raw     json.RawMessage // a client's message as written, unless merged
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

// message appends a message to the last turn if that has its role, else begins one.
// Results of calls are the user's.
func (p *prompt) message(m chat.Message, own bool) error {
	t := turn{role: m.Role, raw: m.Raw}
	if own && slices.ContainsFunc(m.Parts, unexplained) {
		if err := t.open(); err != nil {
			return err
		}
		for i, p := range slices.DeleteFunc(slices.Clone(m.Parts), func(p chat.Part) bool {
			return p.Kind != chat.PartResult
		}) {
			if i < len(t.results) && unexplained(p) {
				t.results[i] = explained(t.results[i])
			}
		}
	}
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

// merge appends the blocks of another message of the same role.
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

// open splits a client's message into blocks.
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

// unexplained reports whether a part is the result of a call that failed without a word, which
// the API refuses.
func unexplained(p chat.Part) bool {
	return p.Kind == chat.PartResult && p.Result.Error && !slices.ContainsFunc(p.Result.Parts, func(p chat.Part) bool {
		return p.Kind != chat.PartText || p.Text != ""
	})
}

// explained returns such a result of a client with a text.
func explained(raw json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return raw
	}
	fields["content"] = wire.Quote(chat.Unexplained)
	raw, _ = tools.Encode(fields) // it was decoded from JSON
	return raw
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
	raw, err := tools.Encode(block{Type: "text", Text: &text})
	return []json.RawMessage{raw}, err
}

// messages returns the turns as JSON.
func (p *prompt) messages() []json.RawMessage {
	var list []json.RawMessage
	for _, t := range p.turns {
		raw := t.raw
		if raw == nil {
			raw = slices.Concat(json.RawMessage(`{"role":"`+string(t.role)+`","content":`),
				wire.Join(slices.Concat(t.results, t.blocks)), json.RawMessage("}"))
		}
		list = append(list, raw)
	}
	return list
}

// userFirst moves the first user message to the front if the chat begins with calls of
// the assistant, which the runtime inserts: the API requires the user's message first.
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
