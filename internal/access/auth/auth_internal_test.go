package auth

import (
	"encoding/base64"
	"fmt"
	"testing"
)

// TestRFC7677 runs the example of RFC 7677, 3.
func TestRFC7677(t *testing.T) {
	salt, err := base64.StdEncoding.DecodeString("W22ZaJ0SNY7soEsUEjb6gQ==")
	if err != nil {
		t.Fatal(err)
	}
	v, err := newVerifier("pencil", salt)
	if err != nil {
		t.Fatal(err)
	}
	user := &credential{principal: &Principal{Name: "user"}, verifier: v}
	s := (&Keyring{salt: salt, credentials: []*credential{user}}).SCRAM("user", nil)
	s.nonce = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"

	answer, err := s.First("SCRAM-SHA-256", []byte("n,,n=user,r=rOprNGfwEbeRWgbNEkqO"))
	const want = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
	if err != nil || string(answer) != want {
		t.Fatalf("%s, %v", answer, err)
	}
	answer, p, err := s.Final([]byte("c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="))
	if err != nil || p != user.principal || string(answer) != "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=" {
		t.Errorf("%s, %v, %v", answer, p, err)
	}
}

// TestEveryCredentialIsAsked: whichever matches and whoever asks, the work is
// the same.
func TestEveryCredentialIsAsked(t *testing.T) {
	const n = 5
	k := &Keyring{byName: map[string]*credential{}}
	for i := range n {
		c := &credential{principal: &Principal{Name: fmt.Sprint("p", i)}}
		k.credentials = append(k.credentials, c)
		k.byName[c.principal.Name] = c
	}
	for _, user := range []string{"", "stranger", "p0", "p2", "p4"} {
		for match := -1; match < n; match++ {
			asked := 0
			found := k.find(user, func(c *credential) int {
				asked++
				if match >= 0 && c == k.credentials[match] {
					return 1
				}
				return 0
			})
			if asked != n {
				t.Errorf("user %q, match %d: %d asked", user, match, asked)
			}
			_, named := k.byName[user]
			known := match >= 0 && (!named || k.byName[user] == k.credentials[match])
			if known != (found != nil) || known && found != k.credentials[match] {
				t.Errorf("user %q, match %d: found %v", user, match, found)
			}
		}
	}
}

// TestCredentialsOfOneKey: digests are the same in this process, so that
// reloads can compare them, and say nothing outside it.
func TestCredentialsOfOneKey(t *testing.T) {
	first := digestOf("key")
	if again := digestOf("key"); first != again || first == digestOf("kez") {
		t.Error("a digest is that of its key and of no other")
	}
	if first == sum(nil, "key") || *process() == (secrets{}) {
		t.Error("digests have no secret")
	}
}
