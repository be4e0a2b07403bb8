package mcpserver

import "time"

// Limits of the server.
const (
	maxBody     = 32 << 20 // bytes of a message
	maxSessions = 10_000   // over HTTP
	maxCalls    = 4096     // concurrent requests
	maxPage     = 1000     // entries of a page of a list
	maxWord     = 128      // bytes of a client's name or trace id
	maxValues   = 100      // values of a completion; the protocol's limit
	maxResource = 4 << 20  // bytes of a resource
	maxShown    = 200      // bytes of an unknown name in a message
)

const (
	sessionIdle   = 30 * time.Minute // until an unused session ends
	progressEvery = time.Second
	aliveEvery    = 30 * time.Second // between comments on an idle stream
	writeTimeout  = 30 * time.Second // until a client that does not read is disconnected
)
