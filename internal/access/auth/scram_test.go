package auth_test

import (
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/access/auth"
)

// channel is what a server with TLS gives: the hash of its certificate.
const channel = "\x00,the hash of a certificate"

func TestSCRAM(t *testing.T) {
	keys := keyring(t, four)
	for _, c := range []struct {
		name, user string
		client     *client
		channel    string
		want       string // the principal; "": denied
	}{
		{"a key without a name", "postgres", newClient(keyOne), "", "key-1"},
		{"the last key, no user", "", newClient(keyWeb), "", "web"},
		{"a principal by its name", "bi", newClient(keyBI), "", "bi"},
		{"a principal by another name", "somebody", newClient(keyBI), "", "bi"},
		{"another principal's name", "bi", newClient(keyWeb), "", ""},
		{"the name of a key without one", "key-2", newClient(keyOne), "", ""},
		{"unknown key", "postgres", newClient(unknown), "", ""},
		{"unknown key of a principal", "bi", newClient(unknown), "", ""},
		{"empty key", "", newClient(""), "", ""},
		{"suffix with the key", "", newClient(keyTwo + ":rw"), "", ""},
		{
			"the user of the first message does not count",
			"bi", &client{key: keyBI, mechanism: "SCRAM-SHA-256", header: "n,,", bound: "n,,", nonce: "x", user: "web"}, "", "bi",
		},
		{"escapes in that user", "bi", &client{key: keyBI, mechanism: "SCRAM-SHA-256", header: "n,,", bound: "n,,", nonce: "x", user: "a=2Cb=3Dc"}, "", "bi"},
		{"extensions", "bi", &client{key: keyBI, mechanism: "SCRAM-SHA-256", header: "n,,", bound: "n,,", nonce: "x,f=1,g=2", extension: ",f=1,p=1"}, "", "bi"},

		{"no TLS, client could bind", "bi", with(newClient(keyBI), "y,,"), "", "bi"},
		{"TLS, client cannot bind", "bi", newClient(keyBI), channel, "bi"},
		{"TLS, bound", "bi", bind(keyBI, channel), channel, "bi"},
		{"TLS, bound, any key", "", bind(keyOne, channel), channel, "key-1"},
		{"TLS, bound, wrong key", "bi", bind(keyOne, channel), channel, ""},
		{"bound to another server", "bi", bind(keyBI, "another"), channel, ""},
		{"bound to nothing", "bi", bind(keyBI, ""), channel, ""},
		{"bound without TLS", "bi", bind(keyBI, channel), "", ""},
		{"the offer to bind was taken away", "bi", with(newClient(keyBI), "y,,"), channel, ""},
		{"the header was changed on the way", "bi", &client{key: keyBI, mechanism: "SCRAM-SHA-256", header: "n,,", bound: "y,,", nonce: "x"}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var data []byte
			if c.channel != "" {
				data = []byte(c.channel)
			}
			_, p, err := c.client.run(keys.SCRAM(c.user, data))
			switch {
			case c.want == "" && (!errors.Is(err, auth.ErrDenied) || p != nil):
				t.Errorf("%v, %v", p, err)
			case c.want != "" && err != nil:
				t.Error(err)
			case c.want != "" && p.Name != c.want:
				t.Errorf("it is %s", p.Name)
			}
		})
	}
}

func with(c *client, header string) *client {
	c.header, c.bound = header, header
	return c
}

func TestMechanisms(t *testing.T) {
	keys := keyring(t, four)
	for _, c := range []struct {
		channel []byte
		want    []string
	}{
		{nil, []string{"SCRAM-SHA-256"}},
		{[]byte(channel), []string{"SCRAM-SHA-256-PLUS", "SCRAM-SHA-256"}},
	} {
		if d := cmp.Diff(c.want, keys.SCRAM("", c.channel).Mechanisms()); d != "" {
			t.Error(d)
		}
	}
}

func TestSCRAMFirstMessages(t *testing.T) {
	const p = "p=tls-server-end-point,,n=,r=x"
	keys := keyring(t, four)
	for _, c := range []struct {
		name, mechanism, message string
		tls                      bool
		good                     bool
	}{
		{"n", "SCRAM-SHA-256", "n,,n=,r=x", false, true},
		{"y", "SCRAM-SHA-256", "y,,n=,r=x", false, true},
		{"p", "SCRAM-SHA-256-PLUS", p, true, true},
		{"extension", "SCRAM-SHA-256", "n,,n=,r=x,f=1", false, true},
		{"p by the mechanism without binding", "SCRAM-SHA-256", p, true, false},
		{"n by the mechanism with binding", "SCRAM-SHA-256-PLUS", "n,,n=,r=x", true, false},
		{"y by the mechanism with binding", "SCRAM-SHA-256-PLUS", "y,,n=,r=x", true, false},
		{"y although binding was offered", "SCRAM-SHA-256", "y,,n=,r=x", true, false},
		{"p without TLS", "SCRAM-SHA-256-PLUS", p, false, false},
		{"another kind of binding", "SCRAM-SHA-256-PLUS", "p=tls-unique,,n=,r=x", true, false},
		{"p of nothing", "SCRAM-SHA-256-PLUS", "p,,n=,r=x", true, false},
		{"unknown mechanism", "SCRAM-SHA-1", "n,,n=,r=x", false, false},
		{"no mechanism", "", "n,,n=,r=x", false, false},
		{"unknown header", "SCRAM-SHA-256", "z,,n=,r=x", false, false},
		{"capital", "SCRAM-SHA-256", "N,,n=,r=x", false, false},
		{"identity to act for", "SCRAM-SHA-256", "n,a=bi,n=,r=x", false, false},
		{"mandatory extension", "SCRAM-SHA-256", "n,,m=1,n=,r=x", false, false},
		{"no user", "SCRAM-SHA-256", "n,,r=x", false, false},
		{"user with a bare =", "SCRAM-SHA-256", "n,,n=a=b,r=x", false, false},
		{"user with an unfinished escape", "SCRAM-SHA-256", "n,,n=a=2,r=x", false, false},
		{"no nonce", "SCRAM-SHA-256", "n,,n=", false, false},
		{"empty nonce", "SCRAM-SHA-256", "n,,n=,r=", false, false},
		{"nonce with a space", "SCRAM-SHA-256", "n,,n=,r=x y", false, false},
		{"nonce outside ASCII", "SCRAM-SHA-256", "n,,n=,r=ä", false, false},
		{"nonce with a NUL", "SCRAM-SHA-256", "n,,n=,r=x\x00", false, false},
		{"only a header", "SCRAM-SHA-256", "n,,", false, false},
		{"empty", "SCRAM-SHA-256", "", false, false},
		{"too long", "SCRAM-SHA-256", "n,,n=,r=" + strings.Repeat("x", 4096), false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var data []byte
			if c.tls {
				data = []byte(channel)
			}
			s := keys.SCRAM("bi", data)
			answer, err := s.First(c.mechanism, []byte(c.message))
			if c.good {
				if err != nil || !strings.HasPrefix(string(answer), "r=x") {
					t.Errorf("%q, %v", answer, err)
				}
				return
			}
			if !errors.Is(err, auth.ErrDenied) || answer != nil {
				t.Errorf("%q, %v", answer, err)
			}
			if _, err := s.First("SCRAM-SHA-256", []byte("n,,n=,r=x")); !errors.Is(err, auth.ErrDenied) {
				t.Error("a refused exchange begins again")
			}
		})
	}
}

// TestSCRAMFinalMessages spoils a right last message.
func TestSCRAMFinalMessages(t *testing.T) {
	keys := keyring(t, four)
	for _, c := range []struct {
		name  string
		spoil func(message string) string
	}{
		{"no proof", func(m string) string { return m[:strings.Index(m, ",p=")] }},
		{"empty proof", func(m string) string { return m[:strings.Index(m, ",p=")+3] }},
		{"short proof", func(m string) string { return m[:strings.Index(m, ",p=")+3] + encode(make([]byte, 31)) }},
		{"long proof", func(m string) string { return m[:strings.Index(m, ",p=")+3] + encode(make([]byte, 33)) }},
		{"proof of nothing", func(m string) string { return m[:strings.Index(m, ",p=")+3] + encode(make([]byte, 32)) }},
		{"proof that is no base64", func(m string) string { return m + "!" }},
		{"proof first", func(m string) string { at := strings.Index(m, ",p="); return m[at+1:] + "," + m[:at] }},
		{"one bit of the proof", func(m string) string {
			head, proof, _ := strings.Cut(m, ",p=")
			raw, _ := base64.StdEncoding.DecodeString(proof)
			raw[31] ^= 1
			return head + ",p=" + encode(raw)
		}},
		{"another binding", func(m string) string { return strings.Replace(m, "c=biws", "c=eSws", 1) }},
		{"no binding", func(m string) string { return strings.TrimPrefix(m, "c=biws,") }},
		{"another nonce", func(m string) string { return strings.Replace(m, ",r=r", ",r=R", 1) }},
		{"the client's nonce alone", func(m string) string {
			head, proof, _ := strings.Cut(m, ",p=")
			return head[:len("c=biws,r=rOprNGfwEbeRWgbNEkqO")] + ",p=" + proof
		}},
		{"an extension that is not in the proof", func(m string) string { return strings.Replace(m, ",p=", ",f=1,p=", 1) }},
		{"too long", func(m string) string {
			return strings.Replace(m, ",p=", ",f="+strings.Repeat("x", 4096)+",p=", 1)
		}},
		{"empty", func(string) string { return "" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, client := keys.SCRAM("bi", nil), newClient(keyBI)
			answer, err := s.First(client.mechanism, []byte(client.header+client.bare()))
			if err != nil {
				t.Fatal(err)
			}
			message, _ := client.final(string(answer))
			if signature, p, err := s.Final([]byte(c.spoil(message))); !errors.Is(err, auth.ErrDenied) || p != nil || signature != nil {
				t.Errorf("%q, %v, %v", signature, p, err)
			}
			if _, p, err := s.Final([]byte(message)); !errors.Is(err, auth.ErrDenied) || p != nil {
				t.Error("there is a second try")
			}
		})
	}
}

func TestSCRAMIsUsedOnce(t *testing.T) {
	keys, client := keyring(t, four), newClient(keyBI)
	s := keys.SCRAM("bi", nil)
	message, p, err := client.run(s)
	if err != nil || p.Name != "bi" {
		t.Fatal(p, err)
	}
	for name, try := range map[string]func() error{
		"last message again":           func() error { _, _, err := s.Final([]byte(message)); return err },
		"another exchange":             func() error { _, _, err := client.run(s); return err },
		"last message before a first":  func() error { _, _, err := keys.SCRAM("bi", nil).Final([]byte(message)); return err },
		"last message of another's":    func() error { return replay(keys.SCRAM("bi", nil), client, message) },
		"last message of another ring": func() error { return replay(keyring(t, four).SCRAM("bi", nil), client, message) },
	} {
		if err := try(); !errors.Is(err, auth.ErrDenied) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func replay(s *auth.SCRAM, c *client, message string) error {
	if _, err := s.First(c.mechanism, []byte(c.header+c.bare())); err != nil {
		return err
	}
	_, _, err := s.Final([]byte(message))
	return err
}

// TestSCRAMAnswersEverybodyAlike: what comes before the proof is the same for
// every user, but for the nonce.
func TestSCRAMAnswersEverybodyAlike(t *testing.T) {
	keys := keyring(t, four)
	var nonces, rest []string
	for _, user := range []string{"", "bi", "key-1", "stranger"} {
		answer, err := keys.SCRAM(user, nil).First("SCRAM-SHA-256", []byte("n,,n=,r=x"))
		if err != nil {
			t.Fatal(err)
		}
		nonce, others, _ := strings.Cut(string(answer), ",")
		nonces, rest = append(nonces, nonce), append(rest, others)
	}
	if slices.Sort(nonces); len(slices.Compact(nonces)) != 4 {
		t.Error("a nonce comes twice: ", nonces)
	}
	if len(slices.Compact(rest)) != 1 {
		t.Error(rest)
	}
}

// FuzzSCRAM has two messages of a client that knows no key.
func FuzzSCRAM(f *testing.F) {
	keys := keyring(f, four)
	f.Add("SCRAM-SHA-256", "n,,n=,r=x", ",f=1", "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=", false)
	f.Add("SCRAM-SHA-256", "y,,n=a=2Cb,r=x,f=1", "", "", false)
	f.Add("SCRAM-SHA-256-PLUS", "p=tls-server-end-point,,n=,r=x", "", "AA==", true)
	f.Add("", "n,a=b,m=,r=", ",p=", ",p=", true)
	f.Fuzz(func(t *testing.T, mechanism, first, extension, proof string, tls bool) {
		var data []byte
		if tls {
			data = []byte(channel)
		}
		s := keys.SCRAM("bi", data)
		answer, err := s.First(mechanism, []byte(first))
		header, _, _ := strings.Cut(first, ",")
		nonce, _, _ := strings.Cut(strings.TrimPrefix(string(answer), "r="), ",")
		bound := header + ",,"
		if mechanism == "SCRAM-SHA-256-PLUS" {
			bound += channel
		}
		signature, p, finalErr := s.Final([]byte("c=" + encode([]byte(bound)) + ",r=" + nonce + extension + ",p=" + proof))
		if err != nil && !errors.Is(err, auth.ErrDenied) || !errors.Is(finalErr, auth.ErrDenied) || p != nil || signature != nil {
			t.Errorf("%q, %v; %q, %v, %v", answer, err, signature, p, finalErr)
		}
	})
}
