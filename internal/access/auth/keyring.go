package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"slices"
	"sync"

	"github.com/spiced-sql/spiced/spicepod"
)

// Keyring holds the keys. It is safe for concurrent use. The zero value
// requires no key.
type Keyring struct {
	required    bool
	credentials []*credential
	byName      map[string]*credential
	salt        []byte // of all verifiers
	numbered    int    // the highest number given to an unnamed key
	approvers   []string
	failures    *failures
}

// credential is the stored form of a key: enough to recognise it, without the
// key.
type credential struct {
	principal *Principal
	unnamed   bool // the principal's name is a number
	verifier  verifier
}

// digest is the keyed hash of a key. Keys are long random texts, so a fast hash
// suffices; the hash key makes it useless outside the process.
type digest = [sha256.Size]byte

// secrets are random values of a process.
type secrets struct {
	digest [sha256.Size]byte // the key of digests
	salt   [saltBytes]byte   // of verifiers
}

// process returns the secrets of this process. They are generated once: equal
// keys then have equal digests in each keyring, as [NewKeyring] requires.
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

// NewKeyring reads runtime.auth. If there are errors among the problems, the
// keyring has the valid keys. If keys are required, it is enabled despite any
// problems, so that a mistake never grants access.
//
// The keyring takes over the state of old's principals and the failed logins; old may be nil or in use.
// Unnamed keys keep their numbers, which no other key gets: data of key-1 never
// becomes another key's. Limiters are kept if name, key and limits are unchanged:
// a reload resets neither used tokens nor running requests.
func NewKeyring(pod *spicepod.Pod, old *Keyring) (*Keyring, spicepod.Problems) {
	k := &Keyring{byName: map[string]*credential{}, salt: process().salt[:]}
	if pod.Runtime.Auth == nil || pod.Runtime.Auth.APIKey == nil || !pod.Runtime.Auth.APIKey.Enabled {
		return k, nil
	}
	k.required, k.failures = true, newFailures()
	r := reader{pod: pod, names: map[string]string{}, keys: map[digest]string{}}
	k.credentials = r.credentials(r.entries(pod.Runtime.Auth.APIKey), k.salt)
	k.approvers = r.approvers(pod.Runtime.Auth)
	k.numbered = len(pod.Runtime.Auth.APIKey.Keys)
	k.index()
	if old != nil {
		k.adopt(old)
	}
	return k, r.problems
}

// Enabled reports whether callers need a key.
func (k *Keyring) Enabled() bool { return k.required }

// Approver reports whether the named principal decides about calls that need approval.
func (k *Keyring) Approver(principal string) bool {
	return principal != "" && slices.Contains(k.approvers, principal)
}

// Anonymous is the principal of callers if no keys are required.
func (k *Keyring) Anonymous() *Principal { return &Principal{OnBehalfOf: true, Write: true} }

// Lookup returns the principal of a key. A keyring that is not enabled has
// none.
func (k *Keyring) Lookup(key string) (*Principal, bool) { return k.LookupFor("", key) }

// LookupFor is Lookup with a user name that a client sends with the key: the
// name of a principal must be that of the key's principal.
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

// find returns the matching credential, or nil. It compares all of them, also
// after a match and for any user, so that timing reveals neither the matching
// key nor whether the user exists. matches returns 1 or 0.
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

// Current returns the current principal for one of an earlier keyring, for
// sessions that outlive a reload. It reports false if the key was removed.
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

// adopt takes over the state of old's principals: see [NewKeyring].
func (k *Keyring) adopt(old *Keyring) {
	if old.failures != nil {
		k.failures = old.failures
	}
	k.number(old)
	for _, c := range k.credentials {
		before, ok := old.byName[c.principal.Name]
		if ok && before.principal.digest == c.principal.digest && before.principal.limiter.same(c.principal.limiter) {
			c.principal.limiter = before.principal.limiter
		}
	}
}

// number gives unnamed keys their previous numbers, and new numbers to the
// others.
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

// numberedName is the name of an unnamed key.
func numberedName(n int) string { return fmt.Sprintf("key-%d", n) }
