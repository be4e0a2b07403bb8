package translation

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/wire"
)

// Names are the names of the APIs by form.
var Names = map[chat.Form]string{
	chat.FormOpenAI: "Chat Completions", chat.FormResponses: "Responses", chat.FormAnthropic: "Anthropic's Messages",
}

// Find returns the fields of a client's request that not every provider takes. A field
// that its own form refuses is an error of the request.
func Find(form chat.Form, request *wire.Object) []chat.Use {
	f := &finder{form: form, seen: map[chat.Use]bool{}}
	f.object(trees[form], request)
	return f.uses
}

// finder walks a request along a table. Values are not decoded beyond the objects on the
// way to a row.
type finder struct {
	form chat.Form
	uses []chat.Use
	seen map[chat.Use]bool // without the path
}

func (f *finder) object(n *node, o *wire.Object) {
	for _, name := range slices.Sorted(maps.Keys(o.Fields)) {
		inner, raw := n.field(name), bytes.TrimSpace(o.Fields[name])
		if !blank(raw) || inner != nil && inner.row != nil && inner.row.Empty && string(raw) == "{}" {
			f.field(inner, o, name, raw)
		}
	}
}

// blank reports whether a value says nothing.
func blank(raw []byte) bool {
	switch string(raw) {
	case "null", `""`, "[]", "{}":
		return true
	}
	return false
}

func (f *finder) field(n *node, o *wire.Object, name string, raw []byte) {
	list := raw[0] == '['
	switch {
	case n == nil:
		f.add(chat.Use{Path: o.Path(name)})
	case n.leaf() || n.row != nil && !list && raw[0] != '{':
		f.use(n.row, o, name, raw)
	case list:
		for _, element := range o.Objects(name, "elements", chat.MaxMessages) {
			f.element(n, element)
		}
	case raw[0] == '{':
		f.element(n, o.Object(name))
	}
}

// element finds the variant of an object of a union. The field by which it is chosen has
// no row.
func (f *finder) element(n *node, o *wire.Object) {
	v := n.variant(text(o, "type"), text(o, "role"))
	switch {
	case v == nil:
		f.add(chat.Use{Path: o.Path("type"), Value: text(o, "type"), Known: n.kinds()})
	case v.leaf():
		f.use(v.row, o, "", o.Raw)
	case v == n:
		f.object(n, o)
	default:
		for _, name := range slices.Sorted(maps.Keys(o.Fields)) {
			raw := bytes.TrimSpace(o.Fields[name])
			if chooses := (name == "type" || name == "role") && v.fields[name] == nil; !chooses && !blank(raw) {
				f.field(v.field(name), o, name, raw)
			}
		}
	}
}

// text returns a field if it is a text.
func text(o *wire.Object, name string) string {
	if !o.Is(name) {
		return ""
	}
	return o.Text(name)
}

func (f *finder) use(r *Row, o *wire.Object, name string, raw []byte) {
	value := string(raw[:min(len(raw), maxValue+1)])
	if r.plain() || r.absent(value) {
		return
	}
	if v := r.To[f.form]; v.Kind == Refused {
		o.Fail(name, "is not supported: %s", v.How)
		return
	}
	f.add(chat.Use{Field: r.Field, Path: o.Path(name), Value: r.deciding(value)})
}

// add notes the first use of each field, and of each value that decides.
func (f *finder) add(u chat.Use) {
	k := chat.Use{Field: u.Field, Value: u.Value}
	if !f.seen[k] {
		f.seen[k] = true
		f.uses = append(f.uses, u)
	}
}

// Check decides the uses of a request at a provider of a form, and sets r.Ignored. The
// first field that is refused is an error.
func Check(r *chat.Request, to chat.Form) error {
	r.Ignored = nil
	for _, use := range r.Uses {
		ignored, err := check(use, r.Form, to)
		if err != nil {
			return err
		}
		if ignored && !slices.Contains(r.Ignored, use.Field) {
			r.Ignored = append(r.Ignored, use.Field)
		}
	}
	return nil
}

func check(use chat.Use, from, to chat.Form) (ignored bool, err error) {
	row := find(from, use.Field)
	if row == nil {
		switch {
		case from == to:
			return false, nil
		case use.Known != "" && use.Value != "":
			return false, chat.Invalid(use.Path,
				"%s is %q, which is not a value that the runtime knows in %s, so it cannot be translated for "+
					"the model's provider, "+
					"which speaks %s; use %s",
				use.Path, truncate.Ellipsis(use.Value, maxShown), Names[from], Names[to], use.Known)
		}
		return false, chat.Invalid(use.Path,
			"%s is not a field of %s that the runtime knows, so it cannot be translated for the model's provider, which speaks "+
				"%s; leave it out",
			use.Path, Names[from], Names[to])
	}
	v := row.To[to]
	switch {
	case v.Kind == Refused && use.Earlier:
		return false, chat.Invalid(use.Path,
			"%s continues a chat that has %s, which is not supported by the model's provider, which speaks %s: %s",
			use.Path, use.Field, Names[to], v.How)
	case v.Kind == Refused:
		return false, chat.Invalid(use.Path, "%s is not supported by the model's provider, which speaks %s: %s", use.Path,
			Names[to], v.How)
	case v.Only != nil && !v.takes(use.Value):
		return false, chat.Invalid(use.Path,
			"%s must be %s, got %s: the model's provider speaks %s, which has nothing for other values",
			use.Path, strings.Join(v.Only, " or "), truncate.Ellipsis(use.Value, maxShown), Names[to])
	}
	return v.Kind == NoEffect, nil
}

// takes reports whether a value, or each element of a list, is one of Only.
func (v Verdict) takes(value string) bool {
	values := []json.RawMessage{json.RawMessage(value)}
	if len(value) <= maxValue && strings.HasPrefix(value, "[") {
		_ = json.Unmarshal([]byte(value), &values) // else it equals none
	}
	return !slices.ContainsFunc(values, func(value json.RawMessage) bool {
		return !slices.ContainsFunc(v.Only, func(only string) bool { return equal(only, string(value)) })
	})
}

func find(form chat.Form, field string) *Row {
	rows := tables[form]
	i := slices.IndexFunc(rows, func(r Row) bool { return r.Field == field })
	if i < 0 || field == "" {
		return nil
	}
	return &rows[i]
}

// Note returns the use of a row that no field of the request has, such as the position of
// a message.
func Note(field, path string) chat.Use { return chat.Use{Field: field, Path: path} }

// Warm returns the use of a temperature that Anthropic's Messages does not have: it ends at
// 1, that of other APIs at 2.
func Warm(temperature *float64) []chat.Use {
	if temperature == nil || *temperature <= 1 {
		return nil
	}
	return []chat.Use{Note(AboveOne, "temperature")}
}

// Shadowed returns the use of a safety_identifier next to a user: Anthropic's Messages has one
// field for both, which gets the user.
func Shadowed(user, safety string) []chat.Use {
	if user == "" || safety == "" || user == safety {
		return nil
	}
	return []chat.Use{Note("safety_identifier[next to user]", "safety_identifier")}
}

// AboveOne is the row of [Warm].
const AboveOne = "temperature[above 1]"

// maxShown limits a value in an error, in bytes.
const maxShown = 40
