package tools

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
)

// TestQuickAcceptsOnlyWhatTheLibraryAccepts compares the two on random values.
func TestQuickAcceptsOnlyWhatTheLibraryAccepts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	accepted := 0
	for _, text := range []string{
		`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"string"}},"required":["a"],"additionalProperties":false}`,
		`{"properties":{"a":{"type":"integer","minimum":0,"maximum":10},"b":{"enum":["x","y"]}}}`,
		`{"properties":{"a":{"type":["boolean","null"]},"b":{"type":"array","items":{"type":["integer","string"]}}}}`,
		`{"properties":{"a":{"properties":{"b":{"type":"null"}},"required":["b"]},"b":{"enum":[1,"x",null]}},"additionalProperties":true}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"type":"array","items":{"enum":["x"]}},"b":true}}`,
		`{"properties":{"a":{"type":["integer","string"],"format":"int64","pattern":"^-?[0-9]+$","minimum":-5,"maximum":9},"b":{"pattern":"^x"}}}`,
		`{"properties":{"a":{"minimum":9007199254740993},"b":{"maximum":0.1}}}`,
	} {
		s, err := Compile(json.RawMessage(text))
		if err != nil {
			t.Fatal(err)
		}
		if s.fast == nil {
			t.Errorf("%s is not covered", text)
		}
		for range 5000 {
			value := randomValue(rnd, 3)
			if !s.fast.accepts(value) {
				continue
			}
			accepted++
			if found := s.check(value); len(found) > 0 {
				t.Fatalf("%s: %v is accepted and has the faults %v", text, value, found)
			}
		}
	}
	if accepted < 1000 {
		t.Errorf("only %d values were accepted", accepted)
	}
}

func randomValue(rnd *rand.Rand, depth int) any {
	scalars := []any{
		nil, true, "x", "y", "", "12", json.Number("0"), json.Number("1.0"), json.Number("7"), json.Number("-3e1"),
		json.Number("9007199254740993"), json.Number("9007199254740992"), json.Number("0.1"), json.Number("0.10000000000000000001"),
		json.Number("1e999999"), json.Number("x"),
	}
	switch kind := rnd.IntN(4); {
	case kind == 0 && depth > 0 || depth == 3:
		object := map[string]any{}
		for _, name := range []string{"a", "b", "c"} {
			if rnd.IntN(3) > 0 {
				object[name] = randomValue(rnd, depth-1)
			}
		}
		return object
	case kind == 1 && depth > 0:
		list := []any{}
		for range rnd.IntN(3) {
			list = append(list, randomValue(rnd, depth-1))
		}
		return list
	}
	return scalars[rnd.IntN(len(scalars))]
}
