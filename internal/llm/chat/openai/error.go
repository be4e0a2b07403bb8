package openai

import (
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/wire"
)

// EncodeError returns the body of an error response: {"error": {"message", "type",
// "param", "code"}}.
func EncodeError(e *chat.Error) []byte { return wire.NewError(e).Encode() }
