package responses

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat/wire"
	"github.com/spiced-sql/spiced/tools"
)

// outgoing returns an item to send, unchanged except for what servers reject; ok is
// false if it must be left out.
//
// Ids that we made are removed: with store: false OpenAI may look up an item by its id
// and fail. Reasoning of another provider is left out, as is reasoning with neither
// encrypted_content nor content.
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
		empty := written.Encrypted == "" &&
			(len(written.Content) == 0 || wire.IsNull(written.Content) || string(written.Content) == "[]")
		if empty || strings.HasPrefix(written.Encrypted, sealPrefix) {
			return nil, false
		}
	}
	if prefix := prefixes[written.Type]; prefix != "" && strings.HasPrefix(written.ID, prefix+ownMark) {
		return withID(item, ""), true
	}
	return item, true
}

// itemID returns the id of an item, "" if it has none.
func itemID(item json.RawMessage) string {
	var written struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(item, &written) != nil {
		return ""
	}
	return written.ID
}

// withID sets the id of an item; "" removes it. It returns nil if the item is not an
// object.
func withID(item json.RawMessage, id string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(item, &fields) != nil || fields == nil {
		return nil
	}
	delete(fields, "id")
	if id != "" {
		fields["id"] = wire.Quote(id)
	}
	changed, err := tools.Encode(fields)
	if err != nil {
		return nil
	}
	return changed
}
