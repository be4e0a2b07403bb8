package pgwire

import (
	"math"
	"time"
)

// Limits of a server.
const (
	defaultAuthTime = 30 * time.Second
	defaultIdleTime = time.Hour
	writeTime       = 30 * time.Second // for a client to take what is sent
	watchAfter      = 20 * time.Millisecond
)

// Limits of what a client may send. A longer message ends the connection.
const (
	maxStartup  = 10_000   // bytes of the first packet, as PostgreSQL has it
	maxPackets  = 4        // before and with the startup message
	maxLogin    = 16 << 10 // bytes of a message before the client is known
	maxMessage  = 32 << 20 // bytes of a message, and so of the parameters of a statement
	maxMessages = 100      // of the extended protocol that may cost one token
	maxScript   = 4 << 20  // bytes of a simple query, which may hold several statements
)

// Limits of what a connection may hold.
const (
	maxStatements = 1000     // prepared statements
	maxPortals    = 1000     // portals and cursors
	maxOpen       = 4        // portals with rows left: each keeps one of the engine's connections
	maxPlans      = 256      // cached plans
	maxPlanText   = 16 << 10 // bytes of a cached statement
	maxSavepoints = 1000
	maxName       = 63   // bytes of a savepoint's name and of a setting's, as PostgreSQL has it
	maxSettings   = 100  // settings that differ from their defaults
	maxSetting    = 1024 // bytes of a setting's value
)

// Sizes of buffers.
const (
	keepBuffer = 16 << 10 // a larger buffer is given up when the connection waits
	readAhead  = 4 << 10  // read while a statement runs
)

// maxColumns is how many columns a result can have: the protocol counts them
// with 16 bits.
const maxColumns = math.MaxInt16
