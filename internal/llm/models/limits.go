package models

import "time"

// Limits and defaults of a declaration.
const (
	// DefaultThreshold is the largest number of tools that `tools: auto` sends
	// directly; Spice's AUTO_SEARCH_TOOL_THRESHOLD.
	DefaultThreshold = 20
	// MaxPreselect is the largest preselect.
	MaxPreselect = 20
	// MaxRounds is the largest tool_recursion_limit.
	MaxRounds = 1000
	// MaxThreshold is the largest auto_threshold.
	MaxThreshold = 4096
	// MaxParallel is the largest tool_concurrency.
	MaxParallel = 256
	// MaxResultBytes is the largest tool_result_max_bytes.
	MaxResultBytes = 64 << 20
	// MaxImages is the largest tool_result_images and tool_result_pdfs: what Anthropic takes in a
	// request.
	MaxImages = 100
	// DefaultPDFs is the default of tool_result_pdfs for models of Anthropic and OpenAI.
	DefaultPDFs = 5
	// MaxTimeout is the largest timeout and idle_timeout.
	MaxTimeout = time.Hour
	// MaxSystemPrompt limits a system_prompt, in bytes.
	MaxSystemPrompt = 1 << 20
	// MaxTokens is the largest token limit of an answer.
	MaxTokens = 10_000_000
	// MaxListed limits the names listed in one message.
	MaxListed = 100
)
