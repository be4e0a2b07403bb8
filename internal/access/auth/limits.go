package auth

import "time"

// The bounds of a keyring.
const (
	MaxKeys      = 1_000 // of a Spicepod, with and without names
	MaxKeyBytes  = 1_024 // of a key
	MaxNameBytes = 128   // of a principal's name

	// MinKeyBytes is what a key should have: 128 bits, when every byte is
	// drawn at random.
	MinKeyBytes = 16
)

const (
	maxMessage    = 4 << 10   // bytes of a message of SCRAM
	maxShown      = 100       // bytes of a caller's text in a message
	maxRetryAfter = time.Hour // beyond it a caller may as well ask again
	nonceBytes    = 18        // of the server, before base64
	saltBytes     = 16
	iterations    = 4096 // of PBKDF2: the least that RFC 7677 allows, and PostgreSQL's default
)
