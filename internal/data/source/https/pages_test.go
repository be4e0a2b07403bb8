package https

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"github.com/spiced-sql/spiced/spicepod"
)

func TestPointer(t *testing.T) {
	// The examples of RFC 6901, 5.
	const doc = `{"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8, "n": {"x": [{"y": null}]}}`
	for text, want := range map[string]string{
		"/foo": `["bar", "baz"]`, "/foo/0": `"bar"`, "/": "0", "/a~1b": "1", "/c%d": "2", "/e^f": "3", "/g|h": "4", "/i\\j": "5", "/k\"l": "6", "/ ": "7",
		"/m~0n":    "8",
		"/n/x/0/y": "null", "/foo/2": "", "/foo/-1": "", "/foo/x": "", "/foo/0/x": "", "/none": "", "/n/x/0/y/z": "",
	} {
		p, err := pointerParam(spicepod.Params{"p": spicepod.Text{Raw: text}}, "p")
		if err != nil {
			t.Fatal(err)
		}
		got, ok := p.find(json.RawMessage(doc))
		if string(got) != want || ok != (want != "") {
			t.Errorf("%s: got %s, %v; want %s", text, got, ok, want)
		}
		if p.String() != text {
			t.Errorf("%s is written as %s", text, p)
		}
	}
}

// FuzzPages reads what servers send. Rows are JSON, no page is read twice, and all are on
// the host of the first one.
func FuzzPages(f *testing.F) {
	for _, seed := range []struct{ body, link string }{
		{`{"data":[{"a":1},{"a":2}],"next":"/x?page=2"}`, ""},
		{`{"data":{"k":{"a":1}},"next":7}`, `<https://h:8/y>; rel="next"`},
		{`[1,"x",[null]]`, `</z>; rel=next`},
		{`{"data":null,"next":"//other/x"}`, `<http:evil>; rel="next"`},
		{`{"data":[],"next":"https://user:pw@h/%zz"}`, `<>; rel="next"`},
	} {
		for mode := range uint8(8) {
			f.Add([]byte(seed.body), seed.link, mode)
		}
	}
	base, err := url.Parse("https://h/list?key=1")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte, link string, mode uint8) {
		g := paging{MaxPages: 10, Map: mode&1 != 0}
		if mode&2 != 0 {
			g.Data = pointer{"data"}
		}
		if mode&4 != 0 {
			g.Next = pointer{"next"}
		}
		if mode&8 != 0 && g.Next != nil {
			g.Token = "token"
		}
		p := g.pages(base)
		at := p.first()
		asked := map[string]bool{at.String(): true}
		for { // a server that always sends the same
			read, err := g.read(http.Header{"Link": {link}}, body, func(row json.RawMessage) error {
				if !json.Valid(row) {
					t.Errorf("row %q", row)
				}
				return nil
			})
			if err != nil {
				return
			}
			if at, err = p.after(read, at); at == nil || err != nil {
				return
			}
			if at.Scheme != "https" || at.Host != "h" && at.Host != "H" || at.User != nil {
				t.Fatalf("the next page is %s", at)
			}
			if asked[at.String()] {
				t.Fatalf("%s is read twice", at)
			}
			asked[at.String()] = true
		}
	})
}
