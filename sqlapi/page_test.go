package sqlapi

import (
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"strings"
	"testing"
)

const browserAccept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

// TestPage: browsers get a page, whose links are routes and whose policy permits its style and
// no script.
func TestPage(t *testing.T) {
	f := serve(t, func(o *Options) { o.Version = "v9.8.7" })
	r := f.send("GET", "/", "", "Accept", browserAccept)
	f.want(r, 200, "Version v9.8.7")
	if got := r.header.Get("Content-Type"); got != "text/html; charset=utf-8" {
		t.Errorf("Content-Type: %s", got)
	}
	_, rest, _ := strings.Cut(r.body, "<style>")
	style, _, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(style))
	policy := r.header.Get("Content-Security-Policy")
	if want := "style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(policy, want) ||
		!strings.HasPrefix(policy, "default-src 'none';") || strings.Contains(r.body, "<script") {
		t.Errorf("policy %s, style\n%s", policy, style)
	}
	links := regexp.MustCompile(`href="(/[^"?]*)`).FindAllStringSubmatch(r.body, -1)
	for _, link := range links {
		if got := f.send("GET", link[1], ""); got.status == 404 && strings.Contains(got.body, string(codeNoRoute)) {
			t.Errorf("%s: %s", link[1], got.body)
		}
	}
	if len(links) < 7 {
		t.Errorf("%d links", len(links))
	}
	f.runtime.ready = false
	f.want(f.send("GET", "/", "", "Accept", browserAccept), 200, "Not ready yet.")
}

func TestPageIsForBrowsersOnly(t *testing.T) {
	f := serve(t, nil)
	for _, accept := range []string{"", "*/*", "application/json", "text/html;q=0"} {
		f.want(f.send("GET", "/", "", "Accept", accept), 404, `"code":"route_not_found"`)
	}
	f.want(f.send("POST", "/", "", "Accept", browserAccept), 405, "use GET or HEAD")
	f.want(f.send("GET", "/x", "", "Accept", browserAccept), 404, `"code":"route_not_found"`)
	f.want(f.send("GET", "/", "", "Accept", browserAccept, "Origin", "http://evil.example"), 403, "other sites")
}

// TestPageWithKeys: whoever has no key learns no version.
func TestPageWithKeys(t *testing.T) {
	f := serve(t, func(o *Options) {
		o.Version = "v9.8.7"
		o.Guard.Keys = keyring(t, "{ enabled: true, keys: [0123456789abcdef] }")
	})
	r := f.send("GET", "/", "", "Accept", browserAccept)
	f.want(r, 200, "Requests need a key")
	if strings.Contains(r.body, "v9.8.7") {
		t.Error("the page shows the version")
	}
}
