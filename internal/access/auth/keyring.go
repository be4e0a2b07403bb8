package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"sync"

	"github.com/spiced-sql/spiced/spicepod"
)

// Keyring holds the keys. It is safe for concurrent use. The zero value asks
// for no key.
type Keyring struct {
	required    bool
	credentials []*credential
	byName      map[string]*credential
	salt        []byte // of every verifier
	numbered    int    // the highest number that a key without a name has had
}

// credential is what is kept of a key: enough to recognise it, and not the
// key.
type credential struct {
	principal *Principal
	unnamed   bool // the principal's name is a number
	verifier  verifier
}

// digest is the keyed hash of a key. Keys are long random texts, so that a
// fast hash will do; its own key makes it worthless outside the process.
type digest = [sha256.Size]byte

// secrets are what a process draws at random.
type secrets struct {
	digest [sha256.Size]byte // the key of digests
	salt   [saltBytes]byte   // of verifiers
}

// process has the secrets of this one. They are drawn once: digests of one key
// are then the same in each keyring, so that [Keyring.Adopt] can tell.
var process = sync.OnceValue(func() *secrets {
	s := new(secrets)
	rand.Read(s.digest[:]) // never fails
	rand.Read(s.salt[:])
	return s
})

func digestOf(key string) digest {
	return sum(process().digest[:], key)
}

// sum is HMAC-SHA-256.
func sum(key []byte, message string) digest {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(message))
	return digest(mac.Sum(nil))
}

// NewKeyring reads runtime.auth. With an error among the problems the keyring
// still has the good keys. Where keys are asked for it is enabled whatever the
// problems, so that a mistake opens no door.
func NewKeyring(pod *spicepod.Pod) (*Keyring, spicepod.Problems) {
	k := &Keyring{byName: map[string]*credential{}, salt: process().salt[:]}
	if pod.Runtime.Auth == nil || pod.Runtime.Auth.APIKey == nil || !pod.Runtime.Auth.APIKey.Enabled {
		return k, nil
	}
	k.required = true
	r := reader{pod: pod, names: map[string]string{}, keys: map[digest]string{}}
	k.credentials = r.credentials(r.entries(pod.Runtime.Auth.APIKey), k.salt)
	k.numbered = len(pod.Runtime.Auth.APIKey.Keys)
	k.index()
	return k, r.problems
}

// Enabled reports whether callers need a key.
func (k *Keyring) Enabled() bool { return k.required }

// Anonymous is the principal of callers when no keys are needed.
func (k *Keyring) Anonymous() *Principal { return &Principal{OnBehalfOf: true, Write: true} }

// Lookup returns who holds a key. A keyring that is not enabled knows none.
func (k *Keyring) Lookup(key string) (*Principal, bool) { return k.LookupFor("", key) }

// LookupFor is Lookup for a user name that a client gives beside the key: one
// that is a principal's must be that of the key.
func (k *Keyring) LookupFor(user, key string) (*Principal, bool) {
	if len(key) > MaxKeyBytes {
		return nil, false
	}
	given := digestOf(key)
	c := k.find(user, func(c *credential) int {
		return subtle.ConstantTimeCompare(c.principal.digest[:], given[:])
	})
	if c == nil {
		return nil, false
	}
	return c.principal, true
}

// find returns the credential that matches, nil for none. It asks every one,
// also after a match and whatever the user, so that the time it takes tells
// neither which key matched nor whose name the user is. matches returns 1 or
// 0.
func (k *Keyring) find(user string, matches func(*credential) int) *credential {
	_, named := k.byName[user]
	found := -1
	for i, c := range k.credentials {
		eligible := 1
		if named && c.principal.Name != user {
			eligible = 0
		}
		found = subtle.ConstantTimeSelect(matches(c)&eligible, i, found)
	}
	if found < 0 {
		return nil
	}
	return k.credentials[found]
}

func (k *Keyring) index() {
	clear(k.byName)
	for _, c := range k.credentials {
		k.byName[c.principal.Name] = c
	}
}

// Current is the principal of one that an earlier keyring knew, for sessions
// that outlive a reload. It reports false when its key is there no more.
func (k *Keyring) Current(p *Principal) (*Principal, bool) {
	if !k.required {
		return p, p.Name == ""
	}
	c := k.byName[p.Name]
	if c == nil || c.principal.digest != p.digest {
		return nil, false
	}
	return c.principal, true
}

// Adopt takes over what belongs to the principals of before. Keys without a
// name keep their number, and no other key gets it: what is kept for key-1 is
// never another's. Limiters go on where name, key and limits are the same: a
// reload forgets neither what was used up nor what runs. It is called before k
// is shared; old, which may be nil, can be in use.
func (k *Keyring) Adopt(old *Keyring) {
	if old == nil {
		return
	}
	k.number(old)
	for _, c := range k.credentials {
		before, ok := old.byName[c.principal.Name]
		if ok && before.principal.digest == c.principal.digest && before.principal.limiter.same(c.principal.limiter) {
			c.principal.limiter = before.principal.limiter
		}
	}
}

// number gives keys without a name the numbers that they have had, and new
// ones to the others.
func (k *Keyring) number(old *Keyring) {
	known := map[digest]string{}
	for _, c := range old.credentials {
		if c.unnamed {
			known[c.principal.digest] = c.principal.Name
		}
	}
	k.numbered = old.numbered
	for _, c := range k.credentials {
		if !c.unnamed {
			continue
		}
		name, ok := known[c.principal.digest]
		if !ok {
			k.numbered++
			name = numberedName(k.numbered)
		}
		c.principal.Name = name
	}
	k.index()
}

// numberedName is the name of a key that has none.
func numberedName(n int) string { return fmt.Sprintf("key-%d", n) }
