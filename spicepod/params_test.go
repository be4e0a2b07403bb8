package spicepod

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParamValues(t *testing.T) {
	text := func(s string) Text { return Text{Raw: s} }
	list := func(v ...any) []any { return v }
	for _, c := range []struct {
		written any
		typ     ParamType
		want    any
		fault   string // after "params.k takes "
	}{
		{text(" a "), ParamText, " a ", ""},
		{json.Number("1.50"), ParamText, "1.50", ""},
		{true, ParamText, "true", ""},
		{nil, ParamText, nil, "text, not null"},
		{list("a"), ParamText, nil, "text, not a list"},
		{true, ParamBool, true, ""},
		{text("FALSE"), ParamBool, false, ""},
		{text("yes"), ParamBool, nil, `true or false, not "yes"`},
		{text("TRUE"), ParamFlag, true, ""},
		{text("path"), ParamFlag, "path", ""},
		{json.Number("42"), ParamInt, 42, ""},
		{text("-7"), ParamInt, -7, ""},
		{json.Number("2.5"), ParamInt, nil, "a whole number, not 2.5"},
		{json.Number("2.5"), ParamNumber, 2.5, ""},
		{text(" 1e3 "), ParamNumber, 1000.0, ""},
		{text("inf"), ParamNumber, nil, `a number, not "inf"`},
		{text("1m30s"), ParamDuration, 90 * time.Second, ""},
		{json.Number("5"), ParamDuration, 5 * time.Second, ""},
		{text("1KiB"), ParamSize, Size(1024), ""},
		{text("zz"), ParamSize, nil, `a size such as 128MiB, not "zz"`},
		{text("a"), ParamTexts, []string{"a"}, ""},
		{list(text("a"), json.Number("1")), ParamTexts, []string{"a", "1"}, ""},
		{list(map[string]any{}), ParamTexts, nil, "text or a list of texts, not a mapping in the list"},
		{map[string]any{"a": text("INT")}, ParamTextMap, map[string]string{"a": "INT"}, ""},
		{map[string]any{"a": list()}, ParamTextMap, nil, `a mapping of names to values, not a list for "a"`},
		{map[string]any{}, ParamTextMap, map[string]string{}, ""},
		{list(text("INT")), ParamTextMap, nil, "a mapping of names to values, not a list"},
		{list(text("INT")), ParamTextsMap, []string{"INT"}, ""},
		{text("INT"), ParamTextsMap, nil, `a mapping of names to values, or a list of texts, not "INT"`},
		{map[string]any{"a": list(text("b"))}, ParamObject, map[string]any{"a": list("b")}, ""},
		{text(`{"a":{"z":1,"b":2}}`), ParamObject, map[string]any{"a": json.RawMessage(`{"z":1,"b":2}`)}, ""},
		{text("null"), ParamObject, nil, `a mapping, or JSON of one, not "null"`},
		{list(), ParamObject, nil, "a mapping, or JSON of one, not a list"},
	} {
		got, err := Params{"k": c.written}.Value("k", c.typ)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%v as %s: %s", c.written, c.typ, diff)
		}
		var fault *ParamError
		switch {
		case c.fault == "" && err == nil:
		case !errors.As(err, &fault) || fault.Key != "k" || fault.Message != "params.k takes "+c.fault:
			t.Errorf("%v as %s: error %v, want %q", c.written, c.typ, err, c.fault)
		}
	}
}

// TestCheckKnownNamesAll names all unknown params in one error, at the first.
func TestCheckKnownNamesAll(t *testing.T) {
	known := []string{"a"}
	if err := (Params{"a": 1}).CheckKnown("x", known); err != nil {
		t.Error(err)
	}
	err := Params{"c": 1, "b": 2, "a": 3}.CheckKnown("a dataset from x", known)
	if err == nil || err.Error() != `unknown params "b", "c" of a dataset from x` {
		t.Error(err)
	}
}
