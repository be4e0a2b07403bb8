package format

import (
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

var fuzzSeeds = []string{"", "plain", `"`, `a"b`, "a,b", "\n", "\r\n", "\x00\x1f", "é😀", "\xff\xfe", "\xed\xa0\x80", "\u2028", `\`, "a\xc3", `""`}

func FuzzAppendString(f *testing.F) {
	for _, s := range fuzzSeeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := AppendString(nil, s)
		var back string
		if err := json.Unmarshal(out, &back); err != nil {
			t.Fatalf("%q: %s: %v", s, out, err)
		}
		if !utf8.Valid(out) {
			t.Fatalf("%q: %q is not UTF-8", s, out)
		}
		if want := perByte(s); back != want {
			t.Fatalf("%q: got %q, want %q", s, back, want)
		}
	})
}

// perByte replaces each byte that is not UTF-8 on its own.
func perByte(s string) string {
	var b strings.Builder
	for _, r := range s {
		b.WriteRune(r)
	}
	return b.String()
}

func FuzzAppendCSV(f *testing.F) {
	for _, s := range fuzzSeeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		line := append(append(appendCSV(nil, []byte(s)), ','), "end\n"...)
		record, err := csv.NewReader(strings.NewReader(string(line))).Read()
		if err != nil || len(record) != 2 || record[1] != "end" {
			t.Fatalf("%q: %q: %v %v", s, line, record, err)
		}
		if !utf8.Valid(line) {
			t.Fatalf("%q: %q is not UTF-8", s, line)
		}
		// encoding/csv makes \r\n in a field \n.
		if want := strings.ReplaceAll(s, "\r\n", "\n"); utf8.ValidString(s) && record[0] != want {
			t.Fatalf("got %q, want %q", record[0], want)
		}
	})
}

func FuzzNegotiate(f *testing.F) {
	f.Add("text/csv;q=0.5, */*;q=0")
	f.Fuzz(func(t *testing.T, accept string) {
		if Negotiate(accept).Name == "" {
			t.Fatal("no form")
		}
	})
}
