package auth

import (
	"encoding/base64"
	"net/http"
	"strings"
)

// FromHeader returns the key of a request: X-API-Key, or in Authorization the
// token of Bearer or the password of Basic, whose user name is ignored. ok is
// false if there is no key, or several different ones. The names in h are in
// canonical form, as [http.Header.Set] writes them.
func FromHeader(h http.Header) (key string, ok bool) {
	for _, given := range keysOf(h) {
		if key != "" && given != key {
			return "", false
		}
		key = given
	}
	return key, key != ""
}

// keysOf are the keys in a header; empty keys are ignored.
func keysOf(h http.Header) []string {
	var keys []string
	for _, value := range h.Values("X-API-Key") {
		if key := strings.TrimSpace(value); key != "" {
			keys = append(keys, key)
		}
	}
	for _, value := range h.Values("Authorization") {
		if key := authorization(value); key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// authorization is the key in a value of Authorization (RFC 9110, 11.6.2), or
// "". The scheme is compared without case.
func authorization(value string) string {
	scheme, rest, _ := strings.Cut(strings.TrimSpace(value), " ")
	rest = strings.TrimSpace(rest)
	switch {
	case strings.EqualFold(scheme, "Bearer"):
		return rest
	case strings.EqualFold(scheme, "Basic"):
		return basicPassword(rest)
	}
	return ""
}

// basicPassword is the password of RFC 7617, 2: base64 of user:password.
func basicPassword(credentials string) string {
	text, err := base64.StdEncoding.DecodeString(credentials)
	if err != nil {
		return ""
	}
	_, password, _ := strings.Cut(string(text), ":")
	return password
}
