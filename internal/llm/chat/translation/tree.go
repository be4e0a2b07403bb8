package translation

import (
	"maps"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// node is a field of a form with what is inside it.
type node struct {
	row      *Row             // of the value; of an object, only if nothing inside has a row
	fields   map[string]*node // of an object
	variants map[string]*node // of a union, or of the elements of a list, by type or role; "" is every one
}

// trees are the tables by the paths of their rows.
var trees = func() map[chat.Form]*node {
	all := map[chat.Form]*node{}
	for form, rows := range tables {
		all[form] = plant(rows)
	}
	return all
}()

func plant(rows []Row) *node {
	root := &node{}
	for i := range rows {
		n := root
		for segment := range strings.SplitSeq(rows[i].Field, ".") {
			name, variant, union := strings.Cut(strings.TrimSuffix(segment, "]"), "[")
			n = grow(&n.fields, name)
			if union {
				n = grow(&n.variants, variant)
			}
		}
		n.row = &rows[i]
	}
	return root
}

func grow(under *map[string]*node, name string) *node {
	if *under == nil {
		*under = map[string]*node{}
	}
	if (*under)[name] == nil {
		(*under)[name] = &node{}
	}
	return (*under)[name]
}

// leaf reports whether the row of n is about everything inside it.
func (n *node) leaf() bool { return n.fields == nil && n.variants == nil }

// field returns the node of a field, or nil if it is unknown.
func (n *node) field(name string) *node {
	if inner := n.fields[name]; inner != nil {
		return inner
	}
	return n.fields["*"]
}

// variant returns the node of an object of a union, or nil if it is unknown. The only
// variant of a list is that of every element, whatever its type.
func (n *node) variant(kind, role string) *node {
	only := n.variants[""]
	switch {
	case n.variants == nil:
		return n
	case only != nil && len(n.variants) == 1:
		return only
	case n.variants[kind] != nil:
		return n.variants[kind]
	case n.variants[role] != nil:
		return n.variants[role]
	case kind == "":
		return n.untyped()
	}
	return n.variants["*"]
}

// untyped returns the variant of an object without a type: APIs let messages and tools
// leave it out.
func (n *node) untyped() *node {
	for _, name := range []string{"message", "custom", "*"} {
		if inner := n.variants[name]; inner != nil {
			return inner
		}
	}
	return nil
}

// kinds lists the types of a union.
func (n *node) kinds() string {
	kinds := slices.Sorted(maps.Keys(n.variants))
	return strings.Join(slices.DeleteFunc(kinds, func(kind string) bool { return kind == "" || kind == "*" }), ", ")
}
