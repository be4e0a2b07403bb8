package sqlapi

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestPrefersWait sets how long the calls of a chat wait for approval.
func TestPrefersWait(t *testing.T) {
	for prefer, want := range map[string]string{
		"": "", "wait=30": "wait=30", "respond-async, Wait = 5": "wait=5", "wait=99999": "wait=600", "wait=0": "wait=0", "wait=30, wait=60": "wait=30",
		"wait": "", "wait=-1": "", "wait=soon": "", `wait="30"`: "", "wait=1e3": "", "waits=30": "",
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("POST", "/v1/chat/completions", nil)
		r.Header.Set(headerPrefer, prefer)
		withWait(w, r)
		if got := w.Header().Get(headerPreferenceApplied); got != want {
			t.Errorf("%q: applied %q, want %q", prefer, got, want)
		}
	}
}

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
