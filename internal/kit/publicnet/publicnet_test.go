package publicnet_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/publicnet"
)

func TestPublic(t *testing.T) {
	for address, want := range map[string]bool{
		"93.184.215.14": true, "1.1.1.1": true, "2606:4700::1111": true, "::ffff:1.1.1.1": true,

		"127.0.0.1": false, "127.8.8.8": false, "0.0.0.0": false, "0.1.2.3": false, "10.0.0.1": false, "172.16.0.1": false,
		"192.168.1.1": false, "169.254.169.254": false, "100.100.100.200": false, "192.0.0.192": false, "224.0.0.1": false,
		"255.255.255.255": false, "198.18.0.1": false, "240.0.0.1": false,
		"::1": false, "::": false, "fe80::1": false, "fe80::1%eth0": false, "fd00:ec2::254": false, "fec0::1": false,
		"::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false, "::127.0.0.1": false, "64:ff9b::7f00:1": false,
		"64:ff9b::a9fe:a9fe": false, "2002:7f00:1::": false, "2001:0:7f00:1::": false, "ff02::1": false,
	} {
		if got := publicnet.Public(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}

// fetch returns the body of a page, or the error.
func fetch(allow []string, address string) (string, error) {
	u, err := url.Parse(address)
	if err == nil {
		err = publicnet.Check(u)
	}
	if err != nil {
		return "", err
	}
	r, err := publicnet.Client(allow).Get(address)
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	return string(body), err
}

// TestAddressesOfThisMachine has the spellings of loopback addresses that others reported as ways
// around checks of URLs. The server would answer all of them.
func TestAddressesOfThisMachine(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { asked++; io.WriteString(w, "secret") }))
	defer server.Close()
	port := server.URL[strings.LastIndexByte(server.URL, ':'):]
	for _, host := range []string{
		"127.0.0.1", "localhost", "LOCALHOST.", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0", "[::1]", "[::ffff:127.0.0.1]",
		"[::ffff:7f00:1]", "[0:0:0:0:0:ffff:7f00:0001]", "127.0.0.1.nip.io.invalid", "①②⑦.⓪.⓪.①",
	} {
		for _, where := range []string{port, ":80", ":443", ""} {
			body, err := fetch(nil, "http://"+host+where+"/")
			if err == nil || body != "" {
				t.Errorf("%s%s: %q", host, where, body)
			}
		}
	}
	if asked > 0 {
		t.Errorf("the server was asked %d times", asked)
	}
	if body, err := fetch([]string{"127.0.0.1" + port}, server.URL); err != nil || body != "secret" {
		t.Errorf("allowed: %q %v", body, err)
	}
}

// TestRedirects redirects from a host that is allowed.
func TestRedirects(t *testing.T) {
	asked := 0
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer inner.Close()
	var target string
	outer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ok" {
			io.WriteString(w, "there")
			return
		}
		if r.Header.Get("Referer") != "" {
			t.Error("a referer is sent")
		}
		http.Redirect(w, r, target, http.StatusFound)
	}))
	defer outer.Close()
	allow := []string{outer.Listener.Addr().String()}
	for _, c := range []struct{ to, want string }{
		{inner.URL, "port"},
		{strings.Replace(inner.URL, "127.0.0.1", "[::ffff:127.0.0.1]", 1), "port"},
		{"http://127.0.0.1/", "not found on the public internet"},
		{"http://[::1]:80/", "not found on the public internet"},
		{"http://169.254.169.254/latest/meta-data/", "not found on the public internet"},
		{"file:///etc/passwd", `scheme "file"`},
		{"gopher://127.0.0.1:6379/_x", `scheme "gopher"`},
		{"http://user:pass@" + allow[0] + "/ok", "user name"},
		{"/again", "more than 5 times"},
	} {
		target = c.to
		_, err := fetch(allow, outer.URL)
		if err == nil || publicnet.Refused(err) == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.to, err)
		}
	}
	if target = "/ok"; asked > 0 {
		t.Errorf("the inner server was asked %d times", asked)
	}
	if body, err := fetch(allow, outer.URL); err != nil || body != "there" {
		t.Errorf("%q %v", body, err)
	}
}

// TestNoProxy: a proxy of the environment would connect for us.
func TestNoProxy(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "by proxy") }))
	defer proxy.Close()
	t.Setenv("HTTP_PROXY", proxy.URL)
	if body, err := fetch(nil, "http://10.0.0.1/"); err == nil {
		t.Errorf("%q", body)
	}
}
