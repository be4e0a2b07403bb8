package toolloop

import (
	"cmp"
	"time"
)

// Limits bounds a chat. A zero field means its default.
type Limits struct {
	Rounds        int // answers whose calls are made; negative: 0
	Calls         int // of runtime tools in one answer
	Parallel      int // calls running at once
	ResultBytes   int // of one result as shown to the model
	ArgumentBytes int // of one call
	Images        int // of a chat, above which those of results are left out; negative: 0
	PDFs          int // as Images; 0: none, since many providers refuse them
}

// The default limits of a chat. DefaultRounds is that of Spice's tool_recursion_limit.
const (
	DefaultRounds        = 10
	DefaultCalls         = 128
	DefaultParallel      = 8
	DefaultResultBytes   = 64 << 10
	DefaultArgumentBytes = 1 << 20
	DefaultImages        = 20 // above, Anthropic takes smaller images only
)

const (
	maxBegun   = 4096     // calls in one answer, made or refused
	maxAnswer  = 64 << 20 // bytes of an answer stored in the history
	maxPreview = 4 << 10  // bytes of the preview of a large result
	maxName    = 100      // bytes of an invented tool name in a message
	buffered   = 32       // deltas between the provider, the loop and a slow client
)

func (l Limits) effective() Limits {
	return Limits{
		Rounds:        max(0, cmp.Or(l.Rounds, DefaultRounds)),
		Calls:         positive(l.Calls, DefaultCalls),
		Parallel:      positive(l.Parallel, DefaultParallel),
		ResultBytes:   positive(l.ResultBytes, DefaultResultBytes),
		ArgumentBytes: positive(l.ArgumentBytes, DefaultArgumentBytes),
		Images:        max(0, cmp.Or(l.Images, DefaultImages)),
		PDFs:          l.PDFs,
	}
}

// MemoryLimits bounds a [Memory]. A zero field means its default.
type MemoryLimits struct {
	Entries int           // turns
	Bytes   int64         // of all turns
	Age     time.Duration // since a turn was last used
}

// The default limits of a memory.
const (
	DefaultMemoryEntries = 10_000
	DefaultMemoryBytes   = 64 << 20
	DefaultMemoryAge     = time.Hour
)

func (l MemoryLimits) effective() MemoryLimits {
	return MemoryLimits{
		Entries: positive(l.Entries, DefaultMemoryEntries),
		Bytes:   positive(l.Bytes, DefaultMemoryBytes),
		Age:     positive(l.Age, DefaultMemoryAge),
	}
}

func positive[T int | int64 | time.Duration](value, otherwise T) T {
	if value > 0 {
		return value
	}
	return otherwise
}
