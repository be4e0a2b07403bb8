package sqlapi

import (
	"bytes"
	"compress/gzip"
	"io"
	"regexp"
	"strings"
	"testing"
)

const browserAccept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

// TestConsole: a browser is led to the console, whose page permits nothing but files of this server,
// and whose files arrive compressed or not, as the client can read them.
func TestConsole(t *testing.T) {
	f := serve(t, nil)
	r := f.send("GET", "/", "", "Accept", browserAccept)
	if r.status != 302 || r.header.Get("Location") != "/ui/" {
		t.Fatalf("GET /: status %d, Location %q", r.status, r.header.Get("Location"))
	}
	page := f.send("GET", "/ui/tools/some%20tool?x=1", "", "Accept", browserAccept, "Accept-Encoding", "identity")
	f.want(page, 200, `<div id="console">`)
	policy := page.header.Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'none'; script-src 'self';") || strings.Contains(policy, "unsafe") {
		t.Errorf("policy: %s", policy)
	}
	files := regexp.MustCompile(`(?:src|href)="(/ui/assets/[^"]+)"`).FindAllStringSubmatch(page.body, -1)
	if len(files) < 3 {
		t.Fatalf("the page has %d files:\n%s", len(files), page.body)
	}
	for _, file := range files {
		plain := f.send("GET", file[1], "", "Accept-Encoding", "identity")
		packed := f.send("GET", file[1], "", "Accept-Encoding", "gzip")
		if plain.status != 200 || packed.header.Get("Content-Encoding") != "gzip" ||
			!strings.Contains(plain.header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: status %d, %v", file[1], plain.status, packed.header)
			continue
		}
		text, err := gzip.NewReader(bytes.NewReader([]byte(packed.body)))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(text); err != nil || string(got) != plain.body {
			t.Errorf("%s: %v, or the compressed file differs", file[1], err)
		}
	}
}

func TestConsoleRefuses(t *testing.T) {
	f := serve(t, nil)
	for _, accept := range []string{"", "*/*", "application/json", "text/html;q=0"} {
		f.want(f.send("GET", "/", "", "Accept", accept), 404, `"code":"route_not_found"`)
	}
	f.want(f.send("POST", "/", "", "Accept", browserAccept), 405, "use GET or HEAD")
	f.want(f.send("GET", "/x", "", "Accept", browserAccept), 404, `"code":"route_not_found"`)
	f.want(f.send("GET", "/ui/assets/none.js", ""), 404, "there is no file /ui/assets/none.js")
	f.want(f.send("GET", "/ui/assets/..%2Findex.html", ""), 404, "there is no file")
	for _, path := range []string{"/", "/ui/"} {
		f.want(f.send("GET", path, "", "Accept", browserAccept, "Origin", "http://evil.example"), 403, "other sites")
	}
}

// TestConsoleWithKeys: the console's files need no key, since they have nothing of the Spicepod in
// them; what it shows comes from routes that do.
func TestConsoleWithKeys(t *testing.T) {
	f := serve(t, func(o *Options) { o.Guard.Keys = keyring(t, "{ enabled: true, keys: [0123456789abcdef] }") })
	f.want(f.send("GET", "/ui/", "", "Accept", browserAccept, "Accept-Encoding", "identity"), 200, `<div id="console">`)
	f.want(f.send("GET", "/v1/functions", ""), 401, "")
}
