package usage

import "time"

// Bounds on what is kept of one record, in bytes of text. What is longer is
// cut.
const (
	// MaxName is the length of a tool, owner, caller or source.
	MaxName = 200
	// MaxID is the length of an identifier.
	MaxID = 128
	// MaxWord is the length of a surface, mode or error code.
	MaxWord = 64
	// MaxText is the length of a query or an error.
	MaxText = 500
	// MaxSearchTools is how many tools of a search are kept and counted.
	MaxSearchTools = 64
)

// Bounds on what is kept of all records.
const (
	// MaxTools is how many tools have totals; more share those of [Other].
	MaxTools = 20_000
	// MaxKept is the largest value of Options.Calls, Searches and Keys.
	MaxKept = 1_000_000
	// MaxDays is the largest value of Options.Days.
	MaxDays = 3660
	// ChosenWithin is how long after a search a call counts as its outcome.
	ChosenWithin = 10 * time.Minute
)

// Other stands for the callers, owners and tools that had no room.
const Other = "(other)"

// rowsAtOnce is how many rows are copied while calls wait.
const rowsAtOnce = 500

// Bounds on the files.
const (
	maxJournal    = 16 << 20 // bytes; then a snapshot is taken
	maxRecord     = maxJournal
	maxChanges    = 10_000      // rows of counts in one record; then a snapshot is taken
	snapshotItems = 100         // of each kind in one record of a snapshot: far from maxRecord, however long their texts
	maxRestored   = 4 * MaxKept // rows of counts that are read from the files
	maxRetryPause = time.Minute
)
