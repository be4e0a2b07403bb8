package toolloop

import (
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/registry"
)

// Event is a piece of what a [Loop] yields: a delta of the answer, for the
// client, or a step of a call of one of the runtime's tools.
type Event struct {
	chat.Delta                 // Kind is 0 with Tool
	Tool       *registry.Event // nil with a delta
}
