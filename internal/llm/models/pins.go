package models

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/lru"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/toolloop"
	"github.com/spiced-sql/spiced/tools"
)

// Limits of pins.
const (
	maxPins     = 50_000    // sessions; the one that was used least recently is forgotten
	maxPinBytes = 128 << 20 // bytes of different lists
)

// Pins are the lists of tools that sessions began with. A session of a model keeps its list
// while the Spicepod changes, so that prompts keep their beginning and models call tools as
// they were described to them. Equal lists are stored once. It is safe for concurrent use;
// nil pins nothing.
type Pins struct {
	now func() time.Time

	mu       sync.Mutex
	sessions *lru.Cache[string, *pin]
	lists    map[[sha256.Size]byte]*pinnedList
	bytes    int64 // of the lists
}

// pin is the list of one session.
type pin struct {
	list *pinnedList
	used time.Time
}

type pinnedList struct {
	sum   [sha256.Size]byte
	tools []toolloop.Tool
	bytes int64
	pins  int // sessions with the list
}

// NewPins returns pins without sessions.
func NewPins() *Pins {
	p := &Pins{now: time.Now, lists: map[[sha256.Size]byte]*pinnedList{}}
	p.sessions = lru.New(maxPins, maxPins, p.removed)
	return p
}

// removed is called with the lock held.
func (p *Pins) removed(_ string, x *pin) {
	if x.list.pins--; x.list.pins == 0 {
		delete(p.lists, x.list.sum)
		p.bytes -= x.list.bytes
	}
}

// list returns the list of a session, which is now unless it has one that was used within
// the idle time. A list that is not complete is not pinned.
func (p *Pins) list(session string, idle time.Duration, now []toolloop.Tool, complete bool) []toolloop.Tool {
	at := p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if x, ok := p.sessions.Get(session); ok {
		if at.Sub(x.used) <= idle {
			x.used = at
			return x.list.tools
		}
		p.sessions.Delete(session)
	}
	if !complete {
		return now
	}
	list := p.intern(now)
	p.sessions.Put(session, &pin{list, at}, 1)
	for p.bytes > maxPinBytes {
		oldest, _, ok := p.sessions.Oldest()
		if !ok {
			break
		}
		p.sessions.Delete(oldest)
	}
	return now
}

// find returns the list of a session, if it has one that was used within the idle time.
func (p *Pins) find(session string, idle time.Duration) (list []toolloop.Tool, known bool) {
	at := p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	x, ok := p.sessions.Get(session)
	if !ok || at.Sub(x.used) > idle {
		return nil, false
	}
	x.used = at
	return x.list.tools, true
}

// intern returns the stored list that is equal, for one more session.
func (p *Pins) intern(list []toolloop.Tool) *pinnedList {
	h, size := sha256.New(), int64(0)
	for _, t := range list {
		fmt.Fprintf(h, "%q %q %d:%s %v %q %q\n", t.Name, t.Text(), len(t.Parameters), t.Parameters, t.Deferred,
			t.Namespace, t.Names)
		size += int64(len(t.Name) + len(t.Text()) + len(t.Parameters))
	}
	x := &pinnedList{tools: list, bytes: size}
	h.Sum(x.sum[:0])
	if known := p.lists[x.sum]; known != nil {
		x = known
	} else {
		p.lists[x.sum] = x
		p.bytes += size
	}
	x.pins++
	return x
}

// sessionOf identifies the session of a request with a model; "": none.
func (m *Model) sessionOf(r *chat.Request, scope tools.Scope) string {
	if r.Session == "" || m.opts.Pins == nil || m.opts.SessionPin <= 0 {
		return ""
	}
	return strings.Join([]string{scope.Owner(), m.info.Name, r.Session}, "\x00")
}

// pinned returns the tools that a chat offers: those that the session of the request began
// with that still exist and are available to the caller, or else the current ones, and those
// that are preselected for the conversation. gone says what became of the others.
func (m *Model) pinned(ctx context.Context, r *chat.Request, scope tools.Scope) (
	list []toolloop.Tool, gone func(name string) string,
) {
	full, current := m.offered(scope)
	first := current
	if session := m.sessionOf(r, scope); session != "" {
		first = m.opts.Pins.list(session, m.opts.SessionPin, full, !m.opts.Catalog.Growing())
	}
	preselected := m.preselected(ctx, r, scope, full)
	if same(first, current) && len(preselected) == 0 {
		return current, nil
	}
	there := make(map[string]toolloop.Tool, len(current))
	for _, t := range current {
		there[t.Name] = t
	}
	m.current(there, preselected, scope)
	missing := map[string]bool{}
	for _, t := range slices.Concat(first, preselected) {
		now, found := there[t.Name]
		if !found {
			missing[t.Name] = true
			continue
		}
		now.Tool, now.Declared, now.Names, now.Tokens = t.Tool, t.Declared, t.Names, t.Tokens
		list = append(list, now)
	}
	slices.SortStableFunc(list, func(a, b toolloop.Tool) int { return strings.Compare(a.Name, b.Name) })
	list = slices.CompactFunc(list, func(a, b toolloop.Tool) bool { return a.Name == b.Name })
	return list, func(name string) string {
		if !missing[name] {
			return ""
		}
		if name != toolDelegate && name != toolDelegateParallel && m.opts.Registry.Current().Get(name) == nil {
			return "was removed"
		}
		return "is no longer available"
	}
}

// same reports whether two lists are one.
func same(a, b []toolloop.Tool) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
