package httpx

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// maxTokenAnswer bounds the answer of a token endpoint.
const maxTokenAnswer = 1 << 20

// Token is what a token endpoint of OAuth 2.0 issues (RFC 6749, 5.1).
type Token struct {
	Access, Refresh string        // Refresh replaces the refresh token of the request; "": none
	Lifetime        time.Duration // 0: not known
}

// TokenError is an answer of a token endpoint without a token.
type TokenError struct {
	Status int
	Code   string        // such as invalid_client; "": none
	Type   string        // of a token that clients must prove to have, such as mac; "": none
	After  time.Duration // that the server asks to wait
}

// provenTypes are the types of tokens that are no Bearer tokens, whatever the server calls
// those: MAC (draft-ietf-oauth-v2-http-mac), DPoP (RFC 9449) and PoP (RFC 7800).
var provenTypes = []string{"mac", "dpop", "pop"}

// Error has nothing of the answer but its code, since an answer may repeat secrets.
func (e *TokenError) Error() string {
	if e.Code != "" {
		return e.Code
	}
	if e.Type != "" {
		return "a token of the type " + e.Type
	}
	return fmt.Sprintf("HTTP %d, without a token", e.Status)
}

// tokenCode matches codes of errors, which are words.
var tokenCode = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// FetchToken asks a token endpoint for a token. The client is identified in the form, or
// by basic authentication if there is a user. An error is that of do, or a [*TokenError].
func FetchToken(ctx context.Context, do func(*http.Request) (*http.Response, error), endpoint string, form url.Values,
	client *url.Userinfo,
) (Token, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return Token{}, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	if client != nil {
		secret, _ := client.Password()
		r.SetBasicAuth(url.QueryEscape(client.Username()), url.QueryEscape(secret)) // RFC 6749, 2.3.1
	}
	answer, err := do(r)
	if err != nil {
		return Token{}, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxTokenAnswer))
	if err != nil {
		return Token{}, err
	}
	var got struct {
		Access    string          `json:"access_token"`
		Refresh   string          `json:"refresh_token"`
		Type      string          `json:"token_type"`
		ExpiresIn json.RawMessage `json:"expires_in"` // a number, or a text with one
		Error     any             `json:"error"`
	}
	err = json.Unmarshal(text, &got)
	code, _ := got.Error.(string)
	if err != nil || answer.StatusCode/100 != 2 || got.Access == "" || code != "" ||
		strings.ContainsAny(got.Access, "\r\n") {
		if !tokenCode.MatchString(code) {
			code = ""
		}
		return Token{}, &TokenError{Status: answer.StatusCode, Code: code, After: RetryAfter(answer.Header)}
	}
	if kind := strings.ToLower(got.Type); slices.Contains(provenTypes, kind) {
		return Token{}, &TokenError{Status: answer.StatusCode, Type: kind}
	}
	return Token{got.Access, got.Refresh, lifetime(got.ExpiresIn)}, nil
}

// lifetime reads expires_in. A token that has expired lives for a moment.
func lifetime(expiresIn json.RawMessage) time.Duration {
	var n json.Number
	if json.Unmarshal(expiresIn, &n) != nil || n == "" {
		return 0
	}
	s, err := n.Float64()
	if err != nil || math.IsNaN(s) {
		return 0
	}
	return max(1, seconds(max(0, s)))
}
