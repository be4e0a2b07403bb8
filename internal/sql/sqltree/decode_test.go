package sqltree

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// FuzzDecodeJSON compares decodeJSON with encoding/json.
func FuzzDecodeJSON(f *testing.F) {
	for _, text := range []string{
		`{"error":false,"statements":[{"node":{"type":"SELECT_NODE","modifiers":[],"cte_map":{"map":[]},"n":1.5e3,"x":-7,"null":null,"t":true}}]}`,
		`"a\"b\\cé\n"`, `"a` + "\x01" + `"`, `"` + "\xff" + `"`, `"ümlaut"`, `{"a":1,"a":2}`, ` [ 1 , 2 ] `,
		``, `{`, `{}`, `[]`, `[,1]`, `[1,]`, `{,}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{1:2}`, `nul`, `01`, `1 2`, `"a`, `"a\`, `[1}`, `tru]`, `{"a" : [ ] }`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want any
		wantErr := json.Unmarshal([]byte(text), &want)
		got, err := decodeJSON([]byte(text))
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: error %v, want %v", text, err, wantErr)
		}
		if err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%q is %#v, want %#v", text, got, want)
		}
	})
}

func TestDecodeDepth(t *testing.T) {
	for _, depth := range []int{9_000, 100_000} {
		text := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		if _, err := decodeJSON([]byte(text)); (err == nil) != (depth < maxJSONDepth) {
			t.Errorf("depth %d: error %v", depth, err)
		}
	}
}

func BenchmarkDecodeJSON(b *testing.B) {
	call := `{"class":"FUNCTION","type":"FUNCTION","alias":"","query_location":12,"function_name":"cos","schema":"","children":[{"class":"COLUMN_REF","type":"COLUMN_REF","alias":"","query_location":16,"column_names":["lat1"]}],"filter":null,"order_bys":{"type":"ORDER_MODIFIER","orders":[]},"distinct":false,"is_operator":false,"export_state":false,"catalog":""}`
	text := []byte("[" + strings.Repeat(call+",", 20) + call + "]")
	b.Run("encoding/json", func(b *testing.B) {
		for b.Loop() {
			var v any
			_ = json.Unmarshal(text, &v)
		}
	})
	b.Run("decodeJSON", func(b *testing.B) {
		for b.Loop() {
			_, _ = decodeJSON(text)
		}
	})
}
