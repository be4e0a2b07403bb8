package sqlapi

import (
	"net/http"
	"testing"
)

func TestPrefersAsync(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  bool
	}{
		{nil, false},
		{[]string{""}, false},
		{[]string{"respond-async"}, true},
		{[]string{" Respond-Async ; x=1"}, true},
		{[]string{"respond-async, wait=10"}, true},
		{[]string{"wait=10,respond-async"}, true},
		{[]string{"wait=10", "return=minimal, respond-async"}, true},
		{[]string{`foo="a, b", respond-async`}, true},
		{[]string{"respond-asyncx"}, false},
		{[]string{"respond-async=no"}, false},
		{[]string{`respond-async="no"`}, false},
		{[]string{`respond-async=""`}, true},
		{[]string{"respond-async ="}, true},
		{[]string{"wait=10; respond-async"}, false},
		{[]string{`foo="a, respond-async, b"`}, false},
		{[]string{`foo="a\", respond-async, b"`}, false},
		{[]string{`foo="a, respond-async`}, true}, // no string ends
	} {
		if got := prefersAsync(&http.Request{Header: http.Header{headerPrefer: c.lines}}); got != c.want {
			t.Errorf("%q: got %v", c.lines, got)
		}
	}
}
