package mcpclient

import "time"

// Limits on what a server may send.
const (
	// MaxTools is the maximum number of tools offered per server.
	MaxTools = 5_000
	// MaxToolName is the maximum length of a server's tool name, in characters.
	MaxToolName = 300
	// MaxResult is the maximum size of a result, as JSON.
	MaxResult = 16 << 20

	maxServers = 500         // entries of one Spicepod
	maxPages   = 1_000       // of one tools/list
	maxListing = 64 << 20    // bytes of all pages together
	maxMessage = MaxResult + // bytes of one JSON-RPC message
		1<<20
	maxSkipped   = 1 << 30  // bytes skipped of a longer message
	maxRefusal   = 64 << 10 // bytes read of an unsuccessful HTTP response
	maxErrorText = 8 << 10  // bytes shown of a tool's error
	maxReason    = 500      // bytes shown of the reason why a server is unavailable
	maxLine      = 1 << 10  // bytes logged of one line of a server's output
	maxLines     = 50       // lines logged in one second
	maxWord      = 100      // bytes shown of a type or a name
	maxNamed     = 5        // tools named in one problem
)

// probeTime is the timeout of the question whether a session is still good.
const probeTime = 10 * time.Second

// DefaultDeadline is how long a load waits for servers.
const DefaultDeadline = 10 * time.Second

// limits holds the limits that tests lower.
type limits struct {
	connect  time.Duration // one attempt, including the list of tools
	retry    time.Duration // before the second attempt; the next ones are its Fibonacci multiples
	maxRetry time.Duration
	debounce time.Duration // between a change notification and the reload
	grace    time.Duration // between the steps of stopping a process
	drain    time.Duration // for running calls of a server that is no longer declared
	head     time.Duration // until a notification stream begins
	write    time.Duration // for one message to a process
}

func defaultLimits() limits {
	return limits{
		connect: 2 * time.Minute, // npx downloads the package first
		retry:   time.Second, maxRetry: time.Minute, debounce: 100 * time.Millisecond,
		grace: 2 * time.Second, drain: 5 * time.Minute, head: 3 * time.Second, write: 30 * time.Second,
	}
}

// backoff is the wait after a number of consecutive failures: 1, 1, 2, 3, 5 …
// times retry.
func (l limits) backoff(failures int) time.Duration {
	wait, next := l.retry, l.retry
	for i := 1; i < failures && wait < l.maxRetry; i++ {
		wait, next = next, wait+next
	}
	return min(wait, l.maxRetry)
}
