package auth_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/access/auth"
)

// many is n keys.
func many(n int) string {
	var list strings.Builder
	for i := range n {
		fmt.Fprintf(&list, "\n  - 0123456789abcdef-%d", i)
	}
	return "\n  keys:" + list.String() + "\n"
}

func BenchmarkLookup(b *testing.B) {
	for name, apiKey := range map[string]string{"4 keys": four, "1000 keys": many(auth.MaxKeys)} {
		keys := keyring(b, apiKey)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				keys.Lookup(unknown)
			}
		})
	}
}

func BenchmarkBegin(b *testing.B) {
	keys := keyring(b, "\n  keys: ["+keyOne+"]\n  limits: {requests_per_second: 1e9, max_concurrent: 8}\n")
	p, _ := keys.Lookup(keyOne)
	for b.Loop() {
		if end, err := p.Begin(); err == nil {
			end()
		}
	}
}

// BenchmarkSCRAM is the server's part of an exchange; the client's is left
// out.
func BenchmarkSCRAM(b *testing.B) {
	keys := keyring(b, many(auth.MaxKeys))
	final := "c=biws,r=%s,p=" + encode(make([]byte, 32))
	for b.Loop() {
		s := keys.SCRAM("", nil)
		answer, err := s.First("SCRAM-SHA-256", []byte("n,,n=,r=x"))
		if err != nil {
			b.Fatal(err)
		}
		nonce, _, _ := strings.Cut(string(answer[2:]), ",")
		s.Final(fmt.Appendf(nil, final, nonce))
	}
}

func BenchmarkNewKeyring(b *testing.B) {
	pod := load(b, many(auth.MaxKeys))
	for b.Loop() {
		auth.NewKeyring(pod, nil)
	}
}
