package auth

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/subtle"
)

// verifier is a server's stored form of a password for SCRAM (RFC 5802, 3): it
// can check a proof, but not make one.
type verifier struct{ storedKey, serverKey digest }

// newVerifier hashes a key. It uses the bytes of the key: SASLprep (RFC 4013),
// which RFC 5802 requires, does not change ASCII, and keys are ASCII. It fails
// only if Go's crypto refuses SHA-256 or the size of the salt.
func newVerifier(key string, salt []byte) (verifier, error) {
	salted, err := pbkdf2.Key(sha256.New, key, salt, iterations, sha256.Size)
	if err != nil {
		return verifier{}, err
	}
	clientKey := sum(salted, "Client Key")
	return verifier{storedKey: sha256.Sum256(clientKey[:]), serverKey: sum(salted, "Server Key")}, nil
}

// proves returns 1 if the proof for a conversation comes from the key, else 0,
// in constant time. The proof has the size of a digest.
func (v *verifier) proves(conversation string, proof digest) int {
	signature := sum(v.storedKey[:], conversation)
	var clientKey digest
	subtle.XORBytes(clientKey[:], proof[:], signature[:])
	got := sha256.Sum256(clientKey[:])
	return subtle.ConstantTimeCompare(got[:], v.storedKey[:])
}
