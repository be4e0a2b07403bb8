package models

import "time"

// Limits on what a declaration may ask for.
const (
	// DefaultThreshold is up to how many tools `tools: auto` sends as they
	// are; Spice's AUTO_SEARCH_TOOL_THRESHOLD.
	DefaultThreshold = 20
	// DefaultRounds is tool_recursion_limit where a model says nothing.
	DefaultRounds = 10
	// MaxRounds is the largest tool_recursion_limit.
	MaxRounds = 1000
	// MaxThreshold is the largest auto_threshold.
	MaxThreshold = 4096
	// MaxParallel is the largest tool_concurrency.
	MaxParallel = 256
	// MaxResultBytes is the largest tool_result_max_bytes.
	MaxResultBytes = 64 << 20
	// MaxTimeout is the largest timeout and idle_timeout.
	MaxTimeout = time.Hour
	// MaxSystemPrompt is the size of a system_prompt in bytes.
	MaxSystemPrompt = 1 << 20
	// MaxTokens is the largest number of tokens that a model may be told to
	// answer with.
	MaxTokens = 10_000_000
	// MaxListed is how many names one message lists.
	MaxListed = 100
)
