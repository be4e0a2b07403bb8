package upstream

import "time"

// Limits on what a provider may answer.
const (
	// MaxStreamBytes is the size of a whole stream.
	MaxStreamBytes = 256 << 20
	// MaxEventBytes is the size of one event, and of an answer that is one
	// JSON document.
	MaxEventBytes = 32 << 20
	// MaxErrorBytes is how much of a refusal is read.
	MaxErrorBytes = 64 << 10
	// MaxMessage is how much of a provider's message is shown.
	MaxMessage = 1 << 10
	// maxCode is how much of its code is.
	maxCode = 64
	// MaxRetryAfter is the longest wait that a provider may ask for. A request
	// whose provider asks for more fails at once.
	MaxRetryAfter = time.Minute
	// MaxRetries is how often a request is sent again at most.
	MaxRetries = 10
)

// What options leave open.
const (
	// DefaultTimeout is how long the head of an answer may take; a server that
	// has to load its model first is slow.
	DefaultTimeout = 2 * time.Minute
	// DefaultIdleTimeout is how long a stream may be silent; a model that
	// thinks is.
	DefaultIdleTimeout = 5 * time.Minute
	// DefaultRetries is what OpenAI's and Anthropic's own clients do.
	DefaultRetries = 2
)

const (
	// maxConnections is how many connections to one host are kept for the next
	// requests; each stream of HTTP/1.1 holds one.
	maxConnections = 512
	// maxHeadBytes is the size of an answer's head.
	maxHeadBytes = 256 << 10
	// readBytes is what a stream buffers.
	readBytes = 16 << 10
	// endGrace is how long the end of a stream is awaited after its last
	// event. A connection whose stream has ended can be used again.
	endGrace = 100 * time.Millisecond
)
