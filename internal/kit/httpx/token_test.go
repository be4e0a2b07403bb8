package httpx

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestFetchToken(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		status       int
		want         Token
		err          string
	}{
		{"number", `{"access_token": "a", "expires_in": 60, "refresh_token": "r"}`, 200, Token{"a", "r", time.Minute}, ""},
		{"text", `{"access_token": "a", "expires_in": "60"}`, 200, Token{"a", "", time.Minute}, ""},
		{"Bearer by another name", `{"access_token": "a", "token_type": "BearerToken"}`, 200, Token{"a", "", 0}, ""},
		{"MAC", `{"access_token": "a", "token_type": "MAC"}`, 200, Token{}, "a token of the type mac"},
		{"no lifetime", `{"access_token": "a", "token_type": "Bearer"}`, 200, Token{"a", "", 0}, ""},
		{"null", `{"access_token": "a", "expires_in": null}`, 200, Token{"a", "", 0}, ""},
		{"expired", `{"access_token": "a", "expires_in": -5}`, 200, Token{"a", "", 1}, ""},
		{"huge", `{"access_token": "a", "expires_in": 1e300}`, 200, Token{"a", "", 24 * time.Hour}, ""},
		{"refused", `{"error": "invalid_client", "error_description": "s3cr3t"}`, 401, Token{}, "invalid_client"},
		{"refused with 200", `{"error": "bad_verification_code"}`, 200, Token{}, "bad_verification_code"},
		{"a text instead of a code", `{"error": "the secret s3cr3t is wrong"}`, 400, Token{}, "HTTP 400, without a token"},
		{"server error", `boom s3cr3t`, 500, Token{}, "HTTP 500, without a token"},
		{"garbage", `<html>s3cr3t</html>`, 200, Token{}, "HTTP 200, without a token"},
		{"no token", `{}`, 200, Token{}, "HTTP 200, without a token"},
		{"two lines", `{"access_token": "a\r\nX: y"}`, 200, Token{}, "HTTP 200, without a token"},
		{"too long", `{"access_token": "` + strings.Repeat("a", maxTokenAnswer) + `"}`, 200, Token{}, "HTTP 200, without a token"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if user, secret, ok := r.BasicAuth(); !ok || user != "m%3Ae" || secret != "s3%2Fcr3t" || r.FormValue("grant_type") != "client_credentials" {
					t.Errorf("got %v %v", r.Header, r.Form)
				}
				w.WriteHeader(c.status)
				w.Write([]byte(c.answer))
			}))
			defer server.Close()
			got, err := FetchToken(t.Context(), server.Client().Do, server.URL, url.Values{"grant_type": {"client_credentials"}}, url.UserPassword("m:e", "s3/cr3t"))
			if got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
			var e *TokenError
			if (err != nil) != (c.err != "") || err != nil && (!errors.As(err, &e) || e.Error() != c.err || e.Status != c.status) {
				t.Errorf("got %v, want %q", err, c.err)
			}
		})
	}
}
