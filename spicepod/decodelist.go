package spicepod

import (
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// list decodes a sequence into a slice.
func (d *decoder) list(node *yaml.Node, v reflect.Value, f *field) {
	if node.Kind != yaml.SequenceNode {
		d.wrongType(node, "a list")
		return
	}
	elem := v.Type().Elem()
	items := reflect.MakeSlice(v.Type(), len(node.Content), len(node.Content))
	for i, item := range node.Content {
		if d.bomb {
			break
		}
		d.pushIndex(i)
		if elem.Kind() == reflect.Struct && shapeOf(elem) == shapeStruct {
			d.types.setDefaults(items.Index(i))
		}
		if n := target(item); n != nil && isNull(n) && elem.Kind() != reflect.Interface {
			d.fail(item, d.subject()+" is empty", "give it a value, or remove the -")
		} else {
			d.value(item, items.Index(i), f)
		}
		d.pop()
	}
	v.Set(items)
}

// names decodes [Names].
func (d *decoder) names(node *yaml.Node, v reflect.Value, f *field) {
	if node.Kind != yaml.ScalarNode {
		d.list(node, v, f)
		return
	}
	var text string
	d.scalar(node, reflect.ValueOf(&text).Elem(), nil, shapeString)
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			v.Set(reflect.Append(v, reflect.ValueOf(name)))
		}
	}
}

// mapping decodes a mapping into a Go map with string keys.
func (d *decoder) mapping(node *yaml.Node, v reflect.Value) {
	if node.Kind != yaml.MappingNode {
		d.wrongType(node, "a mapping")
		return
	}
	result := reflect.MakeMapWithSize(v.Type(), len(node.Content)/2)
	d.eachKey(node, func(name string, value *yaml.Node) {
		element := reflect.New(v.Type().Elem()).Elem()
		d.value(value, element, nil)
		result.SetMapIndex(reflect.ValueOf(name), element)
	})
	v.Set(result)
}

// eachKey calls fn for every key of a free mapping, with the path set, and reports keys
// that are not words or duplicate.
func (d *decoder) eachKey(node *yaml.Node, fn func(name string, value *yaml.Node)) {
	seen := make(map[string]*yaml.Node, len(node.Content)/2)
	for _, e := range d.entries(node) {
		name, ok := d.keyName(e.key)
		if !ok || d.bomb {
			continue
		}
		if first := seen[name]; first != nil {
			d.duplicateKey(e.key, first, name)
			continue
		}
		seen[name] = e.key
		d.push(name)
		fn(name, e.value)
		d.pop()
	}
}

// returns decodes signature.returns: a type or a list of columns.
func (d *decoder) returns(node *yaml.Node, r *Returns) {
	switch node.Kind {
	case yaml.ScalarNode:
		d.scalar(node, reflect.ValueOf(&r.Type).Elem(), nil, shapeString)
	case yaml.SequenceNode:
		r.Columns = []Column{}
		d.list(node, reflect.ValueOf(&r.Columns).Elem(), nil)
	default:
		d.wrongType(node, "a type, or a list of columns")
	}
}

// any decodes a value of any type: strings, json.Number, bool, nil, []any,
// map[string]any. With texts, strings become Text and may contain references.
func (d *decoder) any(node *yaml.Node, texts bool) any {
	switch node.Kind {
	case yaml.SequenceNode:
		items := make([]any, len(node.Content))
		for i, item := range node.Content {
			if value, ok := d.enter(item); ok {
				d.pushIndex(i)
				items[i] = d.any(value, texts)
				d.pop()
				d.leave(item)
			}
			if d.bomb {
				break
			}
		}
		return items
	case yaml.MappingNode:
		values := make(map[string]any, len(node.Content)/2)
		d.eachKey(node, func(name string, written *yaml.Node) {
			if value, ok := d.enter(written); ok {
				values[name] = d.any(value, texts)
				d.leave(written)
			}
		})
		return values
	default:
		return d.anyScalar(node, texts)
	}
}
