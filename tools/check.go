package tools

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

const (
	maxFindings = 10_000 // examined before the first faults are selected
	maxShown    = 10     // alternatives named in a message
	maxClip     = 60     // characters of a value shown in a message
)

// finding is a fault with the data for joining several messages.
type finding struct {
	Fault
	want []string // for the keyword type: the allowed types
}

// Check returns the faults of a value decoded with [json.Decoder.UseNumber]:
// nil if it is valid, else up to [MaxFaults] faults, sorted by path. A value
// deeper than [MaxDepth], or one that would take too long to check, is a fault
// too.
func (s *Schema) Check(value any) []Fault {
	if s.fast.accepts(value) {
		return nil
	}
	found := s.check(value)
	if len(found) == 0 {
		return nil
	}
	sortFindings(found)
	found = slices.CompactFunc(found, func(a, b finding) bool { return a.Fault == b.Fault })
	faults := make([]Fault, 0, MaxFaults)
	for _, f := range found[:min(len(found), MaxFaults)] {
		faults = append(faults, f.Fault)
	}
	return faults
}

func (s *Schema) check(value any) []finding {
	if fault := outOfBounds(value, MaxDepth); fault != nil {
		return []finding{{Fault: *fault}}
	}
	if s.root == nil {
		if _, ok := value.(map[string]any); ok {
			return nil
		}
		return []finding{{Fault: Fault{
			Keyword: "type",
			Message: fmt.Sprintf("the value is %s; an object is needed", phrase(typeName(value))),
		}}}
	}
	if budget := (meter{maxVisits}); !s.flat && !budget.affords(s.root, value) {
		return []finding{{Fault: Fault{
			Keyword: "$ref",
			Message: "the value takes too long to check against the schema; a smaller one is needed",
		}}}
	}
	err := s.root.Validate(value)
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) { // the library returns no other type
		return []finding{{Fault: Fault{Message: err.Error()}}}
	}
	return s.findings(invalid)
}

func sortFindings(found []finding) {
	slices.SortFunc(found, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Keyword, b.Keyword), cmp.Compare(a.Message, b.Message))
	})
}

// findings flattens the library's tree of errors.
func (s *Schema) findings(e *jsonschema.ValidationError) []finding {
	one := func(keyword, message string) []finding {
		return []finding{{Fault: Fault{pointer(e.InstanceLocation), keyword, message}}}
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return s.missing(e, "required", k.Missing, "")
	case *kind.DependentRequired:
		return s.missing(e, "dependentRequired", k.Missing, k.Prop)
	case *kind.Dependency:
		return s.missing(e, "dependencies", k.Missing, k.Prop)
	case *kind.AdditionalProperties:
		return s.unknown(e, k.Properties)
	case *kind.Type:
		found := one("type", fmt.Sprintf("%s is %s; %s is needed", subject(e.InstanceLocation), phrase(k.Got),
			phrases(k.Want)))
		found[0].want = k.Want
		return found
	case *kind.AnyOf:
		return s.noneFits(e, "anyOf")
	case *kind.OneOf:
		if k.Subschemas == nil {
			return s.noneFits(e, "oneOf")
		}
		return one("oneOf", subject(e.InstanceLocation)+" fits more than one of the forms allowed; exactly one is needed")
	case *kind.PropertyNames:
		return one("propertyNames", fmt.Sprintf("the name %q in %s is not allowed", truncate.Runes(k.Property, maxClip),
			subject(e.InstanceLocation)))
	case *kind.Contains:
		return one("contains", subject(e.InstanceLocation)+" has no item of the kind needed")
	case *kind.MinContains:
		return one("minContains", fmt.Sprintf("%s has %d items of the kind needed; at least %d are",
			subject(e.InstanceLocation), len(k.Got), k.Want))
	}
	if len(e.Causes) == 0 {
		keyword := cmp.Or(strings.Join(e.ErrorKind.KeywordPath(), "/"), "not") // false is {"not": {}}
		return one(keyword, subject(e.InstanceLocation)+" "+complaint(e.ErrorKind))
	}
	var found []finding
	for _, cause := range e.Causes {
		if found = append(found, s.findings(cause)...); len(found) > maxFindings {
			break
		}
	}
	return found
}

// missing returns a fault for each missing property.
func (s *Schema) missing(e *jsonschema.ValidationError, keyword string, names []string, because string) []finding {
	node := s.nodes[e.SchemaURL]
	var found []finding
	for _, name := range names {
		at := append(slices.Clone(e.InstanceLocation), name)
		message := subject(at) + " is missing"
		if because != "" {
			message += fmt.Sprintf("; it belongs to %q", truncate.Runes(because, maxClip))
		} else if node != nil {
			if p := target(node.Properties[name]); p != nil && p.Types != nil {
				message += "; " + phrases(p.Types.ToStrings()) + " is needed"
			}
		}
		found = append(found, finding{Fault: Fault{pointer(at), keyword, message}})
	}
	return found
}

// unknown returns a fault for each unknown property.
func (s *Schema) unknown(e *jsonschema.ValidationError, names []string) []finding {
	var known []string
	if node := s.nodes[e.SchemaURL]; node != nil {
		known = slices.Sorted(maps.Keys(node.Properties))
	}
	var found []finding
	for _, name := range names[:min(len(names), maxFindings)] {
		message := fmt.Sprintf("there is no argument %q", truncate.Runes(name, maxClip))
		if len(e.InstanceLocation) > 0 {
			message = fmt.Sprintf("there is no %q in %s", truncate.Runes(name, maxClip), subject(e.InstanceLocation))
		}
		at := append(slices.Clone(e.InstanceLocation), name)
		found = append(found, finding{Fault: Fault{pointer(at), "additionalProperties", message + suggestion(name, known)}})
	}
	return found
}

// suggestion names the known name that was probably meant, or lists the known
// names.
func suggestion(name string, known []string) string {
	if len(known) == 0 {
		return "; it takes none"
	}
	if clause := nearest.Clause(name, known); clause != "" {
		return clause
	}
	for _, candidate := range known {
		if akin(name, candidate) {
			return fmt.Sprintf("; did you mean %q?", candidate)
		}
	}
	shown := make([]any, 0, maxShown)
	for _, candidate := range known[:min(len(known), maxShown)] {
		shown = append(shown, candidate)
	}
	return "; there are " + alternatives(shown, ", ")
}

// akin reports whether one name is a longer or shorter form of the other, such
// as latitude and lat1: without digits at the end, one is a prefix or suffix of
// the other and has at least three letters.
func akin(a, b string) bool {
	trim := func(s string) string { return strings.TrimRight(plainName(s), "0123456789") }
	a, b = trim(a), trim(b)
	if len(a) > len(b) {
		a, b = b, a
	}
	return len(a) >= 3 && (strings.HasPrefix(b, a) || strings.HasSuffix(b, a))
}

// noneFits explains why no branch of anyOf or oneOf accepts a value. If one
// branch was probably meant, only its faults are reported.
func (s *Schema) noneFits(e *jsonschema.ValidationError, keyword string) []finding {
	here := pointer(e.InstanceLocation)
	var branches [][]finding
	var types []string
	for _, cause := range e.Causes {
		found := s.findings(cause)
		sortFindings(found)
		if len(found) == 1 && found[0].Path == here && found[0].want != nil {
			types = append(types, found[0].want...)
			continue
		}
		branches = append(branches, found)
	}
	if len(branches) > 1 { // a different constant, as in kind: "point", rules out a branch
		meant := slices.DeleteFunc(slices.Clone(branches), func(found []finding) bool {
			return slices.ContainsFunc(found, func(f finding) bool { return f.Keyword == "const" || f.Keyword == "enum" })
		})
		if len(meant) == 1 {
			branches = meant
		}
	}
	fault := Fault{Path: here, Keyword: keyword}
	switch {
	case len(branches) == 1:
		return branches[0]
	case len(branches) == 0 && len(types) > 0:
		fault.Message = fmt.Sprintf("%s has the wrong type; %s is needed", subject(e.InstanceLocation), phrases(types))
		return []finding{{Fault: fault, want: types}}
	}
	var reasons []string
	for _, found := range branches {
		if len(found) > 0 && len(reasons) < 3 {
			reasons = append(reasons, found[0].Message)
		}
	}
	fault.Message = fmt.Sprintf("%s fits none of the %d forms allowed: %s", subject(e.InstanceLocation), len(e.Causes),
		strings.Join(reasons, ", or "))
	return []finding{{Fault: fault}}
}

// complaint describes what is wrong with a value and what would be right.
func complaint(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Enum:
		text := "is " + show(k.Got)
		if got, ok := k.Got.(string); ok {
			if clause := nearest.Clause(got, texts(k.Want)); clause != "" {
				return text + clause
			}
		}
		return fmt.Sprintf("%s; one of %s is needed", text, alternatives(k.Want, ", "))
	case *kind.Const:
		return fmt.Sprintf("is %s; %s is needed", show(k.Got), show(k.Want))
	case *kind.Minimum:
		return fmt.Sprintf("is %s; at least %s is needed", number(k.Got), number(k.Want))
	case *kind.Maximum:
		return fmt.Sprintf("is %s; at most %s is allowed", number(k.Got), number(k.Want))
	case *kind.ExclusiveMinimum:
		return fmt.Sprintf("is %s; more than %s is needed", number(k.Got), number(k.Want))
	case *kind.ExclusiveMaximum:
		return fmt.Sprintf("is %s; less than %s is needed", number(k.Got), number(k.Want))
	case *kind.MultipleOf:
		return fmt.Sprintf("is %s; a multiple of %s is needed", number(k.Got), number(k.Want))
	case *kind.MinLength:
		return fmt.Sprintf("has %d characters; at least %d are needed", k.Got, k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("has %d characters; at most %d are allowed", k.Got, k.Want)
	case *kind.Pattern:
		return fmt.Sprintf("is %q; text that matches %s is needed", truncate.Runes(k.Got, maxClip),
			truncate.Runes(k.Want, maxClip))
	case *kind.MinItems:
		return fmt.Sprintf("has %d items; at least %d are needed", k.Got, k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("has %d items; at most %d are allowed", k.Got, k.Want)
	case *kind.UniqueItems:
		return fmt.Sprintf("has equal items at %d and %d; they must differ", k.Duplicates[0], k.Duplicates[1])
	case *kind.AdditionalItems:
		return fmt.Sprintf("has %d items too many", k.Count)
	case *kind.MaxContains:
		return fmt.Sprintf("has %d items of a kind; at most %d are allowed", len(k.Got), k.Want)
	case *kind.MinProperties:
		return fmt.Sprintf("has %d members; at least %d are needed", k.Got, k.Want)
	case *kind.MaxProperties:
		return fmt.Sprintf("has %d members; at most %d are allowed", k.Got, k.Want)
	case *kind.InvalidJsonValue:
		return fmt.Sprintf("is a %T, which JSON does not have", k.Value)
	}
	return "is not allowed" // false and not
}

// subject names a part of a value: "filter.ids[2]".
func subject(location []string) string {
	if len(location) == 0 {
		return "the value"
	}
	var name strings.Builder
	for i, token := range location {
		if _, err := strconv.ParseUint(token, 10, 32); err == nil && i > 0 {
			name.WriteString("[" + token + "]")
			continue
		}
		if i > 0 {
			name.WriteByte('.')
		}
		name.WriteString(token)
	}
	return strconv.Quote(truncate.Runes(name.String(), maxClip))
}

// pointer renders a location as a JSON Pointer (RFC 6901).
func pointer(location []string) string {
	var path strings.Builder
	for _, token := range location {
		path.WriteByte('/')
		path.WriteString(escape.Replace(token))
	}
	return path.String()
}

// phrases names types in the form that precedes "is needed".
func phrases(types []string) string {
	var words []string
	for _, t := range types {
		if p := phrase(t); !slices.Contains(words, p) {
			words = append(words, p)
		}
	}
	return strings.Join(words, " or ")
}

func phrase(typ string) string {
	switch typ {
	case "string":
		return "text"
	case "integer":
		return "a whole number"
	case "number":
		return "a number"
	case "boolean":
		return "true or false"
	case "array":
		return "a list"
	case "object":
		return "an object"
	}
	return typ
}

func typeName(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "number"
}

// alternatives lists the first few values.
func alternatives(values []any, separator string) string {
	var shown []string
	for _, v := range values[:min(len(values), maxShown)] {
		shown = append(shown, show(v))
	}
	if len(values) > maxShown {
		shown = append(shown, fmt.Sprintf("%d more", len(values)-maxShown))
	}
	return strings.Join(shown, separator)
}

// show renders a value as JSON, shortened.
func show(value any) string {
	b, err := Encode(value)
	if err != nil {
		return fmt.Sprintf("%T", value)
	}
	return truncate.Runes(string(b), maxClip)
}

func number(r *big.Rat) string {
	if r == nil || r.IsInt() && r.Num().BitLen() < 64 {
		return truncate.Runes(r.RatString(), maxClip)
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func texts(values []any) []string {
	var out []string
	for _, v := range values {
		if text, ok := v.(string); ok {
			out = append(out, text)
		}
	}
	return out
}
