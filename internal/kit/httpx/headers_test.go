package httpx_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/httpx"
)

func TestSplitHeaders(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "[]",
		"A: b, C: d":                    "[[A b] [C d]]",
		"A:b;C : d;":                    "[[A b] [C d]]",
		"Accept-Language: de, en; X: y": "[[Accept-Language de, en] [X y]]",
		"X: http://h/":                  "[[X http://h/]]",
	} {
		got, err := httpx.SplitHeaders(text)
		if err != nil || fmt.Sprint(got) != want {
			t.Errorf("%q: %v %v, want %s", text, got, err, want)
		}
	}
}

func FuzzHeaders(f *testing.F) {
	f.Add("A: b, C: d; e", `<https://h/?page=2>; rel="next", </x>; rel=last`)
	f.Add("", `<a,b;c>; title="<x>; rel=\"y\""; REL="prev next"`)
	f.Fuzz(func(t *testing.T, text, link string) {
		pairs, _ := httpx.SplitHeaders(text)
		for _, p := range pairs {
			if p[0] == "" || strings.ContainsAny(p[0]+p[1], "\r\n") {
				t.Errorf("%q", pairs)
			}
		}
		if next := httpx.NextLink(http.Header{"Link": {link}}); next != "" && !strings.Contains(link, next) {
			t.Errorf("%q is not in %q", next, link)
		}
	})
}

func TestNextLink(t *testing.T) {
	for link, want := range map[string]string{
		"": "", "x": "", "<a": "", "<a>": "", "<a>; rel": "", "<a>; rel=prev": "",
		`<a>; rel="next"`:         "a",
		`<a>;rel=next`:            "a",
		`<a?x=1,2;3>; rel="next"`: "a?x=1,2;3",
		`<p>; rel="prev", <n>; rel="next", <l>; rel=x`: "n",
		`<a>; title="rel=next, <b>"; rel="last"`:       "",
		`<a>; title="\"; rel=next"; rel="prev"`:        "",
		`<a>; REL = "start NEXT"`:                      "a",
		`<a>; rel="prev"; rel="next", <b>; rel=next`:   "b", // of two, the first counts
		`<a>; rel=next; title="x`:                      "a",
	} {
		if got := httpx.NextLink(http.Header{"Link": {"<z>; rel=self", link}}); got != want {
			t.Errorf("%s: got %q, want %q", link, got, want)
		}
	}
}
