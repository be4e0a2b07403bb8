package models

import (
	"time"

	"github.com/spiced-sql/spiced/internal/llm/toolloop"
	"github.com/spiced-sql/spiced/tools"
)

// Mode is how a model gets the tools of the runtime.
type Mode string

// The modes.
const (
	ModeNone     Mode = "none"     // no tools
	ModeDirect   Mode = "direct"   // every definition
	ModeRegistry Mode = "registry" // tool_search and tool_invoke instead
	ModeNative   Mode = "native"   // every definition, deferred until a search finds it
)

// The states of a model.
const (
	StatusReady = "Ready"
	StatusError = "Error"
)

// Info describes a declared model. Its slices must not be modified.
type Info struct {
	Name, From, Description string

	Status string // [StatusReady] or [StatusError]
	Error  string // why it was not loaded

	Tools          string // params.tools as declared
	Mode           Mode
	Reason         string   // why this mode, in one sentence
	Count          int      // tools in the model's set
	Advertised     []string // names of the tools that the model is sent, sorted
	Pinned         []string // names of tools that are always sent, sorted
	EmbeddingModel string   // used by tool_search; "" if there is no semantic search
	Datasets       []string // that its built-in tools may read, as declared; nil: all
}

// Call is the record of one chat.
type Call struct {
	Model, From string
	Report      toolloop.Report
	Err         error // nil if the answer is complete
	Took        time.Duration
	Scope       tools.Scope
}
