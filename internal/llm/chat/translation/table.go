// Package translation is the table of what becomes of each field and content part of a
// client's request at a provider that speaks another form. A decoder notes the fields of
// a request that are not carried everywhere, and a model checks them against the form of
// its provider before anything is sent:
//
//	request.Uses = translation.Find(chat.FormOpenAI, object)
//	...
//	err := translation.Check(request, provider.Form())
//
// The table is data: it decides what is refused and what is reported as without effect,
// docs/translation.md is made of it, and tests send each of its fields to each provider.
// The providers' encoders do what it calls translated.
package translation

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// Kind is what becomes of a field.
type Kind int

// The kinds.
const (
	Carried    Kind = iota // sent under the provider's name for it
	Translated             // How says to what
	NoEffect               // left out and reported to the client; How says why
	Refused                // an error of the request; How says why
)

// String returns the kind as the documentation has it.
func (k Kind) String() string {
	return []string{"carried", "translated", "no effect", "refused"}[k]
}

// Verdict is what becomes of a field at providers of one form.
type Verdict struct {
	Kind Kind
	How  string
	Only []string // the values that Kind is about, as JSON; others are refused. Nil means all
}

// Row is a field of a form and its verdicts.
type Row struct {
	// Field is the path of the field. Variants of a union are in brackets, by their type
	// or role: messages[user].content[file].file.file_id. A list of one kind is x[]; the
	// name * is every other field, [*] every other variant. Fields within a row have no
	// rows of their own.
	Field string
	// Default are the values, as JSON, that mean the same as no field.
	Default []string
	// Empty says that an empty value counts, too: {} switches a feature on.
	Empty bool
	// To are the verdicts by the provider's form. The client's own form is [Carried] unless
	// the runtime decides the field itself.
	To map[chat.Form]Verdict
}

// or sets the values that mean the same as no field.
func (r Row) or(values ...string) Row {
	r.Default = values
	return r
}

// even makes an empty value count.
func (r Row) even() Row {
	r.Empty = true
	return r
}

// own sets the verdict for the client's own form.
func (r Row) own(form chat.Form, v Verdict) Row {
	r.To[form] = v
	return r
}

// Table returns the rows of a client's form.
func Table(form chat.Form) []Row { return tables[form] }

var tables = map[chat.Form][]Row{
	chat.FormOpenAI:    completions(),
	chat.FormResponses: responses(),
	chat.FormAnthropic: messages(),
}

var carried = Verdict{}

func translated(how string) Verdict { return Verdict{Kind: Translated, How: how} }

func noEffect(why string) Verdict { return Verdict{Kind: NoEffect, How: why} }

func refused(why string) Verdict { return Verdict{Kind: Refused, How: why} }

// only limits a verdict to values.
func (v Verdict) only(values ...string) Verdict {
	v.Only = values
	return v
}

// plain reports whether the field reaches every provider, whatever its value.
func (r *Row) plain() bool {
	for _, v := range r.To {
		if v.Kind > Translated || v.Only != nil {
			return false
		}
	}
	return true
}

// deciding returns the value if a verdict depends on it, else "".
func (r *Row) deciding(value string) string {
	for _, v := range r.To {
		if v.Only != nil {
			return value
		}
	}
	return ""
}

// absent reports whether a value means the same as no field.
func (r *Row) absent(value string) bool {
	return slices.ContainsFunc(r.Default, func(d string) bool { return equal(d, value) })
}

// equal reports whether two JSON texts have the same value.
func equal(a, b string) bool {
	if len(b) > maxValue {
		return false
	}
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// maxValue limits the values that are compared and shown, in bytes.
const maxValue = 200
