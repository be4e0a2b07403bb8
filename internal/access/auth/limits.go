package auth

import "time"

// Limits of a keyring.
const (
	MaxKeys      = 1_000 // per Spicepod, with and without names
	MaxKeyBytes  = 1_024 // of a key
	MaxNameBytes = 128   // of a principal's name

	// MinKeyBytes is the recommended minimum length of a key: 128 bits, if
	// every byte is random.
	MinKeyBytes = 16
)

// Limits of failed logins.
const (
	freeFailures = 5 // of an address, which are answered at once
	firstDelay   = 250 * time.Millisecond
	longestDelay = 5 * time.Second
	forgetAfter  = time.Minute // without a failure
	maxAddresses = 10_000      // whose failures are counted
)

const (
	maxMessage    = 4 << 10   // bytes per SCRAM message
	maxShown      = 100       // bytes of a caller's text in a message
	maxRetryAfter = time.Hour // the longest Retry-After
	nonceBytes    = 18        // of the server, before base64
	saltBytes     = 16
	iterations    = 4096 // of PBKDF2: the minimum of RFC 7677, and PostgreSQL's default
)
