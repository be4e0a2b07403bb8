package sqlapi

import (
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/access/auth"
	"github.com/spiced-sql/spiced/internal/test/podtest"
)

func TestCallerWithoutKeys(t *testing.T) {
	f := serve(t, nil)
	r := f.send("GET", "/v1/caller", "", headerUser, "ann", headerSession, "s1", headerAgent, "page")
	f.want(r, 200, `{"principal":null,"keys":false,"may_write":true,"may_approve":true,"on_behalf_of":true,`+
		`"user":"ann","session":"s1","agent":"page","generation":3,"ready":true,"version":"test"}`)
	if r.header.Get("Cache-Control") != "no-store" {
		t.Error("the answer may be cached")
	}
	f.runtime.ready = false
	f.want(f.send("GET", "/v1/caller", ""), 200, `"ready":false`)
	f.want(f.send("GET", "/v1/caller", "", headerUser, strings.Repeat("x", 200)), 400, headerUser)
	f.want(f.send("GET", "/v1/caller", "", "Origin", "http://x"), 403, "")
}

// TestCallerWithKeys: each key shows the rights of its own principal, and a key over its rate
// can still ask.
func TestCallerWithKeys(t *testing.T) {
	pod := podtest.Load(t, `runtime:
  auth:
    approvers: [boss]
    api-key:
      principals:
        - { name: reader, key: `+readKey+`, user_id: ann, space_id: s }
        - { name: boss, key: '`+writeKey+`:rw' }
        - { name: app, key: `+appKey+`, on_behalf_of: true }
        - { name: slow, key: `+slowKey+`, limits: { requests_per_second: 0.001, burst: 1 } }
`)
	keys, problems := auth.NewKeyring(pod, nil)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	f := serve(t, func(o *Options) { o.Keys = func() *auth.Keyring { return keys } })
	f.want(f.send("GET", "/v1/caller", ""), 401, "a key is needed")
	f.want(f.send("GET", "/v1/caller", "", "X-API-Key", "not-the-key-at-all"), 401, "not known")
	for _, c := range []struct{ key, user, want string }{
		{readKey, "", `{"principal":"reader","keys":true,"may_write":false,"may_approve":false,"on_behalf_of":false,"user":"ann","space":"s",`},
		{writeKey, "", `{"principal":"boss","keys":true,"may_write":true,"may_approve":true,"on_behalf_of":false,"user":"boss","generation":3,`},
		{appKey, "bob", `{"principal":"app","keys":true,"may_write":false,"may_approve":false,"on_behalf_of":true,"user":"bob",`},
	} {
		f.want(f.send("GET", "/v1/caller", "", "X-API-Key", c.key, headerUser, c.user), 200, c.want)
	}
	f.want(f.send("GET", "/v1/caller", "", "X-API-Key", readKey, headerUser, "bob"), 403, "on_behalf_of")
	for range 3 {
		f.want(f.send("GET", "/v1/caller", "", "X-API-Key", slowKey), 200, `"principal":"slow"`)
	}
}
