package upstream

import (
	"context"
	"fmt"

	"github.com/spiced-sql/spiced/internal/kit/memory"
	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// Messages of answers that exceed a limit.
var (
	CallsExceeded     = fmt.Sprintf("the provider's answer is too large: it has more than %d tool calls", MaxCalls)
	ArgumentsExceeded = fmt.Sprintf("the provider's answer is too large: the arguments of a tool call exceed %d MiB",
		MaxArgumentBytes>>20)
	ContentExceeded = fmt.Sprintf("the provider's answer is too large: its text exceeds %d MiB", MaxContentBytes>>20)
)

// meter adds up what an answer has so far, to bound it: a provider may stream without
// end, and every reader of the deltas stores them.
type meter struct {
	content   int
	calls     int
	arguments map[int]int // bytes, by index of the call
	owed      int64       // bytes for which no memory is taken yet
}

// add counts deltas and returns a message if the answer exceeds a limit, or "".
func (m *meter) add(deltas []chat.Delta) (exceeded string) {
	for _, d := range deltas {
		m.owed += int64(len(d.Text))
		switch d.Kind {
		case chat.DeltaCall:
			m.calls++
		case chat.DeltaArguments:
			if m.arguments == nil {
				m.arguments = map[int]int{}
			}
			if m.arguments[d.Index] += len(d.Text); m.arguments[d.Index] > MaxArgumentBytes {
				return ArgumentsExceeded
			}
		case chat.DeltaPart:
			m.content += len(d.Part.Text) + len(d.Part.Raw)
			m.owed += int64(len(d.Part.Text) + len(d.Part.Raw))
		case chat.DeltaText, chat.DeltaThinking, chat.DeltaRefusal:
			m.content += len(d.Text)
		}
	}
	switch {
	case m.calls > MaxCalls:
		return CallsExceeded
	case m.content > MaxContentBytes:
		return ContentExceeded
	}
	return ""
}

// take takes memory for what was counted: see package memory.
func (m *meter) take(ctx context.Context) error {
	if m.owed < memory.Free {
		return nil
	}
	owed := m.owed
	m.owed = 0
	return memory.Take(ctx, owed)
}

// progress reports whether deltas have more than usage.
func progress(deltas []chat.Delta) bool {
	for _, d := range deltas {
		if d.Kind != chat.DeltaUsage {
			return true
		}
	}
	return false
}
