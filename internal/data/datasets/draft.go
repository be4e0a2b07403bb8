package datasets

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/source/postgres"
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
func NewDraft(text, more string) (Draft, error) {
	d, err := newDraft(text, more)
	if err != nil {
		f := fault.Of(err)
		return d, spicepod.Problems{{Message: f.Message, Hint: f.Hint}}
	}
	return d, nil
}

func newDraft(text, more string) (d Draft, err error) {
	text = strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(text, "postgresql:"); ok {
		text = "postgres:" + rest
	} else if rest, ok := strings.CutPrefix(text, "mariadb:"); ok {
		text = "mysql:" + rest
	}
	name, _, ok := strings.Cut(text, ":")
	switch {
	case postgres.IsConnectionString(text):
		name = "postgres"
	case strings.HasPrefix(text, "spice.ai/"):
		name = "spice.ai"
	case !ok || strings.ContainsAny(name, "/."+string(filepath.Separator)) && name != "spice.ai":
		name, text = "file", "file:"+text
	}
	name = strings.ToLower(name)
	i := slices.IndexFunc(kinds, func(k kind) bool { return slices.Contains(k.names, name) })
	if i < 0 {
		var names []string
		for _, k := range kinds {
			names = append(names, k.names...)
		}
		slices.Sort(names)
		_, err := source.Parse(spicepod.Text{Raw: name + ":"}, "", names)
		return d, err
	}
	d = Draft{Copied: kinds[i].copied, params: kinds[i].params}
	if kinds[i].draft != nil {
		d.Draft, err = kinds[i].draft(text, more)
		return d, err
	}
	d.From, d.Name = text, cmp.Or(more, source.NameOf(text[len(name)+1:]))
	return d, nil
}

// Override replaces a param, or adds it.
func (d *Draft) Override(name, value string) {
	secret := slices.ContainsFunc(d.params, func(p spicepod.Param) bool { return p.Secret && p.Name == name })
	d.Params = slices.DeleteFunc(d.Params, func(s source.Setting) bool { return s.Name == name })
	d.Params = append(d.Params, source.Setting{Name: name, Value: value, Secret: secret})
}
