package approval

import "time"

// Limits that no Spicepod changes.
const (
	// MaxArguments is the size of the arguments of a call that can be approved: a person has
	// to read them.
	MaxArguments = 64 << 10
	// MaxPlan is the size of a plan; a larger one is left out.
	MaxPlan = 16 << 10
	// MaxNote is the size of a note.
	MaxNote = 4 << 10
	// maxEnded is the number of approvals that are kept after they have ended.
	maxEnded = 1000
	// retainEnded is how long they are kept.
	retainEnded = 7 * 24 * time.Hour
	// maxBytes bounds the arguments and plans of all approvals.
	maxBytes = 16 << 20
	// maxJournal is the size at which the journal is rewritten.
	maxJournal = 64 << 20
	// maxFile is the size of a journal that is read: its last lines may exceed maxJournal.
	maxFile = 2 * maxJournal
)
