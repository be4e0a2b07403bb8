package udf

import (
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/spicepod"
)

// Tests of a function are its examples unless they could show a model or a caller what it must
// not see: the reason is said.
func TestTestsAsExamples(t *testing.T) {
	r := start(t)
	one := func(name, args, tests string) string {
		return "  - { name: " + name + ", from: sql, description: d, volatility: immutable, signature: { args: [" + args +
			"], returns: utf8 }, body: \"'a'\", tests: [" + tests + "] }\n"
	}
	r.must(one("repeated", "{ name: w, type: utf8 }, { name: n, type: int64, default: 1 }",
		"{ args: { w: aaaaaaaa }, returns: a }, { args: { w: b }, returns: a }, { args: { w: b, n: 2 }, returns: a }, "+
			"{ args: { w: b, n: 3 }, returns: a }, { args: { w: b }, returns: a }, { args: { w: 1, n: x }, error: x }, "+
			"{ args: { w: b, n: '3' }, returns: a }") +
		one("secret", "{ name: apiKey, type: utf8 }", "{ args: { apiKey: x }, returns: a }") +
		one("pinned", "{ name: pinned, type: utf8 }", "{ args: { pinned: x }, returns: a }") +
		one("leaks", "{ name: w, type: utf8 }", "{ args: { w: sk-abcdefgh12345678 }, returns: a }") +
		one("plain", "{ name: w, type: utf8 }", "{ args: { w: x }, returns: a }"))
	traits := map[string]engine.Traits{"plain": {Protected: true, Caller: true}}
	on := spicepod.ToolDocuments{Tokens: 60, Tests: true}
	for name, want := range map[string]string{
		"repeated": `{"w":"b"} {"n":2,"w":"b"} {"w":"aaaaaaaa"} / `,
		"pinned":   `{"pinned":"x"} / `,
		"secret":   "/ the argument apiKey looks like a credential",
		"leaks":    "/ a test has a value that looks like a credential",
		"plain":    "/ it reads a dataset with a row filter or a column mask",
	} {
		tool, err := Tool(r.db, r.set.Get(name), ToolOptions{
			Functions: r.set, Documents: on,
			Traits: func(f *functions.Function) engine.Traits { return traits[f.Name] },
		})
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for _, e := range tool.Definition().Examples {
			got.WriteString(string(e.Arguments) + " ")
		}
		if got.WriteString("/ " + tool.Definition().Withheld); got.String() != want {
			t.Errorf("%s: %s, want %s", name, got.String(), want)
		}
	}
	off := NewToolSet(r.db, r.set, ToolOptions{}, NewToolSet(r.db, r.set, ToolOptions{Documents: on}, nil))
	for _, tool := range off.Tools {
		if d := tool.Definition(); len(d.Examples) > 0 || d.Withheld != "" {
			t.Errorf("%s: %+v without tests", d.Name, d.Document)
		}
	}
}
