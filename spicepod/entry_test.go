package spicepod

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// openEntry loads a model with params, written as the inside of a flow mapping.
func openEntry(t *testing.T, params string) *Entry {
	t.Helper()
	pod := mustLoad(t, head+"models:\n- {name: m, from: 'openai:x'}\n- name: n\n  from: openai:x\n  params: {"+params+"}\n")
	return &Entry{Pod: pod, Path: "models[1]", Component: "model n", Params: pod.Models[1].Params}
}

// faults are the problems of an entry as "column path: message (hint)"; all
// stand on the line of the params.
func faults(t *testing.T, e *Entry) (out []string) {
	t.Helper()
	for _, p := range e.Problems {
		if p.File != "spicepod.yaml" || p.Line != 8 || p.Component != "model n" || p.Severity != Error {
			t.Errorf("%s of %q, %s", p.Error(), p.Component, p.Severity)
		}
		text := fmt.Sprintf("%d %s: %s", p.Column, strings.TrimPrefix(p.Path, "models[1]"), p.Message)
		if p.Hint != "" {
			text += " (" + p.Hint + ")"
		}
		out = append(out, text)
	}
	return out
}

func TestEntryKnowsItsParams(t *testing.T) {
	declared := []Param{{Name: "endpoint"}, {Name: "timeout", Type: ParamDuration}}
	for params, want := range map[string][]string{
		"":                         nil,
		"timeout: 1s, endpoint: e": nil,
		"timeout: [1s]":            {`21 .params.timeout: params.timeout takes a duration such as 30s, not a list`},
		"timeuot: 1s":              {`12 .params.timeuot: unknown param "timeuot" of a model from x (did you mean "timeout"? known here: endpoint, timeout)`},
		"zz: 1, timeout: 1, aa: ~": {
			`31 .params.aa: unknown param "aa" of a model from x (known here: endpoint, timeout)`,
			`12 .params.zz: unknown param "zz" of a model from x (known here: endpoint, timeout)`,
		},
		"'a b': 1":                  {`12 .params["a b"]: unknown param "a b" of a model from x (known here: endpoint, timeout)`},
		"'': 1":                     {`12 .params[""]: unknown param "" of a model from x (known here: endpoint, timeout)`},
		`"q\"].x": {deep: [1, 2]}`:  {`12 .params["q\"].x"]: unknown param "q\"].x" of a model from x (known here: endpoint, timeout)`},
		"timeout: 1, Endpoint: 'e'": {`24 .params.Endpoint: unknown param "Endpoint" of a model from x (did you mean "endpoint"? known here: endpoint, timeout)`},
	} {
		e := openEntry(t, params)
		e.Known("a model from x", declared)
		if diff := cmp.Diff(want, faults(t, e)); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
	}
}

func TestEntryReadsParams(t *testing.T) {
	t.Setenv("SPICED_T_SECRET", hidden)
	t.Setenv("SPICED_T_LINE", " "+hidden+"\n")
	t.Setenv("SPICED_T_LINES", "a\nb")
	text := func(e *Entry) any { return e.Text("k") }
	header := func(e *Entry) any { return e.Header("k") }
	number := func(e *Entry) any { return e.Number("k", -1, 2, 5) }
	duration := func(e *Entry) any { return e.Duration("k", 0, time.Minute) }
	tests := []struct {
		params string
		read   func(*Entry) any
		want   any
		fault  string // "" for none; the value stands at column 15
	}{
		{"", text, "", ""},
		{"k: ~", text, "", ""},
		{"k: '  a b '", text, "a b", ""},
		{"k: 1.50", text, "1.50", ""},
		{"k: '${env:SPICED_T_LINE}'", text, hidden, ""},
		{"k: [a]", text, "", "params.k takes text, not a list"},
		{"k: {a: b}", text, "", "params.k takes text, not a mapping"},

		{"", header, "", ""},
		{"k: ' a ~ b '", header, "a ~ b", ""},
		{"k: '${env:SPICED_T_LINE}'", header, hidden, ""},
		{"k: '${env:SPICED_T_LINES}'", header, "a\nb", "params.k holds a character that no header may hold"},
		{`k: "a\tb"`, header, "a\tb", "params.k holds a character that no header may hold"},
		{`k: "a\x7fb"`, header, "a\x7fb", "params.k holds a character that no header may hold"},
		{"k: é", header, "é", "params.k holds a character that no header may hold"},
		{"k: [a]", header, "", "params.k takes text, not a list"},

		{"", number, -1, ""},
		{"k: ~", number, -1, ""},
		{"k: 2", number, 2, ""},
		{"k: '5'", number, 5, ""},
		{"k: 1", number, 1, "params.k takes 2 to 5"},
		{"k: 6", number, 6, "params.k takes 2 to 5"},
		{"k: -1", number, -1, "params.k takes 2 to 5"},
		{"k: 2.5", number, -1, "params.k takes a whole number, not 2.5"},
		{"k: '${env:SPICED_T_SECRET}'", number, -1, `params.k takes a whole number, not "${env:SPICED_T_SECRET}"`},

		{"", duration, time.Duration(0), ""},
		{"k: 1us", duration, time.Microsecond, ""},
		{"k: 1m", duration, time.Minute, ""},
		{"k: 30", duration, 30 * time.Second, ""},
		{"k: 0s", duration, time.Duration(0), "params.k takes more than 0 and at most 1m0s"},
		{"k: 61s", duration, 61 * time.Second, "params.k takes more than 0 and at most 1m0s"},
		{"k: -1s", duration, time.Duration(0), `params.k takes a duration such as 30s, not "-1s"`},
		{"k: [1s]", duration, time.Duration(0), "params.k takes a duration such as 30s, not a list"},
	}
	for _, test := range tests {
		e := openEntry(t, test.params)
		if got := test.read(e); got != test.want {
			t.Errorf("%s is %q, want %q", test.params, got, test.want)
		}
		var want []string
		if test.fault != "" {
			want = []string{"15 .params.k: " + test.fault}
		}
		if diff := cmp.Diff(want, faults(t, e)); diff != "" {
			t.Errorf("%s: %s", test.params, diff)
		}
	}
}

func TestEntryFault(t *testing.T) {
	e := openEntry(t, "k: 1, l: 2")
	if e.Fault() != nil {
		t.Error("a fault of nothing")
	}
	if e.Problems = append(e.Problems, e.Remark(".from", "", "100%s")); e.Fault() != nil || e.Problems[0].Message != "100%s" {
		t.Errorf("a remark is the fault %v", e.Fault())
	}
	e.FailParam("l", "h", "%d of %s", 2, "l")
	e.Fail(".from", "", "later")
	if got := e.Fault().Error(); got != "spicepod.yaml:8:21: model n: 2 of l (h)" {
		t.Errorf("the fault is %s", got)
	}
	if got := e.Problem("", "", "all"); got.Line != 6 || len(e.Problems) != 3 {
		t.Errorf("%s; %d kept", got.Error(), len(e.Problems))
	}
}

func TestEntrySecrets(t *testing.T) {
	t.Setenv("SPICED_T_SECRET", hidden)
	t.Setenv("SPICED_T_LINE", hidden+"\n")
	t.Setenv("SPICED_T_EMPTY", "")
	t.Setenv("SPICED_T_URL", "https://in.example:8443/v1?api-version=1&key=a%20b&key=c&none=")
	declared := []Param{{Name: "x_api_key", Secret: true}, {Name: "organization", Secret: true}, {Name: "endpoint", Secret: true}, {Name: "other"}}
	for params, want := range map[string][]string{
		"": nil,
		"x_api_key: plain, organization: plain, endpoint: 'http://h/?k=v'": {"plain"},
		"x_api_key: 12345": {"12345"},
		"x_api_key: [a]":   nil,
		"x_api_key: '${env:SPICED_T_LINE}', organization: '${env:SPICED_T_SECRET}'": {hidden},
		"x_api_key: '${env:SPICED_T_EMPTY}', organization: '${env:SPICED_T_EMPTY}'": nil,
		"organization: 'https://h/?k=${env:SPICED_T_SECRET}'":                       {"https://h/?k=" + hidden},
		"endpoint: '${env:SPICED_T_URL}'": {
			"1", "a b", "c",
			"https://in.example:8443/v1?api-version=1&key=a%20b&key=c&none=", "in.example", "in.example:8443",
		},
		"endpoint: 'http://h/?k=${env:SPICED_T_SECRET}', other: '${env:SPICED_T_EMPTY}'": {"h", "http://h/?k=" + hidden, hidden},
		"endpoint: '://${env:SPICED_T_SECRET}'":                                          {"://" + hidden},
	} {
		e := openEntry(t, params)
		if diff := cmp.Diff(want, e.Secrets(declared), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
		if len(e.Problems) != 0 {
			t.Errorf("%s: %v", params, e.Problems)
		}
	}
}
