package spicepod

import (
	"reflect"
	"strconv"
	"strings"
	"time"
)

// shape is how a Go type is written in YAML. Decoding, the JSON Schema and the docs use
// it.
type shape int

const (
	shapeAny       shape = iota
	shapeString          // string and named strings
	shapeText            // Text: a string with references
	shapeBool            // bool
	shapeInt             // int
	shapeFloat           // float64
	shapeDuration        // time.Duration
	shapeSize            // Size
	shapeCondition       // Condition: an expression, true or false
	shapeParams          // Params: any mapping, strings as Text
	shapeNames           // Names: a list, or a text with commas
	shapeReturns         // Returns: a type or a list of columns
	shapeList            // slice
	shapeMap             // map with string keys
	shapeStruct          // struct described by its tags
)

// shapeOf classifies a type; a pointer counts as the type it points to.
func shapeOf(t reflect.Type) shape {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[Text]():
		return shapeText
	case reflect.TypeFor[time.Duration]():
		return shapeDuration
	case reflect.TypeFor[Size]():
		return shapeSize
	case reflect.TypeFor[Condition]():
		return shapeCondition
	case reflect.TypeFor[Params]():
		return shapeParams
	case reflect.TypeFor[Names]():
		return shapeNames
	case reflect.TypeFor[Returns]():
		return shapeReturns
	}
	switch t.Kind() {
	case reflect.String:
		return shapeString
	case reflect.Bool:
		return shapeBool
	case reflect.Int:
		return shapeInt
	case reflect.Float64:
		return shapeFloat
	case reflect.Slice:
		return shapeList
	case reflect.Map:
		return shapeMap
	case reflect.Struct:
		return shapeStruct
	default:
		return shapeAny
	}
}

// field describes one key, by its struct tags:
//
//	yaml       the key
//	doc        one sentence for the schema and the docs
//	default    the value when the key is absent, as written in YAML
//	required   "true" if the key must be present
//	enum       the values a string may have
//	unserved   values of enum that are read but not served yet, which a warning reports
//	refuses    values of enum with which a component is not served
//	served     "no" when the key is read but not served yet, which a warning reports;
//	           "refused" when a Spicepod with it is refused, since what it protects would
//	           not be; "renamed" when the key has another name or place here
//	instead    what to use instead of a key or value that is not served, or the new name,
//	           names in '…'; or "nothing: " and the reason
//	min, max   the least and the largest number
//	component  the entries are components of this kind and may be `ref:` entries
//	file       the value names a file; its text goes to this field
//	presence   this bool field records whether the key is written
type field struct {
	index     int
	name      string
	doc       string
	fallback  string
	required  bool
	service   service
	enum      []string
	unserved  unservedValues
	instead   string
	min, max  *float64
	component string
	file      string
	presence  string
	shape     shape
	typ       reflect.Type
}

// unservedValues are the tags unserved and refuses.
type unservedValues struct{ ignored, refused []string }

// service is the tag served.
type service string

const (
	served    service = ""
	notServed service = "no"
	refused   service = "refused"
	renamed   service = "renamed"
)

// typeInfo describes one struct type.
type typeInfo struct {
	fields []field
	names  []string // keys in declaration order
	byName map[string]int
}

// served returns the keys that have an effect, in declaration order.
func (t *typeInfo) served() []string {
	var names []string
	for _, f := range t.fields {
		if f.service == served {
			names = append(names, f.name)
		}
	}
	return names
}

// describer builds typeInfo once per type. It is owned by one walk.
type describer map[reflect.Type]*typeInfo

func (d describer) describe(t reflect.Type) *typeInfo {
	if info := d[t]; info != nil {
		return info
	}
	info := &typeInfo{byName: map[string]int{}}
	d[t] = info
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("yaml")
		if name == "" || name == "-" || !f.IsExported() {
			continue
		}
		info.byName[name] = len(info.fields)
		info.names = append(info.names, name)
		info.fields = append(info.fields, describeField(i, name, f))
	}
	return info
}

func describeField(index int, name string, f reflect.StructField) field {
	described := field{
		index:     index,
		name:      name,
		doc:       f.Tag.Get("doc"),
		fallback:  f.Tag.Get("default"),
		required:  f.Tag.Get("required") == "true",
		service:   service(f.Tag.Get("served")),
		enum:      splitTag(f.Tag.Get("enum")),
		unserved:  unservedValues{ignored: splitTag(f.Tag.Get("unserved")), refused: splitTag(f.Tag.Get("refuses"))},
		instead:   f.Tag.Get("instead"),
		component: f.Tag.Get("component"),
		file:      f.Tag.Get("file"),
		presence:  f.Tag.Get("presence"),
		shape:     shapeOf(f.Type),
		typ:       f.Type,
	}
	if least, err := strconv.ParseFloat(f.Tag.Get("min"), 64); err == nil {
		described.min = &least
	}
	if most, err := strconv.ParseFloat(f.Tag.Get("max"), 64); err == nil {
		described.max = &most
	}
	return described
}

func splitTag(tag string) []string {
	if tag == "" {
		return nil
	}
	return strings.Split(tag, ",")
}

// Defaults returns a section of a Spicepod that says nothing, such as a [ToolSearch].
func Defaults[T any]() T {
	var section T
	describer{}.setDefaults(reflect.ValueOf(&section).Elem())
	return section
}

// setDefaults sets the defaults of a struct and the structs inside it. A pointer stays
// nil: the method for the field applies its default.
func (d describer) setDefaults(v reflect.Value) {
	info := d.describe(v.Type())
	for i := range info.fields {
		f := &info.fields[i]
		target := v.Field(f.index)
		if f.shape == shapeStruct && target.Kind() == reflect.Struct {
			d.setDefaults(target)
			continue
		}
		if f.fallback == "" || target.Kind() == reflect.Pointer {
			continue
		}
		switch f.shape {
		case shapeString:
			target.SetString(f.fallback)
		case shapeBool:
			target.SetBool(f.fallback == "true")
		case shapeInt:
			if n, err := strconv.ParseInt(f.fallback, 10, 64); err == nil {
				target.SetInt(n)
			}
		case shapeFloat:
			if n, err := strconv.ParseFloat(f.fallback, 64); err == nil {
				target.SetFloat(n)
			}
		case shapeDuration:
			if n, err := ParseDuration(f.fallback); err == nil {
				target.SetInt(int64(n))
			}
		case shapeSize:
			if n, err := ParseSize(f.fallback); err == nil {
				target.SetInt(int64(n))
			}
		}
	}
}
