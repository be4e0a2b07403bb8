package auth_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/spiced-sql/spiced/internal/access/auth"
	"github.com/spiced-sql/spiced/spicepod"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The keys of the tests.
const (
	keyOne  = "0123456789abcdef-one"
	keyTwo  = "0123456789abcdef-two"
	keyBI   = "0123456789abcdef-bi"
	keyWeb  = "0123456789abcdef-web"
	unknown = "0123456789abcdef-nobody"
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
	return loadText(t, "runtime:\n auth:\n  api-key:\n"+strings.ReplaceAll(apiKey, "\n", "\n  "))
}

func loadText(t testing.TB, sections string) *spicepod.Pod {
	t.Helper()
	dir := t.TempDir()
	text := "version: v1\nkind: Spicepod\nname: test\n" + sections
	if err := os.WriteFile(filepath.Join(dir, "spicepod.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	pod, err := spicepod.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

// keyring reads keys that have no fault.
func keyring(t testing.TB, apiKey string) *auth.Keyring {
	t.Helper()
	keys, problems := auth.NewKeyring(load(t, apiKey))
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
