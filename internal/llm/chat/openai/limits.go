package openai

// Limits of the form, beside those of package chat.
const (
	// MaxCalls is how many calls one answer may hold.
	MaxCalls = 1024
	// MaxStop is how many texts may stop an answer.
	MaxStop = 64
	// MaxName is the length of a tool's name.
	MaxName = 128

	maxShown = 40 // bytes of a value in a message
)
