package functions

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/value"
)

// Carriers returns the types to which a parameter with an output of [Type.Value] is cast,
// one after the other; the last one is the type itself. The first is the type that
// [engine.Params] gives to it: if the two differ, DuckDB plans the statement again at each
// execution. What the engine does not bind is text; maps and unions are JSON.
func (t *Type) Carriers() []*engine.Type {
	list := []*engine.Type{t.carrier(bound), t.carrier(asJSON), t.carrier(fromJSON), t.duck}
	return slices.CompactFunc(list, func(a, b *engine.Type) bool { return a.String() == b.String() })
}

// stage is how far a parameter is converted.
type stage uint8

const (
	bound    stage = iota // as the engine binds it
	asJSON                // maps and unions are JSON
	fromJSON              // maps and unions have their type, with parts that JSON can be cast to
)

var varchar = &engine.Type{ID: engine.Varchar}

func (t *Type) carrier(at stage) *engine.Type {
	switch t.kind {
	case kindMap, kindUnion:
		switch at {
		case bound:
			return varchar
		case asJSON:
			return &engine.Type{ID: engine.Varchar, JSON: true}
		}
		return t.readable()
	case kindList:
		return &engine.Type{ID: engine.List, Elem: t.elem.carrier(at)}
	case kindStruct:
		fields := make([]engine.Field, len(t.fields))
		for i, f := range t.fields {
			fields[i] = engine.Field{Name: f.name, Type: f.typ.carrier(at)}
		}
		slices.SortFunc(fields, func(a, b engine.Field) int { return strings.Compare(a.Name, b.Name) })
		return &engine.Type{ID: engine.Struct, Fields: fields}
	case kindHuge, kindJSON:
		return varchar
	case kindText:
		return varchar
	}
	switch t.duck.ID {
	case engine.TinyInt, engine.SmallInt, engine.Integer, engine.UTinyInt, engine.USmallInt, engine.UInteger:
		return &engine.Type{ID: engine.BigInt}
	case engine.Float:
		return &engine.Type{ID: engine.Double}
	case engine.TimestampS, engine.TimestampMS:
		return &engine.Type{ID: engine.Timestamp}
	}
	return t.duck
}

// readable is the type, with text for the parts to which DuckDB does not cast JSON.
func (t *Type) readable() *engine.Type {
	switch t.kind {
	case kindBinary:
		return varchar
	case kindText:
		if t.duck.ID == engine.Bit || t.duck.ID == engine.TimeNS {
			return varchar
		}
	case kindList:
		return &engine.Type{ID: t.duck.ID, Elem: t.elem.readable(), Size: t.duck.Size}
	case kindStruct, kindUnion:
		fields := make([]engine.Field, len(t.fields))
		for i, f := range t.fields {
			fields[i] = engine.Field{Name: f.name, Type: f.typ.readable()}
		}
		return &engine.Type{ID: t.duck.ID, Fields: fields}
	case kindMap:
		return &engine.Type{ID: engine.Map, Elem: &engine.Type{ID: engine.Struct, Fields: []engine.Field{
			{Name: "key", Type: t.fields[0].typ.readable()}, {Name: "value", Type: t.fields[1].typ.readable()},
		}}}
	}
	return t.duck
}

// jsonText is a value of type JSON. Text that holds an object or a list is that, as in SQL.
func jsonText(given any) (any, error) {
	if s, ok := given.(string); ok {
		if !utf8.ValidString(s) {
			return nil, fmt.Errorf("text must be UTF-8")
		}
		if bare := strings.TrimSpace(s); strings.HasPrefix(bare, "{") || strings.HasPrefix(bare, "[") {
			if json.Valid([]byte(bare)) {
				return bare, nil
			}
		}
	}
	raw, err := json.Marshal(given)
	return string(raw), err
}

// encoded is a map or a union as JSON that DuckDB casts to it.
func (t *Type) encoded(given any) (any, error) {
	tree, err := t.tree(given)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(tree)
	return string(raw), err
}

// tree is a value in the form whose JSON DuckDB casts to [Type.readable].
func (t *Type) tree(given any) (any, error) {
	members, _ := given.(map[string]any)
	switch {
	case given == nil:
		return nil, nil
	case t.kind == kindMap && members != nil:
		return t.entries(members)
	case t.kind == kindUnion && members != nil:
		return t.member(members)
	case t.kind == kindList || t.kind == kindStruct:
		return t.parts(given)
	}
	v, err := t.Value(given)
	if err != nil {
		return nil, err
	}
	if t.kind == kindJSON {
		return json.RawMessage(v.(string)), nil
	}
	return plainText(v, given), nil
}

func (t *Type) entries(members map[string]any) (any, error) {
	key, elem := t.fields[0].typ, t.fields[1].typ
	out := make(map[string]any, len(members))
	for name, member := range members {
		k, err := key.fromName(name)
		if err == nil {
			out[k], err = elem.tree(member)
		}
		if err != nil {
			return nil, fmt.Errorf("key %q: %w", name, err)
		}
	}
	return out, nil
}

// fromName is the text of a key of a map.
func (t *Type) fromName(name string) (string, error) {
	var given any = name
	switch t.kind {
	case kindFloat:
		given = json.Number(name)
	case kindBoolean:
		given = name == "true"
		if name != "true" && name != "false" {
			given = name
		}
	}
	v, err := t.Value(given)
	if err != nil {
		return "", err
	}
	return fmt.Sprint(plainText(v, name)), nil
}

func (t *Type) member(members map[string]any) (any, error) {
	for _, f := range t.fields {
		if given, ok := members[f.name]; ok && len(members) == 1 {
			v, err := f.typ.tree(given)
			if err != nil {
				err = fmt.Errorf("member %q: %w", f.name, err)
			}
			return map[string]any{f.name: v}, err
		}
	}
	return nil, fmt.Errorf("%s is not a valid %s: it has one member, named as in the type", describe(members), t)
}

// parts is a list or a struct.
func (t *Type) parts(given any) (any, error) {
	if _, err := t.Value(given); err != nil {
		return nil, err
	}
	if items, ok := given.([]any); ok {
		out := make([]any, len(items))
		for i, item := range items {
			out[i], _ = t.elem.tree(item) // it is valid
		}
		return out, nil
	}
	out := make(map[string]any, len(t.fields))
	for _, f := range t.fields {
		out[f.name], _ = f.typ.tree(given.(map[string]any)[f.name]) // it is valid
	}
	return out, nil
}

// plainText is a value of [Type.Value] as a truth value or as text that DuckDB casts.
func plainText(v, given any) any {
	switch v := v.(type) {
	case bool:
		return v
	case float64:
		return floatText(v)
	case []byte:
		return blobText(v)
	case value.Interval:
		return string(value.AppendInterval(nil, v))
	case value.Date, value.Timestamp, value.TimestampNS, value.TimestampTZ:
		return given
	}
	return fmt.Sprint(v)
}

// blobText is the text of a BLOB.
func blobText(raw []byte) string {
	var b strings.Builder
	for _, c := range raw {
		fmt.Fprintf(&b, `\x%02X`, c)
	}
	return b.String()
}
