package tools_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/tools"
)

// TestParseRefusesWhatDecodingDrops has texts that encoding/json would decode in part.
func TestParseRefusesWhatDecodingDrops(t *testing.T) {
	var many strings.Builder
	for i := range 40 {
		fmt.Fprintf(&many, `"n%d":1,`, i)
	}
	for raw, want := range map[string]string{
		`{"a":1,"a":2}`:                       `the name "a" twice`,
		`{"a":1,"a":1}`:                       `the name "a" twice`,
		`{"a":1,"\u0061":2}`:                  `the name "\u0061" twice`,
		`{"x":[{"b":{},"c":[],"b":null}]}`:    `the name "b" twice`,
		`"{\"a\":1,\"a\":2}"`:                 `the name "a" twice`,
		`{` + many.String() + `"n3":2}`:       `the name "n3" twice`,
		`{"a":"\ud800"}`:                      `\ud800`,
		`{"a":"x\uDC00\ud83d\ude00"}`:         `\uDC00`,
		`{"a":"\ud83d\u0041"}`:                `\ud83d`,
		`{"\ud83d":1}`:                        `\ud83d`,
		"{\"a\":\"\xff\"}":                    "not UTF-8",
		`{"a":1,"b":"}","c":"\\","c":"\"" }`:  `the name "c" twice`,
		`{"a":{"a":1,"b":2},"b":[1,2],"a":3}`: `the name "a" twice`,
	} {
		_, _, e := tools.Parse(json.RawMessage(raw))
		if e == nil || e.Code != errcode.InvalidArguments || !strings.Contains(e.Message, want) {
			t.Errorf("%s: %v, want %s", raw, e, want)
		}
	}
	for _, raw := range []string{
		`{"a":{"a":{"a":["a","a",{"a":1}]}},"b":{"a":1}}`, `{"a":"\ud83d\ude00 \\ud800 \"","A":1}`, `{` + many.String() + `"n40":1}`,
		`[]`, `{"a":"\u0000\ufffd"}`, `{"":1," ":2}`, `{"a":"a","b":"a"}`,
	} {
		if _, _, e := tools.Parse(json.RawMessage(raw)); e != nil && strings.HasPrefix(raw, "{") {
			t.Errorf("%s: %v", raw, e)
		}
	}
}

// FuzzLosses has texts that are not JSON, too.
func FuzzLosses(f *testing.F) {
	for _, text := range []string{`}`, `]:,`, `{"a`, `"\`, `{"\ud8`, `{"a":1,"a"`, "\"\\", `{"`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(_ *testing.T, text []byte) { tools.Losses(text) })
}

// FuzzParseLoses compares with encoding/json: what is taken has all members that the text has.
func FuzzParseLoses(f *testing.F) {
	f.Add(`{"a":{"b":[1,"\ud83d\ude00"]},"c":"\\"}`)
	f.Add(`{"a":1,"\u0061":2}`)
	f.Add(`"{\"a\":\"\\ud800\"}"`)
	f.Fuzz(func(t *testing.T, raw string) {
		args, _, e := tools.Parse(json.RawMessage(raw))
		if e != nil || !strings.HasPrefix(strings.TrimSpace(raw), "{") {
			return
		}
		d := json.NewDecoder(strings.NewReader(raw))
		colons := 0
		for {
			token, err := d.Token()
			if err != nil {
				break
			}
			if text, ok := token.(string); ok && strings.ContainsRune(text, '\ufffd') && !strings.Contains(raw, "\ufffd") &&
				!strings.Contains(strings.ToLower(raw), `\ufffd`) {
				t.Errorf("%q has a replaced character", raw)
			}
			if token == json.Delim('{') {
				colons++
			}
		}
		if got := objects(args); got != colons {
			t.Errorf("%q has %d objects, and %d were taken", raw, colons, got)
		}
	})
}

// objects counts the objects of a value.
func objects(v any) int {
	n := 0
	switch v := v.(type) {
	case map[string]any:
		n = 1
		for _, part := range v {
			n += objects(part)
		}
	case []any:
		for _, part := range v {
			n += objects(part)
		}
	}
	return n
}
