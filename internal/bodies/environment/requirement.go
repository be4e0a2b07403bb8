package environment

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// Limits of requirements.
const (
	maxRequirements = 200 // of a sandbox
	maxRequirement  = 512 // bytes of one
	maxShown        = 80  // characters of a text of the Spicepod in a message
)

// requirement is a dependency specifier of PEP 508 without a URL, in canonical form.
type requirement struct {
	name       string   // normalised as PEP 503 says
	extras     []string // normalised, sorted, without duplicates
	specifiers []string // operator and version, sorted, without duplicates
	marker     string   // with single spaces, or ""
	paths      []string // where it is declared, in the Spicepod
}

var (
	requirementName = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?`)
	specifierForm   = regexp.MustCompile(`^(===|~=|==|!=|<=|>=|<|>)\s*([A-Za-z0-9][A-Za-z0-9._*+!-]*)$`)
	markerToken     = regexp.MustCompile(`^(?:"[A-Za-z0-9 ._*+!-]*"|'[A-Za-z0-9 ._*+!-]*'|===|~=|==|!=|<=|>=|<|>|[()]|[a-z_]+)`)
	nameSeparators  = regexp.MustCompile(`[-_.]+`)
)

// markerVariables are those of PEP 508.
var markerVariables = []string{
	"python_version", "python_full_version", "os_name", "sys_platform", "platform_release", "platform_system",
	"platform_version", "platform_machine", "platform_python_implementation", "implementation_name",
	"implementation_version",
}

// normalName returns the name of a distribution as PEP 503 normalises it.
func normalName(name string) string {
	return strings.ToLower(nameSeparators.ReplaceAllString(name, "-"))
}

// requirementError is why a text is no requirement.
type requirementError struct{ message, hint string }

func (e *requirementError) Error() string { return e.message }

const requirementHint = "write the name of a package, and a version if it matters: pandas, or pandas==2.2.3"

const markerHint = "write a condition of PEP 508, such as python_version < '3.11', or leave out what " +
	"is after the package"

// parseRequirement reads one requirement. The texts become lines of a file that pip or uv
// reads, so everything that is not a name with extras, versions and a marker is refused.
func parseRequirement(text string) (*requirement, error) {
	fail := func(hint, format string, args ...any) (*requirement, error) {
		return nil, &requirementError{fmt.Sprintf(format, args...), hint}
	}
	shown := truncate.Line(text, maxShown)
	trimmed := strings.TrimSpace(text)
	packages, marker, marked := strings.Cut(trimmed, ";")
	switch {
	case trimmed == "":
		return fail(requirementHint, "the dependency is empty")
	case len(text) > maxRequirement:
		return fail("", "the dependency has %d bytes; the limit is %d", len(text), maxRequirement)
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }):
		return fail("write each package as an entry of its own, in ASCII",
			"the dependency %q has a line break or another character that is not printable ASCII", shown)
	case trimmed[0] == '-':
		return fail("set options of pip and uv in the environment or in their configuration files, such as PIP_INDEX_URL",
			"%q is an option of pip; dependencies are names of packages", shown)
	case strings.Contains(packages, "@") || strings.Contains(packages, "://"):
		return fail("publish the package in an index, and write its name: packages are installed from indexes alone, "+
			"by their hashes", "%q names a URL; dependencies are names of packages", shown)
	case strings.ContainsAny(packages, `/\`) || trimmed[0] == '.':
		return fail("publish the package in an index, and write its name",
			"%q is a path; dependencies are names of packages", shown)
	}
	r := &requirement{}
	name := requirementName.FindString(packages)
	if r.name = normalName(name); name == "" {
		return fail(requirementHint, "%q is not a package", shown)
	}
	if err := r.readVersions(strings.TrimSpace(packages[len(name):])); err != nil {
		return fail(requirementHint, "%q is not a package with versions: %s", shown, err)
	}
	if err := r.readMarker(marker, marked); err != nil {
		return fail(markerHint, "%q has no valid marker after the semicolon: %s", shown, err)
	}
	return r, nil
}

// readVersions reads extras and specifiers: [a,b] (>=1,<2).
func (r *requirement) readVersions(text string) error {
	if inner, ok := strings.CutPrefix(text, "["); ok {
		list, rest, closed := strings.Cut(inner, "]")
		if !closed {
			return errors.New("the ] after the extras is missing")
		}
		for extra := range strings.SplitSeq(list, ",") {
			extra = strings.TrimSpace(extra)
			if extra == "" || requirementName.FindString(extra) != extra {
				return fmt.Errorf("%q is not the name of an extra", extra)
			}
			r.extras = append(r.extras, normalName(extra))
		}
		text = strings.TrimSpace(rest)
	}
	if strings.HasPrefix(text, "(") && strings.HasSuffix(text, ")") {
		text = strings.TrimSpace(text[1 : len(text)-1])
	}
	if text == "" {
		r.sort()
		return nil
	}
	for part := range strings.SplitSeq(text, ",") {
		m := specifierForm.FindStringSubmatch(strings.TrimSpace(part))
		if m == nil {
			return fmt.Errorf("%q is not a version such as ==2.2.3 or >=2", strings.TrimSpace(part))
		}
		r.specifiers = append(r.specifiers, m[1]+m[2])
	}
	r.sort()
	return nil
}

func (r *requirement) sort() {
	slices.Sort(r.extras)
	slices.Sort(r.specifiers)
	r.extras, r.specifiers = slices.Compact(r.extras), slices.Compact(r.specifiers)
}

// readMarker reads what is after the semicolon: comparisons joined by and and or.
func (r *requirement) readMarker(text string, marked bool) error {
	if !marked {
		return nil
	}
	m := markerReader{text: text}
	m.expression(0)
	if m.err == nil && m.next() != "" {
		m.err = fmt.Errorf("the marker does not end before %q", m.next())
	}
	r.marker = strings.Join(m.read, " ")
	return m.err
}

// maxMarkerDepth is how deep the parentheses of a marker nest at most.
const maxMarkerDepth = 16

// markerReader reads a marker of PEP 508.
type markerReader struct {
	text string
	read []string // its tokens
	err  error
}

// next returns the token that comes, or "" at the end.
func (m *markerReader) next() string {
	m.text = strings.TrimLeft(m.text, " ")
	if m.text == "" {
		return ""
	}
	if token := markerToken.FindString(m.text); token != "" {
		return token
	}
	return m.text[:1] // nothing takes it
}

func (m *markerReader) take(what string, good func(string) bool) {
	token := m.next()
	switch {
	case m.err != nil:
	case !good(token):
		m.err = fmt.Errorf("the marker needs %s before %q", what, truncate.Line(m.text, maxShown))
	default:
		m.read, m.text = append(m.read, token), m.text[len(token):]
	}
}

func (m *markerReader) expression(depth int) {
	for m.err == nil {
		if m.next() == "(" && depth < maxMarkerDepth {
			m.expect("(")
			m.expression(depth + 1)
			m.expect(")")
		} else {
			m.take("a variable or a text", isMarkerValue)
			m.operator()
			m.take("a variable or a text", isMarkerValue)
		}
		next := m.next()
		if next != "and" && next != "or" {
			return
		}
		m.expect(next)
	}
}

func (m *markerReader) operator() {
	if m.next() == "not" {
		m.expect("not")
		m.expect("in")
		return
	}
	m.take("a comparison", func(s string) bool { return s == "in" || strings.ContainsAny(s, "=<>") && len(s) <= 3 })
}

// expect reads one word.
func (m *markerReader) expect(word string) { m.take(word, func(s string) bool { return s == word }) }

func isMarkerValue(s string) bool {
	return len(s) > 1 && (s[0] == '"' || s[0] == '\'') || slices.Contains(markerVariables, s)
}

// String returns the requirement in canonical form.
func (r *requirement) String() string {
	text := r.name
	if len(r.extras) > 0 {
		text += "[" + strings.Join(r.extras, ",") + "]"
	}
	text += strings.Join(r.specifiers, ",")
	if r.marker != "" {
		text += " ; " + r.marker
	}
	return text
}

// requirements are those of one sandbox, merged: one for each package and marker, in the
// order of their texts.
type requirements []*requirement

// add merges a requirement with an earlier one of the same package and marker.
func (l requirements) add(r *requirement) requirements {
	for _, earlier := range l {
		if earlier.name == r.name && earlier.marker == r.marker {
			earlier.extras = append(earlier.extras, r.extras...)
			earlier.specifiers = append(earlier.specifiers, r.specifiers...)
			earlier.paths = append(earlier.paths, r.paths...)
			earlier.sort()
			return l
		}
	}
	merged := *r
	merged.extras, merged.specifiers, merged.paths = slices.Clone(r.extras), slices.Clone(r.specifiers),
		slices.Clone(r.paths)
	return append(l, &merged)
}

// texts returns the requirements in canonical form, sorted.
func (l requirements) texts() []string {
	list := make([]string, len(l))
	for i, r := range l {
		list[i] = r.String()
	}
	slices.Sort(list)
	return list
}

// conflict returns two specifiers whose numbers show that no version satisfies both;
// resolving the requirement finds the other conflicts.
func (r *requirement) conflict() (one, other string, found bool) {
	for _, pin := range r.specifiers {
		exact, ok := strings.CutPrefix(pin, "==")
		version, plain := releaseOf(exact)
		if !ok || !plain || strings.HasPrefix(exact, "=") {
			continue
		}
		for _, s := range r.specifiers {
			if s != pin && excludes(s, version) {
				return pin, s, true
			}
		}
	}
	return "", "", false
}

// releaseOf returns the numbers of a version that has nothing else, without zeros at the end.
func releaseOf(text string) (numbers []string, plain bool) {
	numbers = strings.Split(text, ".")
	for i, n := range numbers {
		if n == "" || strings.Trim(n, "0123456789") != "" {
			return nil, false
		}
		numbers[i] = strings.TrimLeft(n, "0")
	}
	for len(numbers) > 1 && numbers[len(numbers)-1] == "" {
		numbers = numbers[:len(numbers)-1]
	}
	return numbers, true
}

// excludes reports whether a specifier refuses a version.
func excludes(specifier string, version []string) bool {
	m := specifierForm.FindStringSubmatch(specifier)
	other, plain := releaseOf(m[2])
	if !plain {
		return false
	}
	order := slices.CompareFunc(version, other, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	switch m[1] {
	case "==":
		return order != 0
	case "!=":
		return order == 0
	case "<=":
		return order > 0
	case ">=", "~=":
		return order < 0
	case "<":
		return order >= 0
	case ">":
		return order <= 0
	}
	return false
}
