package mcpserver

import "time"

// Limits of the server.
const (
	maxBody     = 32 << 20 // bytes of a message
	maxSessions = 10_000   // over HTTP
	maxCalls    = 4096     // requests that run at once
	maxPage     = 1000     // entries of a page of a list
	maxWord     = 128      // bytes of a client's name or trace id
	maxValues   = 100      // of a completion; the protocol's limit
	maxResource = 4 << 20  // bytes of a resource
	maxShown    = 200      // bytes of a made-up name in a message
)

const (
	sessionIdle   = 30 * time.Minute // a session ends that was not used for so long
	progressEvery = time.Second
	aliveEvery    = 30 * time.Second // a comment on a stream that is silent
	writeTimeout  = 30 * time.Second // a client that does not read for so long is gone
)
