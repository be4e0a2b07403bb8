package mcpclient

import "time"

// Limits on what a server may say.
const (
	// MaxTools is how many tools of one server are offered.
	MaxTools = 5_000
	// MaxToolName is how many characters a server's name for a tool may have.
	MaxToolName = 300
	// MaxResult is the size of one result, as JSON.
	MaxResult = 16 << 20

	maxServers = 500         // entries of one Spicepod
	maxPages   = 1_000       // of one tools/list
	maxListing = 64 << 20    // bytes of all pages together
	maxMessage = MaxResult + // bytes of one JSON-RPC message
		1<<20
	maxRefusal   = 64 << 10 // bytes read of an HTTP answer that is no success
	maxErrorText = 8 << 10  // bytes shown of what a tool says of its failure
	maxReason    = 500      // bytes shown of why a server is not there
	maxLine      = 1 << 10  // bytes logged of one line of a server's
	maxLines     = 50       // lines logged in one second
	maxNamed     = 5        // tools named in one problem
)

// DefaultDeadline is how long a load waits for servers.
const DefaultDeadline = 10 * time.Second

// limits holds what tests make smaller.
type limits struct {
	connect  time.Duration // one attempt, to the list of tools
	retry    time.Duration // before the second attempt; the next ones are its Fibonacci multiples
	maxRetry time.Duration
	settle   time.Duration // between a notice of change and its consequence
	grace    time.Duration // of a process, between the steps of ending it
	drain    time.Duration // of calls of a server that is no longer declared
	head     time.Duration // until a stream of notices begins
	write    time.Duration // of one message to a process
}

func defaultLimits() limits {
	return limits{
		connect: 2 * time.Minute, // npx downloads first
		retry:   time.Second, maxRetry: time.Minute, settle: 100 * time.Millisecond,
		grace: 2 * time.Second, drain: 5 * time.Minute, head: 3 * time.Second, write: 30 * time.Second,
	}
}

// backoff is how long to wait after a number of failures in a row: 1, 1, 2, 3,
// 5 … times retry.
func (l limits) backoff(failures int) time.Duration {
	wait, next := l.retry, l.retry
	for i := 1; i < failures && wait < l.maxRetry; i++ {
		wait, next = next, wait+next
	}
	return min(wait, l.maxRetry)
}
