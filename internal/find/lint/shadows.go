package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/tools"
)

// reserved are the names of tools that models get in place of all others, which
// are in no catalog.
var reserved = []string{"tool_search", "tool_invoke"}

// runtimeTools are definitions of those, with their names alone.
func runtimeTools() []*tools.Definition {
	list := make([]*tools.Definition, len(reserved))
	for i, name := range reserved {
		list[i] = &tools.Definition{Name: name, Source: tools.SourceBuiltin, Declared: "built in"}
	}
	return list
}

// owners lists definitions by what they may be called: a name as models see it,
// and one without that of its server.
type owners map[string][]*tools.Definition

func ownersOf(definitions []*tools.Definition) owners {
	o := owners{}
	for _, d := range definitions {
		o.add(d.Name, d)
		if own := ownName(d); own != d.Name {
			o.add(own, d)
		}
	}
	return o
}

func (o owners) add(name string, d *tools.Definition) { o[name] = append(o[name], d) }

// other returns somebody else's tool of that name, or nil when a tool of the
// server itself goes by it.
func (o owners) other(name string, t *foreign) *tools.Definition {
	list := o[name]
	if len(list) == 0 || slices.ContainsFunc(list, func(d *tools.Definition) bool { return d.Source == t.Source }) {
		return nil
	}
	return list[0]
}

var (
	// identifier is a name that no prose has: of several parts.
	identifier = regexp.MustCompile(`[A-Za-z][A-Za-z0-9]*(?:[_-]+[A-Za-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+`)
	// direction is a word of those that say what to do.
	direction = regexp.MustCompile(`(?i)\b(must|always|never|before|instead|do not|don['’]?t|prefer|first|replaces?|whenever|requires?|required|ensure)\b`)
)

// shadows finds the first text that says how to use a tool of somebody else: so
// a server acts on calls that are not for it.
func (o owners) shadows(t *foreign) []Finding {
	for _, p := range t.passages {
		if !strings.ContainsRune(p.text, ' ') {
			continue // a name or a value
		}
		for _, at := range identifier.FindAllStringIndex(p.text, -1) {
			name := p.text[at[0]:at[1]]
			other := o.other(name, t)
			if other == nil || t.names(name) || !direction.MatchString(around(p.text, at, aroundName)) {
				continue
			}
			f := finding(Shadowing, t.Definition, fmt.Sprintf("it says how to use %q, which is no tool of its server, in %s: %q", truncate.Runes(other.Name, maxExcerpt), p.place, truncate.Runes(around(p.text, at, maxExcerpt/3), maxExcerpt)), distrust)
			f.Other = other.Name
			return []Finding{f}
		}
	}
	return nil
}

// around is the part of a text with so many bytes more on either side.
func around(text string, at []int, more int) string {
	return strings.ToValidUTF8(text[max(at[0]-more, 0):min(at[1]+more, len(text))], "")
}

// names reports whether a word is a name or value of the tool's own schemas.
func (t *foreign) names(word string) bool {
	return slices.ContainsFunc(t.passages, func(p passage) bool { return p.text == word })
}

// candidate is a tool with its name as it is compared.
type candidate struct {
	*tools.Definition
	name     string // without its server's, without case and without what joins words
	skeleton string // that with one character for all that look alike
}

func candidateOf(d *tools.Definition) candidate {
	name := strings.ToLower(joints.Replace(ownName(d)))
	return candidate{d, name, confusable.Replace(name)}
}

var (
	joints = strings.NewReplacer("_", "", "-", "", ".", "")
	// confusable are the skeletons of Unicode's UTS #39, section 4, for the
	// characters that names may have.
	confusable = strings.NewReplacer("0", "o", "1", "l", "i", "l", "5", "s", "rn", "m", "vv", "w")
)

// letters are those of a name, each once: names that look alike have the same.
func (c candidate) letters() string {
	set := []byte(c.skeleton)
	slices.Sort(set)
	return string(slices.Compact(set))
}

// lookAlikes finds tools of servers whose names are taken for those of another
// server's tools, or of ours. Each is reported once, with the first of them.
func lookAlikes(ours, theirs []*tools.Definition) []Finding {
	var found []Finding
	own, seen := []candidate{}, map[string][]candidate{} // by their letters
	for _, d := range ours {
		c := candidateOf(d)
		own = append(own, c)
		seen[c.letters()] = append(seen[c.letters()], c)
	}
	for _, d := range theirs {
		c := candidateOf(d)
		f := c.lookAlike(seen[c.letters()], resembles)
		if f == nil {
			f = c.lookAlike(own, misspells)
		}
		if f != nil {
			found = append(found, *f)
		}
		seen[c.letters()] = append(seen[c.letters()], c)
	}
	return found
}

// lookAlike says that a tool looks like the first of some that it does look
// like, or nothing.
func (c candidate) lookAlike(list []candidate, compare func(a, b candidate) string) *Finding {
	for _, other := range list {
		if other.Source == c.Source {
			continue
		}
		how := compare(c, other)
		if how == "" {
			continue
		}
		f := finding(DisguisedName, c.Definition, fmt.Sprintf("its name differs from that of %q of %s by %s", truncate.Runes(other.Name, maxExcerpt), sourceOf(other.Definition), how), distrust)
		if how == nothing {
			f = finding(SharedName, c.Definition, fmt.Sprintf("its name is that of %q of %s: models may take one for the other", truncate.Runes(other.Name, maxExcerpt), sourceOf(other.Definition)),
				"offer one of them, or say in its description what only that tool does")
		}
		f.Other = other.Name
		return &f
	}
	return nil
}

// sourceOf says whose a tool is.
func sourceOf(d *tools.Definition) string {
	server, ok := strings.CutPrefix(d.Source, sourceMCP)
	switch {
	case ok:
		return fmt.Sprintf("server %q", truncate.Runes(server, maxExcerpt))
	case builtIn(d):
		return "the runtime"
	}
	return "the Spicepod"
}

// nothing is by what equal names differ.
const nothing = "nothing"

// resembles says by what little two names differ, or "". Names that differ by
// any letter are mostly two words, such as get_trace and get_trade; those with
// two letters swapped, or one of them doubled, seldom are.
func resembles(a, b candidate) string {
	switch {
	case a.name == b.name:
		return nothing
	case a.skeleton == b.skeleton:
		return "characters that look alike"
	}
	x, y, ok := slip(a.name, b.name)
	switch {
	case !ok:
		return ""
	case len(x) == 2 && len(y) == 2 && x[0] == y[1] && x[1] == y[0]:
		return "two letters that are swapped"
	case len(x)+len(y) == 1 && doubled(a.name, b.name, x+y):
		return "a letter that is doubled"
	}
	return ""
}

// misspells says that a name is another but for one letter, or "".
func misspells(a, b candidate) string {
	if x, y, ok := slip(a.name, b.name); ok && max(len(x), len(y)) == 1 {
		return "one letter"
	}
	return ""
}

// slip returns what two names have between a beginning and an end in common,
// and whether it is so little that one may be the other misspelt. Names with
// other digits are two names, and of short ones most are.
func slip(a, b string) (x, y string, ok bool) {
	if gap := len(a) - len(b); gap < -1 || gap > 1 || min(len(a), len(b)) < minDisguised {
		return "", "", false
	}
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a, b, len(a) <= 2 && len(b) <= 2 && !strings.ContainsAny(a+b, "0123456789")
}

// doubled reports whether a letter by which the longer of two texts is longer
// stands beside its like there.
func doubled(a, b, letter string) bool {
	return strings.Count(a, letter+letter) != strings.Count(b, letter+letter)
}
