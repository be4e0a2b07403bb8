package openai

// Limits of the API, in addition to those of package chat.
const (
	// MaxStop limits the stop sequences.
	MaxStop = 64
	// MaxName limits the bytes of a tool name.
	MaxName = 128

	maxShown = 40 // bytes of a value in a message
)
