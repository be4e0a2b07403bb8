package auth_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/access/auth"
)

func basic(text string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(text)) }

func TestFromHeader(t *testing.T) {
	for _, c := range []struct {
		name           string
		apiKey         []string
		authorizations []string
		want           string // "": not ok
	}{
		{"none", nil, nil, ""},
		{"X-API-Key", []string{"k"}, nil, "k"},
		{"bearer", nil, []string{"Bearer k"}, "k"},
		{"scheme in any case", nil, []string{"bEARER k"}, "k"},
		{"basic", nil, []string{basic("ann:k")}, "k"},
		{"basic without a user", nil, []string{basic(":k")}, "k"},
		{"basic with colons in the key", nil, []string{basic("ann:k:rw:")}, "k:rw:"},
		{"basic in any case", nil, []string{strings.Replace(basic("ann:k"), "Basic", "bASIC", 1)}, "k"},
		{"spaces around", []string{" k\t"}, []string{" Bearer   k "}, "k"},
		{"both the same", []string{"k"}, []string{"Bearer k"}, "k"},
		{"all the same", []string{"k", "k"}, []string{"Bearer k", basic("ann:k")}, "k"},
		{"both, different", []string{"k"}, []string{"Bearer l"}, ""},
		{"different in case", []string{"k"}, []string{"Bearer K"}, ""},
		{"two X-API-Key", []string{"k", "l"}, nil, ""},
		{"two authorizations", nil, []string{"Bearer k", basic("ann:l")}, ""},
		{"another scheme next to the key", []string{"k"}, []string{"Negotiate abc"}, "k"},
		{"empty next to the key", []string{""}, []string{"Bearer k"}, "k"},
		{"the key next to empty", []string{"k"}, []string{"Bearer"}, "k"},
		{"another scheme", nil, []string{"Digest k"}, ""},
		{"no scheme", nil, []string{"k"}, ""},
		{"scheme without a space", nil, []string{"Bearerk"}, ""},
		{"empty key", []string{"  "}, nil, ""},
		{"bearer of nothing", nil, []string{"Bearer "}, ""},
		{"basic of nothing", nil, []string{"Basic"}, ""},
		{"basic of no base64", nil, []string{"Basic ann:k"}, ""},
		{"basic without a colon", nil, []string{basic("k")}, ""},
		{"basic with an empty password", nil, []string{basic("k:")}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := http.Header{"X-Api-Key": c.apiKey, "Authorization": c.authorizations}
			got, ok := auth.FromHeader(h)
			if got != c.want || ok != (c.want != "") {
				t.Errorf("%q, %t", got, ok)
			}
		})
	}
}

func FuzzFromHeader(f *testing.F) {
	f.Add("k", "Bearer k")
	f.Add("", basic("ann:k"))
	f.Add("k", basic("ann:l"))
	f.Add("", "Basic =")
	f.Fuzz(func(t *testing.T, apiKey, authorization string) {
		h := http.Header{"X-Api-Key": {apiKey}, "Authorization": {authorization}}
		key, ok := auth.FromHeader(h)
		if ok != (key != "") {
			t.Errorf("%q, %t", key, ok)
		}
		if given := strings.TrimSpace(apiKey); ok && given != "" && key != given {
			t.Errorf("%q is not X-API-Key", key)
		}
	})
}
