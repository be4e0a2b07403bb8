package spicepod

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// unknownKey reports an unknown key, and returns the key that it seems to mean.
func (d *decoder) unknownKey(e entry, name string, info *typeInfo) string {
	if len(d.path) == 0 && e.value.Anchor != "" {
		return "" // what is shared by aliases
	}
	near := nearest.Name(name, info.names)
	hint := ""
	switch value := target(e.value); {
	case near != "":
	case value != nil && isNull(value) && strings.ContainsAny(name, ")>]"):
		hint = `inside { } a comma ends the value: put a type such as "decimal(10,2)" in quotes`
	case value != nil && isNull(value) && strings.Contains(name, " "):
		hint = "inside { } a comma ends the value: put a text that has one in quotes"
	default:
		hint = "keys here: " + strings.Join(info.served(), ", ")
	}
	message := fmt.Sprintf("unknown key %q%s", truncate.Runes(name, maxShown), d.where()) +
		nearest.Clause(name, info.names)
	d.push(name)
	d.fail(e.key, message, hint)
	d.pop()
	return near
}

func (d *decoder) duplicateKey(key, first *yaml.Node, name string) {
	d.push(name)
	d.fail(key, fmt.Sprintf("key %q is written twice: first at %s", name, located{first, d.src}.position()),
		"keep one of them")
	d.pop()
}

func (d *decoder) missingKey(o *object, f *field) {
	hint := "add " + f.name + ": " + f.placeholder()
	at := o.node
	if key := o.keys[o.info.byName[f.name]]; key != nil {
		at = key
		hint = "give it a value"
		if len(f.enum) > 0 {
			hint += ": " + oneOf(f.enum)
		}
	}
	d.fail(at, fmt.Sprintf("%s is required%s", f.name, d.where()), hint)
}

// placeholder is an example value for a hint.
func (f *field) placeholder() string {
	switch {
	case len(f.enum) > 0:
		return oneOf(f.enum)
	case f.shape == shapeList:
		return "[…]"
	case f.shape == shapeStruct:
		return "{…}"
	default:
		return "…"
	}
}

// oneOf formats "a", "a or b", "a, b or c".
func oneOf(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// wrongType reports a value of the wrong type.
func (d *decoder) wrongType(node *yaml.Node, want string) {
	d.fail(node, fmt.Sprintf("%s takes %s, not %s", d.subject(), want, describeNode(node)), "")
}

// describeNode describes a value in a message.
func describeNode(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	default:
		if isNull(node) {
			return "nothing"
		}
		return strconv.Quote(truncate.Runes(node.Value, maxShown))
	}
}
