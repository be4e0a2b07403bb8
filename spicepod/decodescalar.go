package spicepod

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// scalar decodes a node into a string, bool, number, duration, size or Text.
func (d *decoder) scalar(node *yaml.Node, v reflect.Value, f *field, kind shape) {
	want := kind.words()
	if node.Kind != yaml.ScalarNode {
		d.wrongType(node, want)
		return
	}
	tag := node.ShortTag()
	if !knownTag(tag) {
		d.fail(node, fmt.Sprintf("unknown tag %s", tag), "remove the tag")
		return
	}
	ok := true
	switch kind {
	case shapeString:
		d.text(node, tag, v, f)
	case shapeText:
		if ok = tag == "!!str" || tag == "!!timestamp"; ok {
			v.Set(reflect.ValueOf(Text{Raw: node.Value}))
			d.reference(node, v)
			d.checkNotEmpty(node, f)
		}
	case shapeCondition:
		ok = d.condition(node, tag, v)
	case shapeBool:
		var b bool
		if ok = tag == "!!bool" && node.Decode(&b) == nil; ok {
			v.SetBool(b)
		}
	case shapeInt:
		n, err := strconv.ParseInt(strings.ReplaceAll(node.Value, "_", ""), 0, strconv.IntSize)
		if ok = tag == "!!int" && err == nil; ok {
			v.SetInt(n)
			d.checkRange(node, float64(n), f)
		}
	case shapeFloat:
		var n float64
		ok = (tag == "!!int" || tag == "!!float") && node.Decode(&n) == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
		if ok {
			v.SetFloat(n)
			d.checkRange(node, n, f)
		}
	case shapeDuration:
		n, err := ParseDuration(node.Value)
		if ok = err == nil; ok {
			v.SetInt(int64(n))
		}
	case shapeSize:
		n, err := ParseSize(node.Value)
		if ok = err == nil; ok {
			v.SetInt(int64(n))
		}
	}
	if !ok {
		d.wrongScalar(node, tag, want, kind)
	}
}

// words describes the type in a message.
func (s shape) words() string {
	switch s {
	case shapeString, shapeText:
		return "text"
	case shapeCondition:
		return "a CEL expression, true or false"
	case shapeBool:
		return "true or false"
	case shapeInt:
		return "a whole number"
	case shapeFloat:
		return "a number"
	case shapeDuration:
		return "a duration such as 30s, 500ms or 2m30s"
	case shapeSize:
		return "a size such as 128MiB or 4GB"
	case shapeList:
		return "a list"
	case shapeNames:
		return "a name, or a list of names"
	case shapeReturns:
		return "a type, or a list of columns"
	case shapeParams, shapeMap, shapeStruct:
		return "a mapping"
	default:
		return "any value"
	}
}

func (d *decoder) wrongScalar(node *yaml.Node, tag, want string, kind shape) {
	hint := ""
	switch {
	case (kind == shapeString || kind == shapeText) && tag != "!!str":
		hint = fmt.Sprintf("put it in quotes: %q", node.Value)
	case kind == shapeBool:
		hint = boolHint(node.Value)
	case (kind == shapeInt || kind == shapeFloat) && tag == "!!str" && node.Style != 0 && isJSONNumber(node.Value):
		hint = "write it without quotes: " + node.Value
	}
	message := fmt.Sprintf("%s takes %s, not %s", d.subject(), want, describeNode(node))
	d.fail(node, message, hint)
}

func boolHint(text string) string {
	switch strings.ToLower(text) {
	case "yes", "on", "y", "1", "true":
		return "write true"
	case "no", "off", "n", "0", "false":
		return "write false"
	}
	return ""
}

// condition decodes a [Condition] and reports whether it is one.
func (d *decoder) condition(node *yaml.Node, tag string, v reflect.Value) bool {
	switch tag {
	case "!!str":
		v.SetString(node.Value)
		return true
	case "!!bool":
		var b bool
		if node.Decode(&b) != nil {
			return false
		}
		if v.SetString(""); b {
			v.SetString("true")
		}
		return true
	}
	return false
}

// text decodes a string and checks it against its enum.
func (d *decoder) text(node *yaml.Node, tag string, v reflect.Value, f *field) {
	isText := tag == "!!str" || tag == "!!timestamp"
	if f != nil && len(f.enum) > 0 && (!isText || !slices.Contains(f.enum, node.Value)) {
		message := fmt.Sprintf("%s takes %s, not %q", d.subject(), oneOf(f.enum), truncate.Runes(node.Value, maxShown))
		d.fail(node, message+nearest.Clause(node.Value, f.enum), "")
		return
	}
	if !isText {
		d.wrongScalar(node, tag, "text", shapeString)
		return
	}
	v.SetString(node.Value)
	if f == nil {
		return
	}
	if !d.dead && slices.Contains(f.unserved.ignored, node.Value) {
		d.notServed(node.Value, f.instead)
	}
	d.checkNotEmpty(node, f)
}

// checkNotEmpty refuses an empty required text.
func (d *decoder) checkNotEmpty(node *yaml.Node, f *field) {
	if f != nil && f.required && strings.TrimSpace(node.Value) == "" {
		d.fail(node, d.subject()+" is empty", "give it a value")
	}
}

func (d *decoder) checkRange(node *yaml.Node, n float64, f *field) {
	if f != nil && f.min != nil && n < *f.min {
		d.fail(node, fmt.Sprintf("%s is at least %v, not %s", d.subject(), *f.min, node.Value), "")
	}
	if f != nil && f.max != nil && n > *f.max {
		d.fail(node, fmt.Sprintf("%s is at most %v, not %s", d.subject(), *f.max, node.Value), "")
	}
}

func knownTag(tag string) bool {
	switch tag {
	case "!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp", "!!merge":
		return true
	}
	return false
}

// anyScalar decodes a scalar by its own type without losing digits.
func (d *decoder) anyScalar(node *yaml.Node, texts bool) any {
	tag := node.ShortTag()
	switch tag {
	case "!!null":
		return nil
	case "!!bool":
		var b bool
		if node.Decode(&b) == nil {
			return b
		}
	case "!!int", "!!float":
		if n, ok := exactNumber(node); ok {
			return n
		}
	case "!!str", "!!timestamp", "!!merge":
		if node.Style == 0 && isJSONNumber(node.Value) {
			return json.Number(node.Value) // beyond a float64, such as 1e400
		}
		if !texts {
			return node.Value
		}
		text := Text{Raw: node.Value}
		v := reflect.ValueOf(&text).Elem()
		d.reference(node, v)
		return text
	default:
		d.fail(node, fmt.Sprintf("unknown tag %s", tag), "remove the tag")
		return nil
	}
	d.fail(node, fmt.Sprintf("%s is not %s", describeNode(node), tag), "")
	return nil
}

// exactNumber keeps the digits of a number as written if JSON can represent them; .inf
// and .nan are float64.
func exactNumber(node *yaml.Node) (any, bool) {
	text := strings.ReplaceAll(strings.TrimPrefix(node.Value, "+"), "_", "")
	if isJSONNumber(text) {
		return json.Number(text), true
	}
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return json.Number(strconv.FormatInt(n, 10)), true
	}
	if n, err := strconv.ParseUint(text, 0, 64); err == nil {
		return json.Number(strconv.FormatUint(n, 10)), true
	}
	var f float64
	if err := node.Decode(&f); err != nil {
		return nil, false
	}
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return f, true
	}
	for _, pair := range [][2]string{{"-.", "-0."}, {"-", "-"}, {".", "0."}, {"", ""}} {
		if rest, ok := strings.CutPrefix(text, pair[0]); ok {
			text = pair[1] + rest
			break
		}
	}
	if text = strings.TrimSuffix(text, "."); isJSONNumber(text) {
		return json.Number(text), true
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64)), true
}
