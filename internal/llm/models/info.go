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
	ModeRegistry Mode = "registry" // tool_search and tool_invoke in place of them
	ModeNative   Mode = "native"   // every definition, held back until it is found
)

// The states of a model.
const (
	StatusReady = "Ready"
	StatusError = "Error"
)

// Info is what is known of a model that is declared. Its lists are not to be
// changed.
type Info struct {
	Name, From, Description string

	Status string // [StatusReady] or [StatusError]
	Error  string // why it was not loaded

	Tools          string // params.tools as declared
	Mode           Mode
	Reason         string   // of the mode, in one sentence
	Count          int      // tools in the model's set
	Advertised     []string // names of what the model is sent, sorted
	Pinned         []string // names of tools that are always sent, sorted
	EmbeddingModel string   // that tool_search compares by; "" when nothing is compared
	Datasets       []string // that its built-in tools may read, as declared; nil is all
}

// Call is the record of one chat.
type Call struct {
	Model, From string
	Report      toolloop.Report
	Err         error // nil when the answer is complete
	Took        time.Duration
	Scope       tools.Scope
}
