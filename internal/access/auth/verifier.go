package auth

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/subtle"
)

// verifier is what a server keeps of a password for SCRAM (RFC 5802, 3):
// enough to check a proof, and not enough to make one.
type verifier struct{ storedKey, serverKey digest }

// newVerifier hashes a key. It takes the key's bytes as they are: SASLprep
// (RFC 4013), which RFC 5802 asks for, leaves ASCII alone, and keys are ASCII.
// The error is of a Go that refuses SHA-256 or the size of the salt.
func newVerifier(key string, salt []byte) (verifier, error) {
	salted, err := pbkdf2.Key(sha256.New, key, salt, iterations, sha256.Size)
	if err != nil {
		return verifier{}, err
	}
	clientKey := sum(salted, "Client Key")
	return verifier{storedKey: sha256.Sum256(clientKey[:]), serverKey: sum(salted, "Server Key")}, nil
}

// proves returns 1 when the proof for a conversation comes from the key, else
// 0, in constant time. The proof has the size of a digest.
func (v *verifier) proves(conversation string, proof digest) int {
	signature := sum(v.storedKey[:], conversation)
	var clientKey digest
	subtle.XORBytes(clientKey[:], proof[:], signature[:])
	got := sha256.Sum256(clientKey[:])
	return subtle.ConstantTimeCompare(got[:], v.storedKey[:])
}
