package mcpserver

// LimitSessions makes n the most sessions that s keeps.
func LimitSessions(s *Server, n int) { s.sessions.most = n }

// Sessions counts those of s over HTTP, by us and by the SDK.
func Sessions(s *Server) int {
	n := 0
	for range s.sdk.Sessions() {
		n++
	}
	s.sessions.mu.Lock()
	defer s.sessions.mu.Unlock()
	return max(n, len(s.sessions.byID))
}

// Occupy makes s as busy as n more requests do.
func Occupy(s *Server, n int64) { s.running.Add(n) }
