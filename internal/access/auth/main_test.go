package auth_test

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/spiced-sql/spiced/internal/access/auth"
	"github.com/spiced-sql/spiced/internal/test/podtest"
	"github.com/spiced-sql/spiced/spicepod"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The keys of the tests.
const (
	keyOne  = "0123456789abcdef-one"
	keyTwo  = "0123456789abcdef-two"
	keyBI   = "0123456789abcdef-bi"
	keyWeb  = "0123456789abcdef-web"
	unknown = "0123456789abcdef-stranger"
)

// four has two keys without a name and two with.
const four = `
  keys: [` + keyOne + `, "` + keyTwo + `:rw"]
  principals:
    - {name: bi, key: ` + keyBI + `, user_id: reports, space_id: finance}
    - {name: web, key: "` + keyWeb + `:rw", on_behalf_of: true}
`

// load reads a Spicepod whose runtime.auth.api-key has the given content.
func load(t testing.TB, apiKey string) *spicepod.Pod {
	t.Helper()
	return podtest.Load(t, "runtime:\n auth:\n  api-key:\n"+strings.ReplaceAll(apiKey, "\n", "\n  "))
}

// keyring reads keys that have no fault.
func keyring(t testing.TB, apiKey string) *auth.Keyring {
	t.Helper()
	return keyringAfter(t, nil, apiKey)
}

// keyringAfter is keyring after a reload.
func keyringAfter(t testing.TB, old *auth.Keyring, apiKey string) *auth.Keyring {
	t.Helper()
	keys, problems := auth.NewKeyring(load(t, apiKey), old)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return keys
}

func holder(t testing.TB, keys *auth.Keyring, key string) *auth.Principal {
	t.Helper()
	p, ok := keys.Lookup(key)
	if !ok {
		t.Fatal("the key is not known")
	}
	return p
}
