package upstream

import "time"

// Limits on the answers of a provider.
const (
	// MaxStreamBytes limits a whole stream.
	MaxStreamBytes = 256 << 20
	// MaxEventBytes limits one event, and an answer that is one JSON document.
	MaxEventBytes = 32 << 20
	// MaxArgumentBytes limits the arguments of one tool call.
	MaxArgumentBytes = 1 << 20
	// MaxCalls limits the tool calls of an answer.
	MaxCalls = 1024
	// MaxContentBytes limits the text of an answer, with thinking and other parts.
	MaxContentBytes = 16 << 20
	// MaxMessage is how much of a provider's message is shown.
	MaxMessage = 1 << 10
	// maxCode is how much of a provider's error code is shown.
	maxCode = 64
	// MaxRetries is the largest number of retries.
	MaxRetries = 10
)

// Defaults of [Options].
const (
	// DefaultTimeout is how long the headers of an answer may take; a server that has
	// to load its model first is slow.
	DefaultTimeout = 2 * time.Minute
	// DefaultIdleTimeout is how long a stream may be silent, as while a model thinks.
	DefaultIdleTimeout = 5 * time.Minute
	// IdleFactor is how many times the idle timeout a stream may be without content while
	// it has comments, pings and other events: Anthropic sends pings while a model thinks,
	// others comments while a request waits in a queue.
	IdleFactor = 3
	// DefaultRetries is that of the clients of OpenAI and Anthropic.
	DefaultRetries = 2
)

const (
	// maxConnections is how many idle connections to one host are kept open; each
	// HTTP/1.1 stream uses one.
	maxConnections = 512
	// maxHeadBytes limits the headers of an answer.
	maxHeadBytes = 256 << 10
	// readBytes is the size of a stream's read buffer.
	readBytes = 16 << 10
	// endGrace is how long to wait for the end of a stream after its last event, so
	// that its connection can be reused.
	endGrace = 100 * time.Millisecond
)
