package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/tools"
)

// reserved are the names of tools that models get instead of all others, which are in
// no catalog.
var reserved = []string{"tool_search", "tool_invoke"}

// runtimeTools returns definitions of those, with names only.
func runtimeTools() []*tools.Definition {
	list := make([]*tools.Definition, len(reserved))
	for i, name := range reserved {
		list[i] = &tools.Definition{Name: name, Source: tools.SourceBuiltin, Declared: "built in"}
	}
	return list
}

// owners maps names to definitions: the name that models see, and the name without the
// server's prefix.
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

// other returns another owner's tool of that name, or nil if the server itself has a
// tool of that name.
func (o owners) other(name string, t *foreign) *tools.Definition {
	list := o[name]
	if len(list) == 0 || slices.ContainsFunc(list, func(d *tools.Definition) bool { return d.Source == t.Source }) {
		return nil
	}
	return list[0]
}

var (
	// identifier is a name of several parts, as prose does not have.
	identifier = regexp.MustCompile(`[A-Za-z][A-Za-z0-9]*(?:[_-]+[A-Za-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+`)
	// direction is a word of an instruction.
	direction = regexp.MustCompile(`(?i)\b(must|always|never|before|instead|do not|don['’]?t|prefer|first|replaces?|whenever|requires?|required|ensure)\b`)
)

// shadows reports the first text that says how to use another owner's tool: this way a
// server affects calls of other servers.
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
			f := finding(Shadowing, t.Definition,
				fmt.Sprintf("it says how to use %q, which is not a tool of this server, in %s: %q",
					truncate.Runes(other.Name, maxExcerpt), p.where, truncate.Runes(around(p.text, at, maxExcerpt/3), maxExcerpt)),
				distrust)
			f.Other = other.Name
			return []Finding{f}
		}
	}
	return nil
}

// around returns the range of a text, extended by so many bytes on either side.
func around(text string, at []int, more int) string {
	return strings.ToValidUTF8(text[max(at[0]-more, 0):min(at[1]+more, len(text))], "")
}

// names reports whether a word is a name or value in the tool's own schemas.
func (t *foreign) names(word string) bool {
	return slices.ContainsFunc(t.passages, func(p passage) bool { return p.text == word })
}

// candidate is a tool with its name prepared for comparison.
type candidate struct {
	*tools.Definition
	name     string // without the server's prefix, case and separators
	skeleton string // name with one character for all that look alike
}

func candidateOf(d *tools.Definition) candidate {
	name := strings.ToLower(joints.Replace(ownName(d)))
	return candidate{d, name, confusable.Replace(name)}
}

var (
	joints = strings.NewReplacer("_", "", "-", "", ".", "")
	// confusable maps to the skeletons of Unicode's UTS #39, section 4, for characters
	// that names may have.
	confusable = strings.NewReplacer("0", "o", "1", "l", "i", "l", "5", "s", "rn", "m", "vv", "w")
)

// letters returns the distinct letters of a name: names that look alike have the same
// ones.
func (c candidate) letters() string {
	set := []byte(c.skeleton)
	slices.Sort(set)
	return string(slices.Compact(set))
}

// lookAlikes reports tools of servers whose names are easily confused with those of
// another server's tools, or the runtime's. Each is reported once, with the first of them.
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

// lookAlike reports that a tool's name resembles the first matching one of a list, or
// returns nil.
func (c candidate) lookAlike(list []candidate, compare func(a, b candidate) string) *Finding {
	for _, other := range list {
		if other.Source == c.Source {
			continue
		}
		how := compare(c, other)
		if how == "" {
			continue
		}
		f := finding(DisguisedName, c.Definition, fmt.Sprintf("its name differs from that of %q of %s by %s",
			truncate.Runes(other.Name, maxExcerpt), sourceOf(other.Definition), how), distrust)
		if how == nothing {
			f = finding(SharedName, c.Definition, fmt.Sprintf("its name is that of %q of %s: models may confuse the two",
				truncate.Runes(other.Name, maxExcerpt), sourceOf(other.Definition)),
				"offer one of them, or say in its description what only that tool does")
		}
		f.Other = other.Name
		return &f
	}
	return nil
}

// sourceOf returns the owner of a tool.
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

// nothing is the difference of equal names.
const nothing = "nothing"

// resembles returns the small difference between two names, or "". Names that differ by
// any letter are mostly two words, such as get_trace and get_trade; those with two
// letters swapped, or one of them doubled, seldom are.
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

// misspells reports that a name differs from another by one letter, or returns "".
func misspells(a, b candidate) string {
	if x, y, ok := slip(a.name, b.name); ok && max(len(x), len(y)) == 1 {
		return "one letter"
	}
	return ""
}

// slip returns what two names have between their common prefix and suffix, and whether
// it is so small that one may be a misspelling of the other. Names with different
// digits, and most short names, are not.
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

// doubled reports whether the letter that the longer of two texts has in addition is
// next to an equal one.
func doubled(a, b, letter string) bool {
	return strings.Count(a, letter+letter) != strings.Count(b, letter+letter)
}
