package toolloop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	"image/png"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/toolloop"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

func TestRender(t *testing.T) {
	tests := map[string]struct {
		result tools.Result
		want   string
	}{
		"a value":  {tools.Result{OK: true, Result: json.RawMessage(`{"km": 878.4}`)}, `{"km": 878.4}`},
		"text":     {tools.Result{OK: true, Result: json.RawMessage(`"a <b>"`)}, `"a <b>"`},
		"nothing":  {tools.Result{OK: true}, `null`},
		"all rows": {tools.Result{OK: true, Result: json.RawMessage(`[1,2]`), Rows: &tools.Rows{Returned: 2}}, `[1,2]`},
		"some rows": {
			tools.Result{OK: true, Result: json.RawMessage(`[1,2]`), Rows: &tools.Rows{Returned: 2, Truncated: true}},
			`{"result":[1,2],"truncated":true,"returned":2}`,
		},
		"a notice": {tools.Result{OK: true, Result: json.RawMessage(`"<b>"`), Notices: []string{"a < b"}}, `{"result":"<b>","notices":["a < b"]}`},
		"an error": {
			tools.Result{Error: tools.NewError(errcode.Execution, "division by zero", "")},
			`Failed to call the tool t. An error occurred: division by zero`,
		},
		"neither": {tools.Result{}, `Failed to call the tool t. An error occurred: the tool returned neither a result nor an error`},
	}
	for name, test := range tests {
		got := toolloop.Render(&chat.Call{ID: "i", Name: "t"}, test.result, 1<<16)
		if got.Text() != test.want || got.Error == test.result.OK || got.ID != "i" || got.Name != "t" {
			t.Errorf("%s: %+v %s", name, got, got.Text())
		}
	}
}

func TestRenderKeepsTheLimit(t *testing.T) {
	values := map[string]json.RawMessage{
		"plain":  json.RawMessage(`"` + strings.Repeat("x", 9000) + `"`),
		"quotes": json.RawMessage(`"` + strings.Repeat(`\"`, 9000) + `"`),
		"wide":   json.RawMessage(`"` + strings.Repeat("€", 9000) + `"`),
	}
	for name, value := range values {
		for _, limit := range []int{120, 121, 122, 123, 1000, 6000, 8999} {
			r := tools.Result{OK: true, Result: value}
			text := toolloop.Render(&chat.Call{}, r, limit).Text()
			var shown struct {
				Truncated    bool
				Bytes, Limit int
				Preview      string
			}
			if err := json.Unmarshal([]byte(text), &shown); err != nil {
				t.Fatal(err)
			}
			if len(text) > limit || !shown.Truncated || shown.Bytes != len(value) || shown.Limit != limit || shown.Preview == "" || len(shown.Preview) > 4096 {
				t.Errorf("%s, %d: %d bytes, %+v", name, limit, len(text), shown)
			}
			if !strings.HasPrefix(string(value), shown.Preview) || !utf8.ValidString(shown.Preview) || strings.ContainsRune(shown.Preview, '\uFFFD') {
				t.Errorf("%s, %d: preview %q", name, limit, shown.Preview)
			}
		}
	}
	long := tools.Result{Error: tools.NewError(errcode.Execution, strings.Repeat("€", 9000), "")}
	if got := toolloop.Render(&chat.Call{Name: "t"}, long, 1000).Text(); len(got) > 1000 || !utf8.ValidString(got) || !strings.HasSuffix(got, "…") {
		t.Errorf("%d bytes", len(got))
	}
}

func TestALargeResultIsNotKept(t *testing.T) {
	const size = 50 << 20
	d := invoker(func(context.Context, registry.Call) tools.Result {
		large := make([]byte, size)
		for i := range large {
			large[i] = '1'
		}
		return tools.Result{OK: true, Result: large}
	})
	m := &model{scripts: []script{asks("one {}"), asks("one {}"), says("done")}}
	before := heap()
	o := run(t, &toolloop.Loop{Provider: m, Invoker: d}, ask("go"), offered("one"), nil)
	if grown := heap() - before; grown > size/10 {
		t.Errorf("%d bytes are kept", grown)
	}
	for _, e := range o.events {
		if e.Tool != nil && e.Tool.Result != nil && len(e.Tool.Result.Result) > 5000 {
			t.Errorf("an event has %d bytes", len(e.Tool.Result.Result))
		}
	}
	if got := m.requests[1].Messages[2].Parts[0].Result.Text(); !strings.HasPrefix(got, `{"truncated":true,"bytes":52428800,"limit":65536,"preview":"1111`) {
		t.Error(got[:100])
	}
	runtime.KeepAlive(m)
}

func heap() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

func shot(t testing.TB, width, height int) tools.Content {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return tools.Content{MediaType: "image/png", Data: b.Bytes()}
}

// TestImagesOfResults has results with media in a chat that may have two images and one PDF.
func TestImagesOfResults(t *testing.T) {
	dot := shot(t, 1, 1)
	webp := tools.Content{MediaType: "image/webp", Data: []byte("RIFF\x24\x00\x00\x00WEBPVP8 ")}
	page := tools.Content{MediaType: "text/plain", Name: "file:///docs/a.pdf", Data: []byte("%PDF-1.7\n%%EO")}
	cases := map[string]struct {
		content []tools.Content
		want    string // <> is an image or a PDF
	}{
		"text":  {[]tools.Content{{Text: "a"}, {Text: "b"}}, "a|\nb"},
		"image": {[]tools.Content{{Text: "a"}, dot, {Text: "b"}}, "a|<image/png>|\nb"},
		"webp":  {[]tools.Content{webp}, "<image/webp>"},
		"three": {[]tools.Content{dot, dot, dot}, "<image/png>|<image/png>|\n[left out: image/png, 71 bytes: the chat has 2 images already]"},
		"wide":  {[]tools.Content{shot(t, 8001, 1)}, "[left out: image/png, 91 bytes: it has 8001 × 1 pixels; a side can have 8000]"},
		"large": {
			[]tools.Content{{MediaType: "image/png", Data: append(shot(t, 1, 1).Data, make([]byte, 4<<20)...)}},
			"[left out: image/png, 4194375 bytes: an image can have 3932160 bytes]",
		},
		"damaged": {[]tools.Content{{MediaType: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}}, "[left out: image/png, 8 bytes: the image is damaged]"},
		"sound": {
			[]tools.Content{{MediaType: "audio/\nwav", Name: "x\ny", Data: []byte("RIFF")}},
			"[left out: x y, audio/ wav, 4 bytes: only PNG, JPEG, GIF and WebP images, and PDFs, can be shown]",
		},
		"no bytes": {
			[]tools.Content{{MediaType: "image/png", Data: []byte{}}},
			"[left out: image/png, 0 bytes: only PNG, JPEG, GIF and WebP images, and PDFs, can be shown]",
		},
		"PDFs": {[]tools.Content{page, page}, "<a.pdf>|\n[left out: file:///docs/a.pdf, text/plain, 13 bytes: the chat has 1 PDF already]"},
		"long text": {
			[]tools.Content{{Text: strings.Repeat("x", 2000)}, dot},
			`{"truncated":true,"bytes":2000,"limit":1000,"preview":"` + strings.Repeat("x", 500) + `"}|<image/png>`,
		},
		"SVG is text": {
			[]tools.Content{{MediaType: "image/svg+xml", Data: []byte("<svg/>")}},
			"[left out: image/svg+xml, 6 bytes: only PNG, JPEG, GIF and WebP images, and PDFs, can be shown]",
		},
	}
	for name, c := range cases {
		m := &model{scripts: []script{asks("one {}"), says("done")}}
		shoots := invoker(func(context.Context, registry.Call) tools.Result {
			return tools.Result{OK: true, Result: json.RawMessage(`[]`), Content: c.content}
		})
		run(t, &toolloop.Loop{Provider: m, Invoker: shoots, Limits: toolloop.Limits{Images: 2, PDFs: 1, ResultBytes: 1000}}, ask("go"), offered("one"), nil)
		var got []string
		for _, p := range m.requests[1].Messages[2].Parts[0].Result.Parts {
			if p.Image != nil {
				p.Text = "<" + p.Image.MediaType + ">"
			}
			if p.File != nil && p.File.MediaType == "application/pdf" {
				p.Text = "<" + p.File.Name + ">"
			}
			got = append(got, p.Text)
		}
		if text := strings.Join(got, "|"); text != c.want {
			t.Errorf("%s: got %s", name, text)
		}
	}
}

// TestImagesOfTheClientCount towards the limit of a chat, also those of an earlier result.
func TestImagesOfTheClientCount(t *testing.T) {
	r := ask("go")
	picture := chat.Part{Kind: chat.PartImage, Image: &chat.Image{URL: "https://example.com/a.png"}}
	r.Messages[0].Parts = append(r.Messages[0].Parts, picture, chat.Part{Kind: chat.PartResult, Result: &chat.CallResult{Parts: []chat.Part{picture}}})
	shoots := invoker(func(context.Context, registry.Call) tools.Result {
		return tools.Result{OK: true, Result: json.RawMessage(`[]`), Content: []tools.Content{shot(t, 1, 1)}, Notices: []string{"repaired"}}
	})
	for most, want := range map[int]string{
		2:  "left out: image/png, 71 bytes: the chat has 2 images already]\nrepaired",
		-1: "this model is not sent images]\nrepaired", 3: "\nrepaired",
	} {
		m := &model{scripts: []script{asks("one {}"), says("done")}}
		run(t, &toolloop.Loop{Provider: m, Invoker: shoots, Limits: toolloop.Limits{Images: most}}, r, offered("one"), nil)
		if got := m.requests[1].Messages[2].Parts[0].Result.Text(); !strings.HasSuffix(got, want) || most == 3 && got != want {
			t.Errorf("%d: got %s", most, got)
		}
	}
}
