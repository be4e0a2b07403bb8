package auth_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/access/auth"
	"github.com/spiced-sql/spiced/internal/test/golden"
	"github.com/spiced-sql/spiced/internal/test/podtest"
)

// TestProblems compares what is wrong with Spicepods, as a user sees it, with
// testdata/problems.txt.
func TestProblems(t *testing.T) {
	t.Setenv("AUTH_TEST_EMPTY", "")
	t.Setenv("AUTH_TEST_LINE", keyOne+"\n")
	t.Setenv("AUTH_TEST_BYTES", keyOne+"\xff")
	t.Setenv("AUTH_TEST_ONE", keyOne)
	var got bytes.Buffer
	for _, c := range []struct{ name, apiKey string }{
		{"nothing wrong", four},
		{"no keys", "\n  enabled: true\n"},
		{"empty key", "\n  keys: ['', ':rw', '${env:AUTH_TEST_EMPTY}']\n  principals: [{name: bi, key: ' :rw'}]\n"},
		{"same key twice", "\n  keys: [" + keyOne + ", '" + keyOne + ":rw']\n  principals:\n  - {name: bi, key: '${env:AUTH_TEST_ONE}'}\n"},
		{"same name twice", "\n  principals:\n  - {name: bi, key: " + keyOne + "}\n  - {name: bi, key: " + keyTwo + "}\n"},
		{"name of a key without one", "\n  keys: [" + keyOne + "]\n  principals:\n  - {name: key-1, key: " + keyTwo + "}\n"},
		{"names that cannot be", "\n  principals:\n  - {name: \"b\\ti\", key: " + keyOne + "}\n  - {name: " + strings.Repeat("x", auth.MaxNameBytes+1) + ", key: " +
			keyTwo + "}\n"},
		{"scope", "\n  principals:\n  - {name: bi, key: " + keyOne + ", user_id: \"a\\0b\", space_id: \"c\\0d\"}\n"},
		{"short key", "\n  keys: [hunter2, 'fifteen-bytes-.:rw', sixteen-bytes-..]\n"},
		{"long key", "\n  keys: [" + strings.Repeat("k", auth.MaxKeyBytes+1) + "]\n"},
		{"line break and bytes", "\n  keys: ['${env:AUTH_TEST_LINE}', '${env:AUTH_TEST_BYTES}']\n"},
		{"spaces", "\n  keys: [' " + keyOne + "', '" + keyTwo + " :rw']\n"},
		{"not ASCII", "\n  keys: [schlüssel-0123456789]\n"},
		{"burst alone", "\n  keys: [" + keyOne + "]\n  limits: {burst: 5}\n  principals:\n  - {name: bi, key: " + keyBI + ", limits: {burst: 1}}\n"},
		{"too many", "\n  keys: [" + strings.Repeat("'', ", auth.MaxKeys) + keyOne + "]\n"},
	} {
		_, problems := auth.NewKeyring(load(t, c.apiKey), nil)
		got.WriteString("== " + c.name + "\n")
		if c.name == "too many" {
			problems = problems[:1]
		}
		problems.WriteText(&got)
	}
	golden.Equal(t, "testdata/problems.txt", got.Bytes())
}

func TestNumberOfKeysIsBounded(t *testing.T) {
	for keys, want := range map[int]int{auth.MaxKeys: auth.MaxKeys, auth.MaxKeys + 1: 1 + auth.MaxKeys} {
		_, problems := auth.NewKeyring(load(t, "\n  keys: ["+strings.Repeat("'', ", keys)+"]\n"), nil)
		if len(problems) != want {
			t.Errorf("%d empty keys: %d problems, not %d", keys, len(problems), want)
		}
		if tooMany := strings.Contains(problems[0].Message, "at most"); tooMany != (keys > auth.MaxKeys) {
			t.Errorf("%d keys: %s", keys, problems[0])
		}
	}
}

// TestFaultsOpenNoDoor: whatever is wrong with the keys, callers need one, and
// the good ones are known.
func TestFaultsOpenNoDoor(t *testing.T) {
	for name, apiKey := range map[string]string{
		"no keys":    "\n  enabled: true\n",
		"empty keys": "\n  keys: ['', ':rw']\n",
		"all sorts":  "\n  keys: ['', " + keyOne + ", " + keyOne + ", ' " + keyTwo + "']\n",
	} {
		t.Run(name, func(t *testing.T) {
			keys, problems := auth.NewKeyring(load(t, apiKey), nil)
			if !problems.HasErrors() {
				t.Error("no error")
			}
			if !keys.Enabled() {
				t.Error("callers need no key")
			}
			for _, key := range []string{"", ":rw", " ", keyTwo} {
				if _, ok := keys.Lookup(key); ok {
					t.Errorf("%q is known", key)
				}
			}
			if _, ok := keys.Lookup(keyOne); ok != (name == "all sorts") {
				t.Errorf("the good key is known: %t", ok)
			}
		})
	}
}

// Approvers are principals with a name.
func TestApprovers(t *testing.T) {
	keys, problems := auth.NewKeyring(podtest.Load(t, `
runtime:
  auth:
    approvers: [bi, key-1, by, ""]
    api-key:
      keys: [`+keyOne+`]
      principals: [{ name: bi, key: `+keyTwo+` }]
`), nil)
	var got []string
	for _, p := range problems {
		got = append(got, p.Message+"; "+p.Hint)
	}
	want := []string{
		`there is no principal "key-1"; write the name of an entry of runtime.auth.api-key.principals`,
		`there is no principal "by"; did you mean "bi"?`,
		`there is no principal ""; write the name of an entry of runtime.auth.api-key.principals`,
	}
	if !slices.Equal(got, want) || !problems.HasErrors() {
		t.Errorf("%q", got)
	}
	for name, is := range map[string]bool{"bi": true, "key-1": false, "by": false, "": false, "BI": false} {
		if keys.Approver(name) != is {
			t.Errorf("%q approves: %v", name, !is)
		}
	}
}
