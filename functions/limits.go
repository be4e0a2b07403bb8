package functions

import "time"

// Limits of one declaration and its tests. Exceeding one is a problem that names the
// limit.
const (
	// MaxBody is the size of a body in bytes.
	MaxBody = 256 << 10
	// MaxArgs is how many scalar arguments a function takes.
	MaxArgs = 64
	// MaxTables is how many table inputs a function takes.
	MaxTables = 16
	// MaxColumns is how many columns a table input or a table result has.
	MaxColumns = 1024
	// MaxTypeText is the size of a type's text in bytes.
	MaxTypeText = 16 << 10
	// MaxTypeDepth is how deep lists and structs nest in a type.
	MaxTypeDepth = 16
	// MaxExpansion is the number of calls of declared functions that one call may
	// expand to.
	MaxExpansion = 2000
	// MaxTests is how many tests a function has.
	MaxTests = 1000
	// MaxTestRows is how many rows the result of a test has.
	MaxTestRows = 1000
	// TestTimeout is how long one test may run.
	TestTimeout = 5 * time.Second
)
