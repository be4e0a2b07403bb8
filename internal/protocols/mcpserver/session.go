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

// session is the state of one client. The context of the SDK's session holds
// it.
type session struct {
	scope tools.Scope
	mode  spicepod.MCPMode // from the URL; "": from the settings
	base  string           // of the addresses of this runtime, as the client reaches it; "": over stdio
	ended context.Context
	end   context.CancelFunc

	sdk   *mcp.ServerSession // set once, with the handshake
	mu    sync.Mutex
	calls map[jsonrpc.ID]context.CancelFunc // calls that the SDK does not track

	// Guarded by sessions.mu.
	requests int               // HTTP requests in progress
	used     time.Time         // when the last one ended
	reported map[string]string // checksums of the last reported lists, by notification
}

// ownedBy reports whether a request of that scope may use the session: it has
// the same key, user and space. Without keys, what the request does not name is
// the session's.
func (s *session) ownedBy(scope tools.Scope) bool {
	if scope.Principal == "" {
		scope.UserID, scope.SpaceID = cmp.Or(scope.UserID, s.scope.UserID), cmp.Or(scope.SpaceID, s.scope.SpaceID)
	}
	return scope.Owner() == s.scope.Owner()
}

// session creates a session of a scope. It ends with the server at the latest.
func (l *sessions) session(scope tools.Scope, mode spicepod.MCPMode) *session {
	scope.Protocol = caller.MCP
	if scope.SessionID == "" {
		// Not the protocol's id: whoever knows that one can use the session.
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

// sessionOf returns the session of a handler's context.
func sessionOf(ctx context.Context) *session {
	s, _ := ctx.Value(sessionKey{}).(*session)
	return s
}

// begin registers a call, so that cancelled can end it; false: the id is in
// use.
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

// cancelled cancels the call of that id, if it is running.
func (s *session) cancelled(id jsonrpc.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.calls[id]; cancel != nil {
		cancel()
	}
}

// sessions are the sessions after the handshake.
type sessions struct {
	mu     sync.Mutex
	bySDK  map[*mcp.ServerSession]*session
	byID   map[string]*session // over HTTP, by the protocol's id
	most   int
	closed bool
	life   context.Context // ends with close
	end    context.CancelFunc
	inUse  sync.WaitGroup // HTTP requests and ending sessions; none begins once closed is set
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

// add registers a session. At the limit, it evicts the sessions that were idle
// too long, or else the one that was idle longest.
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

// evict makes room for a session; false: all sessions are in use.
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

// retire removes a session and ends it in the background, since the SDK waits
// for its calls; close waits for that.
func (l *sessions) retire(s *session) {
	l.drop(s)
	s.end()
	l.inUse.Go(func() { _ = s.sdk.Close() }) // the result of closing is not needed
}

// remove removes a session; false: it was not registered.
func (l *sessions) remove(s *session) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.sdk == nil || l.bySDK[s.sdk] != s {
		return false
	}
	l.drop(s)
	return true
}

// enter returns the session of an HTTP request and marks it as used until
// leave; nil: the id is unknown, or the session was idle too long.
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

// open reports whether sessions may begin.
func (l *sessions) open() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.closed
}

// begin counts the HTTP request that creates a session, until leave.
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

// leave ends a request of a session; false: there was no handshake.
func (l *sessions) leave(s *session) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inUse.Done()
	s.requests--
	s.used = time.Now()
	return s.sdk != nil
}

// of returns the session of an SDK session, or nil.
func (l *sessions) of(sdk *mcp.ServerSession) *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bySDK[sdk]
}

// sdkOf returns the SDK's session of a session; nil: it is not registered.
func (l *sessions) sdkOf(s *session) *mcp.ServerSession {
	l.mu.Lock()
	defer l.mu.Unlock()
	return s.sdk
}

// report records the checksum of a list reported to a session; false: it is
// unchanged.
func (l *sessions) report(s *session, list, sum string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.reported == nil {
		s.reported = map[string]string{}
	}
	known := s.reported[list] == sum
	s.reported[list] = sum
	return !known
}

// close ends all sessions and rejects new ones. It waits for them and for all
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
