package auth_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spiced-sql/spiced/internal/access/auth"
	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/test/podtest"
)

func TestLookup(t *testing.T) {
	keys := keyring(t, four)
	for _, c := range []struct {
		name, user, key string
		want            *auth.Principal
	}{
		{"a key without a name", "", keyOne, &auth.Principal{Name: "key-1"}},
		{"a key that may write", "", keyTwo, &auth.Principal{Name: "key-2", Write: true}},
		{"a principal", "", keyBI, &auth.Principal{Name: "bi", UserID: "reports", SpaceID: "finance"}},
		{"a principal that serves many", "", keyWeb, &auth.Principal{Name: "web", Write: true, OnBehalfOf: true}},
		{"any user name will do", "postgres", keyOne, &auth.Principal{Name: "key-1"}},
		{"the principal's own name", "bi", keyBI, &auth.Principal{Name: "bi", UserID: "reports", SpaceID: "finance"}},
		{"another principal's name", "bi", keyWeb, nil},
		{"the name of a key without one", "key-1", keyTwo, nil},
		{"a user name is not a user_id", "reports", keyOne, &auth.Principal{Name: "key-1"}},
		{"names tell case apart", "BI", keyOne, &auth.Principal{Name: "key-1"}},
		{"unknown key", "", unknown, nil},
		{"unknown key of a principal", "bi", unknown, nil},
		{"no key", "", "", nil},
		{"the suffix is no part of the key", "", keyTwo + ":rw", nil},
		{"a beginning of a key", "", keyOne[:len(keyOne)-1], nil},
		{"longer than any key", "", strings.Repeat("x", auth.MaxKeyBytes+1), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := keys.LookupFor(c.user, c.key)
			if ok != (c.want != nil) {
				t.Fatalf("known: %t", ok)
			}
			if d := cmp.Diff(c.want, got, cmpopts.IgnoreUnexported(auth.Principal{})); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestKeyringsWithoutKeys(t *testing.T) {
	for name, sections := range map[string]string{
		"no auth":    "",
		"no api-key": "runtime: {auth: {}}\n",
		"disabled":   "runtime: {auth: {api-key: {enabled: false, keys: [" + keyOne + "]}}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			keys, problems := auth.NewKeyring(podtest.Load(t, sections), nil)
			if len(problems) > 0 {
				t.Error(problems)
			}
			checkOpen(t, keys)
		})
	}
	t.Run("zero value", func(t *testing.T) { checkOpen(t, new(auth.Keyring)) })
}

func checkOpen(t *testing.T, keys *auth.Keyring) {
	t.Helper()
	if keys.Enabled() {
		t.Error("asks for a key")
	}
	if _, ok := keys.Lookup(keyOne); ok {
		t.Error("knows a key")
	}
	if _, _, err := newClient(keyOne).run(keys.SCRAM("bi", nil)); err == nil {
		t.Error("knows a key's proof")
	}
	want := &auth.Principal{Write: true, OnBehalfOf: true}
	if d := cmp.Diff(want, keys.Anonymous(), cmpopts.IgnoreUnexported(auth.Principal{})); d != "" {
		t.Error(d)
	}
}

func TestKeysComeFromReferences(t *testing.T) {
	t.Setenv("AUTH_TEST_READ", keyOne)
	t.Setenv("AUTH_TEST_WRITE", keyTwo+":rw")
	t.Setenv("AUTH_TEST_SUFFIXED", keyBI)
	const readOnly = "sixteen-bytes-or-more"
	keys := keyring(t, `
  keys: ["${env:AUTH_TEST_READ}", "${env:AUTH_TEST_WRITE}", "${env:AUTH_TEST_SUFFIXED}:rw", "`+readOnly+`:ro"]
`)
	for key, write := range map[string]bool{keyOne: false, keyTwo: true, keyBI: true, readOnly: false} {
		if p := holder(t, keys, key); p.Write != write {
			t.Errorf("%s may write: %t", p.Name, p.Write)
		}
	}
}

// TestManyKeys hashes keys on several processors: each must keep its holder.
func TestManyKeys(t *testing.T) {
	const n = 30
	keys := keyring(t, many(n))
	for i := range n {
		if p := holder(t, keys, fmt.Sprintf("0123456789abcdef-%d", i)); p.Name != fmt.Sprintf("key-%d", i+1) {
			t.Errorf("key %d is that of %s", i, p.Name)
		}
	}
}

// A key without a name keeps its number for as long as the process knows it,
// and no other key gets it: what belongs to key-1 is never another's.
func TestNumbersOfKeysOutliveReloads(t *testing.T) {
	ring := func(old *auth.Keyring, keys ...string) *auth.Keyring {
		next, problems := auth.NewKeyring(load(t, "\n keys: ["+strings.Join(keys, ", ")+"]"), old)
		if problems.HasErrors() {
			t.Fatal(problems)
		}
		return next
	}
	name := func(k *auth.Keyring, key string) string {
		p, ok := k.Lookup(key)
		if !ok {
			t.Fatalf("%s is not known", key)
		}
		scope, err := p.Caller(caller.Caller{})
		if err != nil {
			t.Fatal(err)
		}
		return p.Name + "/" + scope.UserID
	}
	const a, b, c = "aaaa-0123456789abcdef", "bbbb-0123456789abcdef", "cccc-0123456789abcdef"
	first := ring(nil, a, b)
	session, _ := first.Lookup(a)
	second := ring(first, b)
	third := ring(second, c, b)
	fourth := ring(third, c, a, b)
	for _, got := range [][2]string{
		{name(first, a), "key-1/key-1"},
		{name(second, b), "key-2/key-2"},
		{name(third, c), "key-3/key-3"},
		{name(third, b), "key-2/key-2"},
		{name(fourth, a), "key-4/key-4"},
	} {
		if got[0] != got[1] {
			t.Errorf("got %s, want %s", got[0], got[1])
		}
	}
	if _, ok := first.Current(session); !ok {
		t.Error("a session of a key that is there is over")
	}
	for _, k := range []*auth.Keyring{second, third, fourth} {
		if p, ok := k.Current(session); ok {
			t.Errorf("a session of a key that was taken out goes on as %s", p.Name)
		}
	}
}
