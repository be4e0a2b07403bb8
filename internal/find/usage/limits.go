package usage

import "time"

// Limits of one record, in bytes of text. Longer texts are shortened.
const (
	// MaxName limits a tool, owner, caller or source.
	MaxName = 200
	// MaxID limits an identifier.
	MaxID = 128
	// MaxWord limits a surface, mode or error code.
	MaxWord = 64
	// MaxEventText limits a task, arguments or a result of an event.
	MaxEventText = 1024
	// MaxText limits a query or an error.
	MaxText = 500
	// MaxSearchTools is how many tools of a search are stored and counted.
	MaxSearchTools = 64
)

// Limits of all records.
const (
	// MaxTools is how many tools have totals; further ones share those of [Other].
	MaxTools = 20_000
	// MaxRetained is the largest value of Options.Calls, Searches and Keys.
	MaxRetained = 1_000_000
	// MaxDays is the largest value of Options.Days.
	MaxDays = 3660
	// ChosenWithin is how long after a search a call counts as its outcome.
	ChosenWithin = 10 * time.Minute
	// PairedWithin is among how many calls after a search one makes a [Pair].
	PairedWithin = 5
	// MaxPairsOfTool is how many pairs a tool has in one space.
	MaxPairsOfTool = 64
	// MaxPairs is how many pairs there are.
	MaxPairs = 10_000
)

// maxLastSearches is how many searches of a client a call can follow.
const maxLastSearches = 4

// Other replaces callers, owners and tools beyond a limit.
const Other = "(other)"

// rowsAtOnce is how many rows are copied under the lock.
const rowsAtOnce = 500

// Limits of the files.
const (
	maxJournal = 16 << 20 // bytes; then a snapshot is taken
	maxRecord  = maxJournal
	maxChanges = 10_000 // rows of counts in one record; then a snapshot is taken
	// of each kind in one record of a snapshot: far below maxRecord, however long their texts
	snapshotItems = 100
	maxRestored   = 4 * MaxRetained // rows of counts read from the files
	maxRetryPause = time.Minute
)
