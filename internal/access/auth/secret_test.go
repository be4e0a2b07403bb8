package auth_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/access/auth"
	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/spicepod"
)

// TestNoKeyIsShown prints everything there is in every way there is.
func TestNoKeyIsShown(t *testing.T) {
	t.Setenv("AUTH_TEST_SECRET", keyWeb)
	t.Setenv("AUTH_TEST_SPACED", " "+unknown)
	const apiKey = `
  keys: [` + keyOne + `, "` + keyTwo + `:rw", ` + keyOne + `, "${env:AUTH_TEST_SPACED}", "${env:AUTH_TEST_SECRET}", hunter2]
  limits: {requests_per_second: 1, max_concurrent: 1}
  principals:
    - {name: bi, key: ` + keyBI + `}
    - {name: bi, key: "${env:AUTH_TEST_SECRET}:rw"}
`
	keys, problems := auth.NewKeyring(load(t, apiKey), nil)
	if len(problems) < 4 {
		t.Fatal(problems)
	}
	var out bytes.Buffer
	printAll(&out, keys)
	printAll(&out, *keys)
	for _, p := range problems {
		printAll(&out, p)
	}
	printAll(&out, problems)
	problems.WriteText(&out)
	problems.WriteSARIF(&out)
	for _, key := range []string{keyOne, keyTwo, keyBI, keyWeb, "hunter2"} {
		p := holder(t, keys, key)
		printAll(&out, p)
		printAll(&out, *p)
		end, _ := p.Begin()
		_, limit := p.Begin()
		printAll(&out, limit)
		end()
		_, denied := p.Caller(caller.Caller{UserID: "ann"})
		printAll(&out, denied)
		s := keys.SCRAM(p.Name, nil)
		_, _, err := newClient(key).run(s)
		printAll(&out, s)
		printAll(&out, err)
	}
	checkSecret(t, out.String(), keyOne, keyTwo, keyBI, keyWeb, unknown, "hunter2")
}

func printAll(out *bytes.Buffer, v any) {
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(out, verb+"\n", v)
	}
	json.NewEncoder(out).Encode(v)
	slog.New(slog.NewTextHandler(out, nil)).Info("", "v", v)
	slog.New(slog.NewJSONHandler(out, nil)).Info("", "v", v)
}

// checkSecret looks for keys in a text, as they are and as others may write
// them.
func checkSecret(t *testing.T, text string, keys ...string) {
	t.Helper()
	for _, key := range keys {
		for _, form := range []string{
			key, hex.EncodeToString([]byte(key)), base64.RawStdEncoding.EncodeToString([]byte(key)),
			strings.Trim(fmt.Sprint([]byte(key)), "[]"),
		} {
			if at := strings.Index(text, form); at >= 0 {
				t.Errorf("a key is shown: %q", text[max(0, at-100):min(len(text), at+100)])
			}
		}
	}
}

// TestTheCheckFindsKeys shows that TestNoKeyIsShown can fail.
func TestTheCheckFindsKeys(t *testing.T) {
	for _, shown := range []any{keyOne, []byte(keyOne), struct{ key string }{keyOne}, spicepod.Text{Raw: keyOne}} {
		var out bytes.Buffer
		printAll(&out, shown)
		if !strings.Contains(out.String(), keyOne) {
			t.Errorf("%T is not printed as it is", shown)
		}
	}
}
