package responses

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/tools"
)

// sealPrefix is the prefix of the encrypted_content that we write.
const sealPrefix = "spiced."

// sealed is another provider's thinking in the encrypted_content of a reasoning item,
// which clients send back unread. It is not encrypted: the provider verifies the
// signature within.
type sealed struct {
	Form chat.Form       `json:"form"`
	Raw  json.RawMessage `json:"raw"`
}

func seal(form chat.Form, raw json.RawMessage) string {
	text, err := tools.Encode(sealed{form, raw})
	if err != nil {
		return ""
	}
	return sealPrefix + base64.RawStdEncoding.EncodeToString(text)
}

func unseal(text string) (chat.Form, json.RawMessage, bool) {
	rest, ok := strings.CutPrefix(text, sealPrefix)
	if !ok {
		return "", nil, false
	}
	var s sealed
	raw, err := base64.RawStdEncoding.DecodeString(rest)
	if err != nil || json.Unmarshal(raw, &s) != nil || s.Raw == nil {
		return "", nil, false
	}
	return s.Form, s.Raw, true
}
