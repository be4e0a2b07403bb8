package spicepod

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// decoder walks a YAML tree and a Go value side by side and collects all problems.
type decoder struct {
	dir       string // folder of the Spicepod
	home      string // folder that shown paths are relative to: of the Spicepod that is loaded
	within    string // of a dependency: the folder that it may read, without symbolic links; else ""
	index     *index
	types     describer
	src       *source // file of the current nodes
	path      []segment
	problems  Problems
	full      bool // MaxProblems reached
	dead      bool // inside a section that is not served
	depth     int
	aliases   []*yaml.Node // aliases around the current value
	expanded  int          // values read through aliases
	bomb      bool
	component int // components so far
	texts     []pendingText
	variables map[string]string // of LoadText
	bodies    []BodyKind        // that are served
	parts     map[string]*part  // by absolute path
	partBytes int
}

// fail records a problem at a node.
func (d *decoder) fail(node *yaml.Node, message, hint string) {
	d.failAt(located{node, d.src}, pathString(d.path), message, hint)
}

func (d *decoder) failAt(at located, path, message, hint string) {
	d.add(at.problem(path, message, hint))
}

// add adds a problem, unless there are too many.
func (d *decoder) add(p Problem) {
	if d.full = len(d.problems) >= MaxProblems; !d.full {
		d.problems = append(d.problems, p)
	}
}

func (d *decoder) push(key string) { d.path = append(d.path, segment{key: key}) }
func (d *decoder) pushIndex(i int) { d.path = append(d.path, segment{index: i, isIndex: true}) }
func (d *decoder) pop()            { d.path = d.path[:len(d.path)-1] }

// subject names the current value in messages: by its key, with the index of a list
// entry.
func (d *decoder) subject() string {
	if len(d.path) == 0 {
		return "the Spicepod"
	}
	first := len(d.path) - 1
	for first > 0 && d.path[first].isIndex {
		first--
	}
	return pathString(d.path[first:])
}

// where is " in functions[0]" for a message about a key, "" at the top.
func (d *decoder) where() string {
	if len(d.path) == 0 {
		return ""
	}
	return " in " + pathString(d.path)
}

// enter follows aliases to the node of the value and checks the limits of depth and
// expansion. If ok, leave must follow.
func (d *decoder) enter(node *yaml.Node) (value *yaml.Node, ok bool) {
	value = target(node)
	if value == nil || node.Kind == yaml.AliasNode && slices.ContainsFunc(d.aliases, func(a *yaml.Node) bool {
		return target(a) == value
	}) {
		d.fail(node, fmt.Sprintf("the alias *%s is inside its own anchor", node.Value), "")
		return nil, false
	}
	if d.depth >= MaxDepth {
		d.fail(node, fmt.Sprintf("values are nested too deeply: at most %d levels", MaxDepth), "")
		return nil, false
	}
	if node.Kind == yaml.AliasNode {
		d.aliases = append(d.aliases, node)
	}
	if len(d.aliases) > 0 {
		d.expanded++
	}
	if d.expanded > MaxAliasValues {
		if !d.bomb {
			at := node
			if len(d.aliases) > 0 {
				at = d.aliases[0]
			}
			d.fail(at, fmt.Sprintf("the aliases expand to more than %d values", MaxAliasValues),
				"write the values out, or use fewer aliases")
		}
		d.bomb = true
		d.exit(node)
		return nil, false
	}
	d.depth++
	return value, true
}

// leave ends enter for the same node.
func (d *decoder) leave(node *yaml.Node) {
	d.depth--
	d.exit(node)
}

func (d *decoder) exit(node *yaml.Node) {
	if node.Kind == yaml.AliasNode {
		d.aliases = d.aliases[:len(d.aliases)-1]
	}
}

// value decodes a node into v, which has its default.
func (d *decoder) value(written *yaml.Node, v reflect.Value, f *field) {
	node, ok := d.enter(written)
	if !ok {
		return
	}
	defer d.leave(written)
	kind := shapeOf(v.Type())
	if isNull(node) && kind != shapeAny {
		return // an empty value counts as absent
	}
	if v.Kind() == reflect.Pointer {
		fresh := reflect.New(v.Type().Elem())
		if kind == shapeStruct {
			d.types.setDefaults(fresh.Elem())
		}
		v.Set(fresh)
		v = fresh.Elem()
	}
	switch kind {
	case shapeStruct:
		d.structure(node, v)
	case shapeList:
		d.list(node, v, f)
	case shapeNames:
		d.names(node, v, f)
	case shapeMap:
		d.mapping(node, v)
	case shapeParams:
		if node.Kind != yaml.MappingNode {
			d.wrongType(node, "a mapping")
			return
		}
		if m, ok := d.any(node, true).(map[string]any); ok {
			v.Set(reflect.ValueOf(Params(m)))
		}
	case shapeReturns:
		d.returns(node, v.Addr().Interface().(*Returns))
	case shapeAny:
		if value := d.any(node, false); value != nil {
			v.Set(reflect.ValueOf(value))
		}
	default:
		d.scalar(node, v, f, kind)
	}
}

// object is a mapping that was decoded into a struct, with the keys it has.
type object struct {
	node   *yaml.Node
	info   *typeInfo
	keys   []*yaml.Node
	values []*yaml.Node
	meant  []string // keys that unknown keys seem to mean, not reported as missing
}

// value is the node of a key, nil when it is absent or null.
func (o *object) value(name string) *yaml.Node {
	value := o.written(name)
	if n := target(value); n == nil || isNull(n) {
		return nil
	}
	return value
}

// written is value, but includes null.
func (o *object) written(name string) *yaml.Node { return o.values[o.info.byName[name]] }

// structure decodes a mapping into a struct by its field descriptions.
func (d *decoder) structure(node *yaml.Node, v reflect.Value) {
	if node.Kind != yaml.MappingNode {
		d.wrongType(node, "a mapping")
		return
	}
	info := d.types.describe(v.Type())
	o := &object{
		node: node, info: info, keys: make([]*yaml.Node, len(info.fields)),
		values: make([]*yaml.Node, len(info.fields)),
	}
	for _, e := range d.entries(node) {
		name, ok := d.keyName(e.key)
		if !ok {
			continue
		}
		i, known := info.byName[name]
		if !known {
			if near := d.unknownKey(e, name, info); near != "" {
				o.meant = append(o.meant, near)
			}
			continue
		}
		if o.keys[i] != nil {
			d.duplicateKey(e.key, o.keys[i], name)
			continue
		}
		o.keys[i], o.values[i] = e.key, e.value
		d.field(&info.fields[i], e, v)
	}
	for i := range info.fields {
		if f := &info.fields[i]; f.required && o.value(f.name) == nil && !slices.Contains(o.meant, f.name) {
			d.missingKey(o, f)
		}
	}
	d.check(v.Addr().Interface(), o)
}

// field decodes one key of a struct.
func (d *decoder) field(f *field, e entry, v reflect.Value) {
	d.push(f.name)
	defer d.pop()
	if d.refuses(f, e) {
		return
	}
	if f.service == notServed && !d.dead {
		if n := target(e.value); n != nil && !isEmpty(n) {
			d.notServed("", f.instead)
		}
		d.dead = true
		defer func() { d.dead = false }()
	}
	if f.presence != "" {
		v.FieldByName(f.presence).SetBool(true)
	}
	if f.component != "" {
		d.components(e.value, v.Field(f.index), f)
		return
	}
	d.value(e.value, v.Field(f.index), f)
	if f.file != "" {
		d.textFile(e.value, v.Field(f.index).String(), v.FieldByName(f.file))
	}
}

// refuses reports a key that a Spicepod may not have.
func (d *decoder) refuses(f *field, e entry) bool {
	if isEmpty(target(e.value)) {
		return false
	}
	instead := strings.ReplaceAll(f.instead, "'", "")
	switch f.service {
	case refused:
		d.fail(e.key, pathString(d.path)+" is not served, and a runtime without it would permit what the Spicepod does not",
			"use "+instead)
	case renamed:
		d.fail(e.key, pathString(d.path)+" has another name here", "write "+instead)
	default:
		return false
	}
	return true
}

// notServed records that the current key, or a value of it, has no effect.
func (d *decoder) notServed(value, instead string) {
	path := pathString(d.path)
	u := unserved{path: path, shown: path, hint: "instead: " + strings.ReplaceAll(instead, "'", "")}
	if value != "" {
		u.shown += ": " + value
	}
	if reason, ok := strings.CutPrefix(instead, "nothing: "); ok {
		u.hint = strings.ReplaceAll(reason, "'", "")
	}
	d.index.notServed = append(d.index.notServed, u)
}

// isEmpty reports whether n is null, an empty list or an empty mapping.
func isEmpty(n *yaml.Node) bool {
	return isNull(n) || n.Kind != yaml.ScalarNode && len(n.Content) == 0
}

// entries is entriesOf that reports its problem and counts its cost.
func (d *decoder) entries(node *yaml.Node) []entry {
	entries, whole := entriesOf(node)
	if !whole {
		d.fail(node, "a merge key << takes a mapping, or a list of mappings", "")
	}
	if merged := len(entries) - len(node.Content)/2; merged > 0 {
		d.expanded += merged
	}
	return entries
}

// keyName is the text of a mapping's key.
func (d *decoder) keyName(key *yaml.Node) (string, bool) {
	key = target(key)
	if key == nil || key.Kind != yaml.ScalarNode || isNull(key) {
		if key != nil {
			d.fail(key, "a key must be a plain word", "put text that starts with a special character in quotes")
		}
		return "", false
	}
	return key.Value, true
}
