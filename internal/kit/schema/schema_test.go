package schema_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/schema"
)

type part struct {
	Name string `json:"name" yaml:"name"`
	Next *part  `json:"next,omitempty" yaml:"next"`
}

type Outer struct {
	_     struct{} `open:"true"`
	Inner string   `json:"inner"`
}

type more struct {
	More *int64 `json:"more" required:"true" nullable:"true"`
}

// Name is hidden in Go by the field of the outer struct, not in JSON.
type Name struct {
	Name  string `json:"name"`
	Other string `json:"other"`
}

type named struct {
	Name
	Inner bool `json:"other"`
}

type encoded struct{}

func (encoded) JSONForm() any {
	return struct {
		Limit string `json:"limit"`
	}{}
}

type loose struct {
	Input json.RawMessage   `json:"input" type:"string|[]string"`
	Args  json.RawMessage   `json:"args,omitempty" type:"array|object|null"`
	Kinds []string          `json:"kinds" enum:"a,b" max:"2"`
	Days  uint8             `json:"days" default:"3" doc:"How many."`
	At    time.Time         `json:"at,omitzero"`
	Map   map[string][]byte `json:"map"`
	Any   any               `json:"any" type:"[]number"`
	*more
}

func TestObject(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{Outer{}, `{"additionalProperties":true,"properties":{"inner":{"type":"string"}},"required":["inner"],"type":"object"}`},
		{named{}, `{"additionalProperties":false,"properties":{"name":{"type":"string"},"other":{"type":"boolean"}},"required":["name","other"],"type":"object"}`},
		{&encoded{}, `{"additionalProperties":false,"properties":{"limit":{"type":"string"}},"required":["limit"],"type":"object"}`},
		{loose{}, `{"additionalProperties":false,"properties":{` +
			`"any":{"items":{"type":"number"},"type":"array"},` +
			`"args":{"type":["array","object","null"]},` +
			`"at":{"format":"date-time","type":"string"},` +
			`"days":{"default":3,"description":"How many.","maximum":255,"minimum":0,"type":"integer"},` +
			`"input":{"anyOf":[{"type":"string"},{"items":{"type":"string"},"type":"array"}]},` +
			`"kinds":{"items":{"enum":["a","b"],"type":"string"},"maxItems":2,"type":"array"},` +
			`"map":{"additionalProperties":{"type":"string"},"type":"object"},` +
			`"more":{"type":["integer","null"]}},"required":["any","input","kinds","map","more"],"type":"object"}`},
	} {
		d := schema.Deriver{Key: "json"}
		s, err := d.Object(reflect.TypeOf(c.value))
		if err != nil {
			t.Errorf("%T: %v", c.value, err)
			continue
		}
		if got, _ := json.Marshal(s); string(got) != c.want {
			t.Errorf("%T:\n got %s\nwant %s", c.value, got, c.want)
		}
	}
}

func TestCustom(t *testing.T) {
	d := schema.Deriver{Key: "yaml", Optional: true}
	d.Custom = func(t reflect.Type) schema.Schema {
		if t == reflect.TypeFor[part]() {
			return schema.Schema{"$ref": "#/$defs/part"}
		}
		return nil
	}
	s, err := d.Object(reflect.TypeFor[part]())
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(s)
	const want = `{"additionalProperties":false,"properties":{"name":{"type":"string"},"next":{"$ref":"#/$defs/part"}},"type":"object"}`
	if string(got) != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestErrors(t *testing.T) {
	for want, v := range map[string]any{
		"needs a struct": 5,
		"holds itself":   part{},
		"no complex":     struct{ A complex64 }{},
		"is not JSON": struct {
			A int `default:"x"`
		}{},
		"is not a bound": struct {
			A int `min:"one"`
		}{},
	} {
		d := schema.Deriver{Key: "json"}
		if _, err := d.Object(reflect.TypeOf(v)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%T: %v, want %q", v, err, want)
		}
	}
}
