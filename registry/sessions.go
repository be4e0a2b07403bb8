package registry

import (
	"cmp"
	"fmt"
	"sync"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/lru"
	"github.com/spiced-sql/spiced/tools"
)

// maxSessionTools is how many tools of sessions have a count; the one that was called
// least recently begins at 0 again.
const maxSessionTools = 100_000

// sessions counts the calls of tools that have a limit per session.
type sessions struct {
	mu     sync.Mutex
	counts *lru.Cache[sessionTool, int]
}

// sessionTool is a tool in a session of a caller. A request without a session is one.
type sessionTool struct{ owner, session, tool string }

func newSessionTool(e *entry, scope tools.Scope) sessionTool {
	return sessionTool{scope.Owner(), cmp.Or(scope.SessionID, scope.RequestID), e.def.Name}
}

func newSessions() *sessions {
	return &sessions{counts: lru.New[sessionTool, int](maxSessionTools, maxSessionTools, nil)}
}

// count counts a call. It returns an error if the session has made as many as the limits
// of the tool allow.
func (s *sessions) count(e *entry, scope tools.Scope) *tools.Error {
	most := e.gate.limits.MaxCallsPerSession
	if most == 0 || cmp.Or(scope.SessionID, scope.RequestID) == "" {
		return nil
	}
	key := newSessionTool(e, scope)
	s.mu.Lock()
	defer s.mu.Unlock()
	n, _ := s.counts.Get(key)
	if n >= most {
		return tools.NewError(errcode.Limit,
			fmt.Sprintf("this session has called %s %d times, which is the tool's limit", e.def.Name, n),
			"continue with the results that you have")
	}
	s.counts.Put(key, n+1, 1)
	return nil
}

// uncount takes back a call that was counted and not made.
func (s *sessions) uncount(e *entry, scope tools.Scope) {
	key := newSessionTool(e, scope)
	s.mu.Lock()
	defer s.mu.Unlock()
	if n, ok := s.counts.Get(key); ok && n > 0 {
		s.counts.Put(key, n-1, 1)
	}
}
