package auth_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/internal/access/auth"
)

// client is the client's side of RFC 5802, with every part open to a test that
// wants it wrong.
type client struct {
	key       string
	mechanism string
	header    string // gs2-header
	bound     string // what c= says before base64
	user      string
	nonce     string
	extension string // of the last message, with a comma before
}

func newClient(key string) *client {
	return &client{key: key, mechanism: "SCRAM-SHA-256", header: "n,,", bound: "n,,", nonce: "rOprNGfwEbeRWgbNEkqO"}
}

// bind is newClient with channel binding.
func bind(key, channel string) *client {
	const header = "p=tls-server-end-point,,"
	return &client{key: key, mechanism: "SCRAM-SHA-256-PLUS", header: header, bound: header + channel, nonce: "rOprNGfwEbeRWgbNEkqO"}
}

func (c *client) bare() string { return "n=" + c.user + ",r=" + c.nonce }

// run has the whole exchange, and checks the server's proof.
func (c *client) run(s *auth.SCRAM) (conversation string, p *auth.Principal, err error) {
	answer, err := s.First(c.mechanism, []byte(c.header+c.bare()))
	if err != nil {
		return "", nil, err
	}
	final, want := c.final(string(answer))
	signature, p, err := s.Final([]byte(final))
	if err == nil && !bytes.Equal(signature, want) {
		return "", nil, errors.New("the server's proof is wrong")
	}
	return final, p, err
}

// final is the last message, and what a server that knows the key answers.
func (c *client) final(answer string) (message string, want []byte) {
	var nonce, salt string
	var iterations int
	for _, field := range strings.Split(answer, ",") {
		switch field[:2] {
		case "r=":
			nonce = field[2:]
		case "s=":
			salt = field[2:]
		case "i=":
			fmt.Sscan(field[2:], &iterations)
		}
	}
	rawSalt, _ := base64.StdEncoding.DecodeString(salt)
	salted, _ := pbkdf2.Key(sha256.New, c.key, rawSalt, iterations, sha256.Size)
	withoutProof := "c=" + encode([]byte(c.bound)) + ",r=" + nonce + c.extension
	conversation := c.bare() + "," + answer + "," + withoutProof

	clientKey := mac(salted, "Client Key")
	storedKey := sha256.Sum256(clientKey)
	proof := mac(storedKey[:], conversation)
	for i := range proof {
		proof[i] ^= clientKey[i]
	}
	signature := mac(mac(salted, "Server Key"), conversation)
	return withoutProof + ",p=" + encode(proof), []byte("v=" + encode(signature))
}

func mac(key []byte, message string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(message))
	return h.Sum(nil)
}

func encode(b []byte) string { return base64.StdEncoding.EncodeToString(b) }
