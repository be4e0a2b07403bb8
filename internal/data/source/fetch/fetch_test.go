package fetch

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/test/reserve"
)

// TestTransfer: an error of a request says what to do about it.
func TestTransfer(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	odd, err := net.Listen("tcp", "127.0.0.1:0") // answers in no form of TLS and HTTP
	if err != nil {
		t.Fatal(err)
	}
	defer odd.Close()
	go func() {
		for {
			c, err := odd.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 4<<10)) // an answer before the request is another error
			_, _ = c.Write([]byte("\x15\x03\x01\x00\x02\x02\x16"))
			c.Close()
		}
	}()
	for url, want := range map[string]string{
		strings.Replace(plain.URL, "http://", "https://", 1): "write http://, if the server has no TLS",
		secure.URL:                      "correct the host, or add the authority of the certificate to those of this machine",
		"http://" + odd.Addr().String(): "write https://, if the server has TLS",
		"http://" + reserve.Address(t):  "correct the host and the port, or start the server",
		"http://no-such-host.invalid/":  "correct the host",
	} {
		resp, err := http.Get(url)
		if err == nil {
			resp.Body.Close()
			t.Fatal(url)
		}
		if got := Transfer(t.Context(), time.Second, err); got.Hint != want {
			t.Errorf("%s: %s; got %q, want %q", url, got, got.Hint, want)
		}
	}
}
