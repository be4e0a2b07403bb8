package mcpserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// session is what is known of one client. It travels in the context that the
// SDK's session was made with.
type session struct {
	scope tools.Scope
	mode  spicepod.MCPMode // as its URL says; "": that of the settings
	ended context.Context
	end   context.CancelFunc

	sdk   *mcp.ServerSession // set once, with the handshake
	mu    sync.Mutex
	calls map[jsonrpc.ID]context.CancelFunc // that the SDK knows nothing of

	// These are sessions.mu's.
	requests int               // HTTP requests in progress
	used     time.Time         // when the last one ended
	told     map[string]string // fingerprints of the lists that it knows, by notification
}

// ownedBy reports whether a request of that scope may use the session: it has
// the same key, and is for the same user in the same space. Without keys, what
// it does not name is the session's.
func (s *session) ownedBy(scope tools.Scope) bool {
	if scope.Principal == "" {
		scope.UserID, scope.SpaceID = cmp.Or(scope.UserID, s.scope.UserID), cmp.Or(scope.SpaceID, s.scope.SpaceID)
	}
	return scope.Owner() == s.scope.Owner()
}

// session makes a session, on whose behalf scope says. It ends with the server
// at the latest.
func (l *sessions) session(scope tools.Scope, mode spicepod.MCPMode) *session {
	scope.Protocol = caller.MCP
	if scope.SessionID == "" {
		// Not the protocol's id: that one lets whoever knows it take part.
		scope.SessionID = "mcp_" + rand.Text()
	}
	s := &session{scope: scope, mode: mode, calls: map[jsonrpc.ID]context.CancelFunc{}}
	s.ended, s.end = context.WithCancel(l.life)
	return s
}

type sessionKey struct{}

func (s *session) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, sessionKey{}, s)
}

// sessionOf returns the session of a request to a handler.
func sessionOf(ctx context.Context) *session {
	s, _ := ctx.Value(sessionKey{}).(*session)
	return s
}

// begin enters a call, so that cancelled can end it; false: there is one of
// that id.
func (s *session) begin(id jsonrpc.ID, cancel context.CancelFunc) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls[id] != nil {
		return false
	}
	s.calls[id] = cancel
	return true
}

func (s *session) done(id jsonrpc.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, id)
}

// cancelled ends the call of that id, if it runs.
func (s *session) cancelled(id jsonrpc.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.calls[id]; cancel != nil {
		cancel()
	}
}

// sessions are those that have shaken hands.
type sessions struct {
	mu     sync.Mutex
	bySDK  map[*mcp.ServerSession]*session
	byID   map[string]*session // over HTTP, by the protocol's id
	most   int
	closed bool
	life   context.Context // ends with close
	end    context.CancelFunc
	inUse  sync.WaitGroup // HTTP requests, and sessions that end; none begins once closed is set
}

func newSessions() *sessions {
	l := &sessions{most: maxSessions, bySDK: map[*mcp.ServerSession]*session{}, byID: map[string]*session{}}
	l.life, l.end = context.WithCancel(context.Background())
	return l
}

var (
	errClosed    = errors.New("the server is closing")
	errFull      = errors.New("too many sessions are in use")
	errNoSession = errors.New("there is no such session, or no more; begin one with initialize")
)

// add enters a session. If there are too many, those end that were not used
// for too long, or else the one that was not used for longest.
func (l *sessions) add(s *session, sdk *mcp.ServerSession) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errClosed
	}
	if id := sdk.ID(); id != "" {
		if len(l.byID) >= l.most && !l.evict(time.Now()) {
			return errFull
		}
		l.byID[id] = s
	}
	s.sdk = sdk
	l.bySDK[sdk] = s
	return nil
}

// evict makes room; false: all sessions are in use.
func (l *sessions) evict(now time.Time) bool {
	var oldest *session
	before := len(l.byID)
	for _, s := range l.byID {
		switch {
		case s.requests > 0:
		case s.idle(now):
			l.retire(s)
		case oldest == nil || s.used.Before(oldest.used):
			oldest = s
		}
	}
	if len(l.byID) == before && oldest != nil {
		l.retire(oldest)
	}
	return len(l.byID) < before
}

func (s *session) idle(now time.Time) bool { return s.requests == 0 && now.Sub(s.used) > sessionIdle }

func (l *sessions) drop(s *session) {
	delete(l.bySDK, s.sdk)
	delete(l.byID, s.sdk.ID())
}

// retire takes a session out and ends it. The SDK waits for its calls, so that
// happens in the background; close waits for it.
func (l *sessions) retire(s *session) {
	l.drop(s)
	s.end()
	l.inUse.Go(func() { _ = s.sdk.Close() }) // how the connection ended matters to nobody
}

// remove takes a session out; false: it was not there.
func (l *sessions) remove(s *session) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.sdk == nil || l.bySDK[s.sdk] != s {
		return false
	}
	l.drop(s)
	return true
}

// enter finds the session of an HTTP request and keeps it from being idle
// until leave; nil: there is none of that id, or it was idle for too long.
func (l *sessions) enter(id string) *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.byID[id]
	if s == nil {
		return nil
	}
	if s.idle(time.Now()) {
		l.retire(s)
		return nil
	}
	l.use(s)
	return s
}

// begin counts the HTTP request that a session begins with, until leave.
func (l *sessions) begin(s *session) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errClosed
	}
	l.use(s)
	return nil
}

func (l *sessions) use(s *session) {
	s.requests++
	l.inUse.Add(1)
}

// leave ends a request of a session; false: it has not shaken hands.
func (l *sessions) leave(s *session) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inUse.Done()
	s.requests--
	s.used = time.Now()
	return s.sdk != nil
}

// of returns the session that the SDK's session stands for, or nil.
func (l *sessions) of(sdk *mcp.ServerSession) *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bySDK[sdk]
}

// tell notes the fingerprint of a list that a session gets to know; false: it
// knows it.
func (l *sessions) tell(s *session, list, sum string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.told == nil {
		s.told = map[string]string{}
	}
	known := s.told[list] == sum
	s.told[list] = sum
	return !known
}

// close ends all sessions and lets no other in. It waits for them and for all
// HTTP requests.
func (l *sessions) close() {
	l.mu.Lock()
	l.closed = true
	l.end()
	for _, s := range l.bySDK {
		l.retire(s)
	}
	l.mu.Unlock()
	l.inUse.Wait()
}
