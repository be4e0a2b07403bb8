package anthropic

import (
	"bytes"
	"encoding/json"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/tools"
)

// mark marks the end of what the provider should cache: the last tool that is not
// deferred, as the API rejects a mark on a deferred one, and the last block of the
// system prompt. The client's marks count towards the limit of four. A client that sets
// a TTL gets no marks from us, because a longer TTL must not follow a shorter one.
func (c *composer) mark(list, system []json.RawMessage) {
	free := maxMarks
	if c.own() {
		client := c.clientMarks()
		if free -= client.count; client.lives {
			return
		}
	}
	if i := c.lastShown(); i >= 0 && free > 0 && !isMarked(list[i]) {
		list[i] = withField(list[i], ephemeral)
		free--
	}
	if i := len(system) - 1; i >= 0 && free > 0 && !isMarked(system[i]) {
		system[i] = withField(system[i], ephemeral)
	}
}

// ephemeral is a cache mark.
const ephemeral = `"cache_control":{"type":"ephemeral"}`

// lastShown returns the index of the last tool that is not deferred, or -1.
func (c *composer) lastShown() int {
	list := c.request.Tools
	for i := len(list) - 1; i >= 0; i-- {
		if !list[i].Deferred && !isDeferred(list[i]) {
			return i
		}
	}
	return -1
}

// isDeferred reports whether a hosted tool is deferred.
func isDeferred(t chat.Tool) bool {
	var f struct {
		Deferred bool `json:"defer_loading"`
	}
	return t.Hosted() && json.Unmarshal(t.Raw, &f) == nil && f.Deferred
}

// marks are the cache_control marks of a client.
type marks struct {
	count int
	lives bool // one has a TTL
}

func (c *composer) clientMarks() marks {
	var m marks
	if raw, ok := c.request.Extra["cache_control"]; ok && string(raw) != "null" {
		m.count++
		m.lives = bytes.Contains(raw, []byte(`"ttl"`))
	}
	for _, t := range c.request.Tools {
		m.find(t.Raw)
	}
	for _, message := range c.request.Messages {
		if message.Raw != nil {
			m.find(message.Raw)
			continue
		}
		for _, p := range message.Parts {
			m.find(p.Raw)
		}
	}
	return m
}

// find counts the marks in raw. It may count keys in the input of a call that are not
// marks; then ours are left out needlessly, and the request is still valid.
func (m *marks) find(raw json.RawMessage) {
	if !bytes.Contains(raw, []byte(`"cache_control"`)) {
		return
	}
	if value, err := tools.Decode(raw); err == nil {
		m.walk(value)
	}
}

func (m *marks) walk(value any) {
	switch v := value.(type) {
	case map[string]any:
		if mark, ok := v["cache_control"].(map[string]any); ok {
			m.count++
			m.lives = m.lives || mark["ttl"] != nil
		}
		for _, inner := range v {
			m.walk(inner)
		}
	case []any:
		for _, inner := range v {
			m.walk(inner)
		}
	}
}

func isMarked(raw json.RawMessage) bool {
	var f map[string]json.RawMessage
	if json.Unmarshal(raw, &f) != nil {
		return false
	}
	_, ok := f["cache_control"]
	return ok
}

// withField appends a field to a JSON object without changing its other bytes.
func withField(object json.RawMessage, field string) json.RawMessage {
	head := bytes.TrimRight(object, " \t\r\n")
	head = bytes.TrimRight(head[:max(0, len(head)-1)], " \t\r\n")
	out := append([]byte{}, head...)
	if !bytes.HasSuffix(head, []byte("{")) {
		out = append(out, ',')
	}
	return append(append(out, field...), '}')
}
