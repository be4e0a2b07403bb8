package datasets

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/spicepod"
)

// Draft is a [source.Draft] with what its connector needs next to it.
type Draft struct {
	source.Draft
	Copied bool // it must be accelerated
	params []spicepod.Param
}

// NewDraft makes a declaration of what a user has: a URL, a connection string, a path or a
// `from`, and the table there or, where the source is one table, the name of the dataset.
// The error is [spicepod.Problems].
func NewDraft(kinds source.Kinds, text, more string) (Draft, error) {
	d, err := newDraft(kinds, strings.TrimSpace(text), more)
	if err != nil {
		f := fault.Of(err)
		return d, spicepod.Problems{{Message: f.Message, Hint: f.Hint}}
	}
	return d, nil
}

func newDraft(kinds source.Kinds, text, more string) (d Draft, err error) {
	name, rest, named := strings.Cut(text, ":")
	if alias := kinds.Alias(name); named && alias != name {
		name, text = alias, alias+":"+rest
	}
	kind := kinds.Of(strings.ToLower(name))
	if i := slices.IndexFunc(kinds, func(k source.Kind) bool { return k.Drafts != nil && k.Drafts(text) }); i >= 0 {
		kind = &kinds[i]
	} else if !named || kind == nil && strings.ContainsAny(name, "/."+string(filepath.Separator)) {
		kind = &kinds[slices.IndexFunc(kinds, func(k source.Kind) bool { return k.Paths })]
		text = kind.Names[0] + ":" + text
	}
	if kind == nil {
		_, err := kinds.Parse(spicepod.Text{Raw: name + ":"}, "")
		return d, err
	}
	d = Draft{Copied: kind.Copied, params: kind.Params}
	if kind.Draft != nil {
		d.Draft, err = kind.Draft(text, more)
		return d, err
	}
	_, target, _ := strings.Cut(text, ":")
	d.From, d.Name = text, cmp.Or(more, source.NameOf(target))
	return d, nil
}

// Override replaces a param, or adds it.
func (d *Draft) Override(name, value string) {
	secret := slices.ContainsFunc(d.params, func(p spicepod.Param) bool { return p.Secret && p.Name == name })
	d.Params = slices.DeleteFunc(d.Params, func(s source.Setting) bool { return s.Name == name })
	d.Params = append(d.Params, source.Setting{Name: name, Value: value, Secret: secret})
}
