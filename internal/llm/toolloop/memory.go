package toolloop

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/lru"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/tools"
)

// Memory stores the parts of turns that clients do not see, for turns that
// ended with calls of the client's tools, until the client returns the results.
// It is bounded: the least recently used turns are evicted first, and a chat
// whose turn was evicted continues with what its client sent. It is safe for
// concurrent use.
type Memory struct {
	limits MemoryLimits

	mu    sync.Mutex
	turns *lru.Cache[memoryKey, *stored] // by the first call
	first map[memoryKey]memoryKey        // of the turn that has the call
}

// memoryKey finds a turn by one of its calls. The owner is in it so that
// nobody finds a turn of another by a call's id.
type memoryKey struct{ owner, id string }

// turn is what the runtime did between a client's request and the answer that
// calls the client's tools.
type turn struct {
	after   [sha256.Size]byte // the fingerprint of the message that it followed
	before  []chat.Message    // earlier answers and their results
	answer  chat.Message      // the one with the client's calls, and others
	results []chat.Part       // of the others
}

// stored is a turn in a memory.
type stored struct {
	turn turn
	keys []memoryKey
	used time.Time
}

// NewMemory makes an empty memory.
func NewMemory(l MemoryLimits) *Memory {
	m := &Memory{limits: l.effective(), first: map[memoryKey]memoryKey{}}
	m.turns = lru.New(m.limits.Entries, m.limits.Bytes, func(_ memoryKey, s *stored) {
		for _, key := range s.keys {
			delete(m.first, key)
		}
	})
	return m
}

// owner is whose turns a scope finds. Another model could not read the turn's
// signatures.
func owner(s tools.Scope) string {
	return strings.Join([]string{s.Principal, s.UserID, s.SpaceID, s.Agent, s.Model}, "\x00")
}

// keep stores a turn under the ids of the client's calls in it.
func (m *Memory) keep(owner string, ids []string, t turn) {
	if m == nil || len(ids) == 0 {
		return
	}
	size := t.size()
	if size > m.limits.Bytes {
		return
	}
	s := &stored{turn: t, used: time.Now()}
	for _, id := range ids {
		s.keys = append(s.keys, memoryKey{owner, id})
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expire()
	for _, key := range s.keys {
		m.turns.Delete(m.first[key])
	}
	for _, key := range s.keys {
		m.first[key] = s.keys[0]
	}
	m.turns.Put(s.keys[0], s, size)
}

// expire removes the turns that were not used for too long.
func (m *Memory) expire() {
	for {
		key, s, ok := m.turns.Oldest()
		if !ok || time.Since(s.used) <= m.limits.Age {
			return
		}
		m.turns.Delete(key)
	}
}

// recall returns the turn that has the call, if it is stored.
func (m *Memory) recall(owner, id string) (turn, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expire()
	s, ok := m.turns.Get(m.first[memoryKey{owner, id}])
	if !ok {
		return turn{}, false
	}
	s.used = time.Now()
	return s.turn, true
}

// splice puts the remembered turns of the owner in place of what their client
// knows of them, and reports whether there was one. The messages that it is
// given do not change.
func (m *Memory) splice(owner string, messages []chat.Message) ([]chat.Message, bool) {
	if m == nil {
		return messages, false
	}
	var spliced []chat.Message // nil: as messages
	copied := 0                // of messages into spliced
	for i := 0; i < len(messages); {
		n := assistants(messages[i:])
		if t, ok := m.find(owner, messages, i, n); ok {
			spliced = append(spliced, messages[copied:i]...)
			spliced = append(spliced, t.before...)
			spliced = append(spliced, t.seen(messages[i:i+n]))
			copied = i + n
			spliced, copied = t.withResults(spliced, messages, copied)
		}
		i += max(n, 1)
	}
	if spliced == nil {
		return messages, false
	}
	return append(spliced, messages[copied:]...), true
}

// assistants counts the assistant's messages at the beginning: a form may give
// an answer as several.
func assistants(messages []chat.Message) int {
	n := slices.IndexFunc(messages, func(m chat.Message) bool { return m.Role != chat.RoleAssistant })
	if n < 0 {
		return len(messages)
	}
	return n
}

// find is the turn whose answer the n messages from i are. They must stand
// where it stood and have its calls: ids alone do not tell, as some servers
// count them from 0.
func (m *Memory) find(owner string, messages []chat.Message, i, n int) (turn, bool) {
	calls := callsOf(messages[i : i+n])
	if len(calls) == 0 {
		return turn{}, false
	}
	t, ok := m.recall(owner, calls[0].ID)
	if !ok || t.after != lastFingerprint(messages[:i]) {
		return turn{}, false
	}
	known := t.answer.Calls()
	for _, c := range calls {
		if !slices.ContainsFunc(known, func(k *chat.Call) bool { return same(c, k) }) {
			return turn{}, false
		}
	}
	return t, true
}

func callsOf(messages []chat.Message) []*chat.Call {
	var calls []*chat.Call
	for _, m := range messages {
		calls = append(calls, m.Calls()...)
	}
	return calls
}

// same reports whether two calls are one. Clients write arguments anew, and
// some write {} for none.
func same(a, b *chat.Call) bool {
	return a.ID == b.ID && a.Name == b.Name && canonical(a.Arguments) == canonical(b.Arguments)
}

func canonical(arguments string) string {
	c, err := tools.Canonical([]byte(cmp.Or(arguments, "{}")))
	if err != nil {
		return arguments
	}
	return string(c)
}

// seen is the answer with those calls of the client's tools that the client
// still has: it may have dropped some, which will get no result.
func (t turn) seen(client []chat.Message) chat.Message {
	has := map[string]bool{}
	for _, c := range callsOf(client) {
		has[c.ID] = true
	}
	for _, p := range t.results {
		has[p.Result.ID] = true
	}
	answer := t.answer
	answer.Parts = slices.DeleteFunc(slices.Clone(answer.Parts), func(p chat.Part) bool {
		return p.Kind == chat.PartCall && !has[p.Call.ID]
	})
	return answer
}

// withResults adds the runtime's results to those that the client sends in
// messages[next:]: in its message when that is the user's, which must be one
// for the forms that have them there, else in one before.
func (t turn) withResults(spliced, messages []chat.Message, next int) ([]chat.Message, int) {
	if len(t.results) == 0 {
		return spliced, next
	}
	if next < len(messages) && messages[next].Role == chat.RoleUser && hasResult(messages[next]) {
		m := messages[next]
		m.Parts, m.Raw = slices.Concat(t.results, m.Parts), nil
		return append(spliced, m), next + 1
	}
	return append(spliced, chat.Message{Role: chat.RoleTool, Parts: t.results}), next
}

func hasResult(m chat.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p chat.Part) bool { return p.Kind == chat.PartResult })
}
