package flightsql

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"time"
)

// sealer hides and signs what clients keep for the server, with a key that
// lives as long as the process (AES-256-GCM).
type sealer struct{ aead cipher.AEAD }

// mustSealer makes a sealer with a new key. Neither call fails for a key of 32
// bytes.
func mustSealer() sealer {
	var key [32]byte
	rand.Read(key[:]) //nolint:errcheck // never fails
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err)
	}
	return sealer{aead}
}

// What is sealed. What was sealed as one is never opened as another.
const (
	sealedTicket = "ticket"
	sealedToken  = "token"
)

// seal seals data for an owner, until it expires.
func (s sealer) seal(kind, owner string, expires time.Time, data []byte) []byte {
	plain := binary.BigEndian.AppendUint64(nil, uint64(expires.Unix()))
	return s.aead.Seal(nil, nil, append(plain, data...), label(kind, owner))
}

// open returns what was sealed for the owner and has not expired.
func (s sealer) open(kind, owner string, now time.Time, sealed []byte) ([]byte, bool) {
	plain, err := s.aead.Open(nil, nil, sealed, label(kind, owner))
	if err != nil || len(plain) < 8 {
		return nil, false
	}
	if now.Unix() >= int64(binary.BigEndian.Uint64(plain)) {
		return nil, false
	}
	return plain[8:], true
}

func label(kind, owner string) []byte { return []byte(kind + "\x00" + owner) }
