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

// memoryKey identifies a turn by one of the calls. It includes the owner so that no one
// finds another owner's turn by a call id.
type memoryKey struct{ owner, id string }

// turn is what the runtime did between a client's request and the answer that calls the
// client's tools.
type turn struct {
	after   [sha256.Size]byte // the fingerprint of the message that it followed
	before  []chat.Message    // earlier answers and their results
	answer  chat.Message      // the one with the client's calls, and others
	results []chat.Part       // of the runtime's calls
}

// stored is a turn in a memory.
type stored struct {
	turn turn
	keys []memoryKey
	used time.Time
}

// NewMemory returns an empty memory.
func NewMemory(l MemoryLimits) *Memory {
	m := &Memory{limits: l.effective(), first: map[memoryKey]memoryKey{}}
	m.turns = lru.New(m.limits.Entries, m.limits.Bytes, func(_ memoryKey, s *stored) {
		for _, key := range s.keys {
			delete(m.first, key)
		}
	})
	return m
}

// owner returns the owner of the turns of a scope. It includes the model, because
// another model cannot verify the turn's signatures.
func owner(s tools.Scope) string {
	return strings.Join([]string{s.Principal, s.UserID, s.SpaceID, s.Agent, s.Model}, "\x00")
}

// store adds a turn under the ids of the client's calls in it.
func (m *Memory) store(owner string, ids []string, t turn) {
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

// load returns the turn that has the call, if it is stored.
func (m *Memory) load(owner, id string) (turn, bool) {
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

// splice replaces what the client knows of stored turns with the whole turns, and
// reports whether there were any. It does not modify its argument.
func (m *Memory) splice(owner string, messages []chat.Message) ([]chat.Message, bool) {
	if m == nil {
		return messages, false
	}
	var spliced []chat.Message // nil: same as messages
	copied := 0                // messages copied into spliced
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

// assistants counts the leading assistant messages: some chat APIs send one answer as
// several.
func assistants(messages []chat.Message) int {
	n := slices.IndexFunc(messages, func(m chat.Message) bool { return m.Role != chat.RoleAssistant })
	if n < 0 {
		return len(messages)
	}
	return n
}

// find returns the turn whose answer is the n messages from i. They must follow the
// same message and have the same calls: ids alone do not suffice, as some servers count
// them from 0.
func (m *Memory) find(owner string, messages []chat.Message, i, n int) (turn, bool) {
	calls := callsOf(messages[i : i+n])
	if len(calls) == 0 {
		return turn{}, false
	}
	t, ok := m.load(owner, calls[0].ID)
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

// same reports whether two calls are equal. Clients re-encode arguments, and some write
// {} for empty ones.
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

// seen returns the answer without the calls of client tools that the client has
// dropped, which will get no result.
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
// messages[next:]: to its user message, for APIs that require all results in one, else
// in a message of their own before it.
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
