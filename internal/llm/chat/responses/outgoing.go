package responses

import (
	"bytes"
	"encoding/json"
	"strings"
)

// outgoing is an item as it goes to a server, unchanged but for two things
// that servers refuse; ok is false when it is left out.
//
// An id that we made is taken off: with store: false OpenAI may look for an
// item by its id and not find it. Reasoning goes only to those who can read
// it: not another provider's, and none that has neither encrypted_content nor
// content.
func outgoing(item json.RawMessage) (sent json.RawMessage, ok bool) {
	if !bytes.Contains(item, []byte(ownMark)) && !bytes.Contains(item, []byte(itemReasoning)) {
		return item, true
	}
	var written struct {
		ID        string          `json:"id"`
		Type      string          `json:"type"`
		Encrypted string          `json:"encrypted_content"`
		Content   json.RawMessage `json:"content"`
	}
	if json.Unmarshal(item, &written) != nil {
		return item, true
	}
	if written.Type == itemReasoning {
		empty := written.Encrypted == "" && (len(written.Content) == 0 || isNull(written.Content) || string(written.Content) == "[]")
		if empty || strings.HasPrefix(written.Encrypted, sealPrefix) {
			return nil, false
		}
	}
	if prefix := prefixes[written.Type]; prefix != "" && strings.HasPrefix(written.ID, prefix+ownMark) {
		return withID(item, ""), true
	}
	return item, true
}

// itemID is the id of an item, "" when it has none.
func itemID(item json.RawMessage) string {
	var written struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(item, &written) != nil {
		return ""
	}
	return written.ID
}

// withID gives an item another id, "" takes it off. It returns nil for what is
// no object.
func withID(item json.RawMessage, id string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(item, &fields) != nil || fields == nil {
		return nil
	}
	delete(fields, "id")
	if id != "" {
		fields["id"] = quote(id)
	}
	changed, err := encode(fields)
	if err != nil {
		return nil
	}
	return changed
}
