package availability

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	celast "cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// environment compiles expressions. Equal ones are compiled once.
type environment struct {
	env      *cel.Env
	objects  map[string]object
	settings map[string]setting
	compiled map[string]*expression
}

// expression is a compiled expression.
type expression struct {
	program  cel.Program
	fields   Fields
	tool     map[string]bool // fields of tool that it uses
	settings map[string]bool
	// repeats: it has macros or regular expressions, so that the cost of an evaluation is
	// not bounded by the size of the text.
	repeats bool
}

// Fault is what is wrong in an expression.
type Fault struct {
	Offset  int // in bytes
	Message string
	Hint    string
}

// Error returns the message.
func (f *Fault) Error() string { return f.Message }

func newEnvironment(settings map[string]setting) (*environment, error) {
	base, err := types.NewRegistry()
	if err != nil {
		return nil, err
	}
	p := newProvider(base, settings)
	env, err := cel.NewEnv(
		cel.CustomTypeAdapter(base), cel.CustomTypeProvider(p),
		cel.Variable(objectCtx, typeOf(objectCtx)), cel.Variable(objectTool, typeOf(objectTool)),
		cel.ParserExpressionSizeLimit(MaxExpression), cel.ParserRecursionLimit(MaxDepth),
		cel.ASTValidators(
			cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateRegexLiterals(),
			cel.ValidateHomogeneousAggregateLiterals(), cel.ValidateComprehensionNestingLimit(MaxNesting),
			cel.ValidateRegexProgramSizeLimit(MaxPattern),
		),
	)
	if err != nil {
		return nil, err
	}
	return &environment{env: env, objects: p.objects, settings: settings, compiled: map[string]*expression{}}, nil
}

// compile compiles an expression. It never panics, whatever the text.
func (e *environment) compile(text string) (x *expression, fault *Fault) {
	if known := e.compiled[text]; known != nil {
		return known, nil
	}
	defer func() {
		if p := recover(); p != nil {
			x, fault = nil, &Fault{Message: fmt.Sprintf("CEL cannot compile it: %v", p), Hint: "write it in a simpler way"}
		}
	}()
	switch {
	case strings.TrimSpace(text) == "":
		return nil, &Fault{Message: "the expression is empty", Hint: "write a CEL expression, such as ctx.space_id != null"}
	case len(text) > MaxExpression:
		return nil, &Fault{Message: fmt.Sprintf("the expression has %d bytes; the limit is %d", len(text), MaxExpression)}
	case !utf8.ValidString(text):
		return nil, &Fault{Message: "the expression is not UTF-8"}
	}
	checked, issues := e.env.Compile(text)
	if err := issues.Err(); err != nil {
		return nil, e.fault(text, issues.Errors())
	}
	if t := checked.OutputType(); !t.IsExactType(cel.BoolType) {
		return nil, &Fault{
			Message: fmt.Sprintf("the expression gives %s; it must give true or false", typeName(t)),
			Hint:    e.compareHint(t),
		}
	}
	x = &expression{tool: map[string]bool{}, settings: map[string]bool{}}
	if fault := x.survey(text, checked.NativeRep()); fault != nil {
		return nil, fault
	}
	options := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize)}
	if x.repeats {
		options = append(options, cel.CostLimit(MaxCost))
	}
	program, err := e.env.Program(checked, options...)
	if err != nil {
		return nil, &Fault{Message: err.Error()}
	}
	x.program = program
	e.compiled[text] = x
	return x, nil
}

func (e *environment) compareHint(t *cel.Type) string {
	if t.Kind() == types.StringKind || t.IsAssignableType(types.NullType) {
		return "compare it, such as … != null"
	}
	return "compare it, such as … == 'value'"
}

// survey records the fields that an expression uses. ctx, ctx.settings and tool are no
// values of their own: every use selects a field.
func (x *expression) survey(text string, tree *celast.AST) (fault *Fault) {
	selected := map[int64]bool{} // operands of selections
	whole := func(e celast.Expr, name, example string) {
		if selected[e.ID()] || fault != nil {
			return
		}
		at := tree.SourceInfo().GetStartLocation(e.ID())
		fault = &Fault{
			Offset: offsetOf(text, at), Message: name + " is used as a whole",
			Hint: "select a field, such as " + example,
		}
	}
	celast.PreOrderVisit(celast.NavigateAST(tree), celast.NewExprVisitor(func(e celast.Expr) {
		switch e.Kind() {
		case celast.ComprehensionKind:
			x.repeats = true
		case celast.CallKind:
			x.repeats = x.repeats || e.AsCall().FunctionName() == overloads.Matches
		case celast.SelectKind:
			s := e.AsSelect()
			switch object := objectOf(s.Operand()); object {
			case objectCtx:
				selected[s.Operand().ID()] = true
				x.useCtx(s.FieldName())
				if s.FieldName() == fieldSettings && !s.IsTestOnly() {
					whole(e, objectSettings, "ctx.settings.web_search")
				}
			case objectSettings:
				selected[s.Operand().ID()] = true
				x.settings[s.FieldName()] = true
			case objectTool:
				selected[s.Operand().ID()] = true
				x.tool[s.FieldName()] = true
			}
		case celast.IdentKind:
			switch e.AsIdent() {
			case objectCtx:
				whole(e, objectCtx, "ctx.space_id")
			case objectTool:
				whole(e, objectTool, "tool.name")
			}
		}
	}))
	return fault
}

// objectOf returns the name of the object that an expression is, or "".
func objectOf(e celast.Expr) string {
	switch e.Kind() {
	case celast.IdentKind:
		return e.AsIdent()
	case celast.SelectKind:
		if s := e.AsSelect(); s.FieldName() == fieldSettings && !s.IsTestOnly() && objectOf(s.Operand()) == objectCtx {
			return objectSettings
		}
	}
	return ""
}

func (x *expression) useCtx(field string) {
	if field == fieldNow {
		x.fields |= nowField
	}
	for i, t := range texts {
		if t.name == field {
			x.fields |= 1 << i
		}
	}
}

// The errors of CEL's checker that are said in other words.
var (
	undefinedField = regexp.MustCompile(`^undefined field '(.*)'$`)
	undeclaredName = regexp.MustCompile(`^undeclared reference to '(.*?)'( \(in container '.*'\))?$`)
	noOverload     = regexp.MustCompile(`^found no matching overload for '(.*)' applied to '(.*)'$`)
)

// fault returns the first error.
func (e *environment) fault(text string, errors []*common.Error) *Fault {
	first := errors[0]
	for _, other := range errors[1:] {
		if before(other.Location, first.Location) {
			first = other
		}
	}
	f := &Fault{Offset: offsetOf(text, first.Location), Message: truncate.Ellipsis(first.Message, maxShown)}
	if m := undefinedField.FindStringSubmatch(first.Message); m != nil {
		e.unknownField(text, f, m[1])
	} else if m := undeclaredName.FindStringSubmatch(first.Message); m != nil {
		f.Message = fmt.Sprintf("there is no name or function %q", truncate.Ellipsis(m[1], maxShown))
		if strings.HasPrefix(text[f.Offset:], "(") { // CEL's location of a call
			f.Offset -= min(len(m[1]), f.Offset)
		}
		f.Hint = e.nameHint(m[1])
	} else if m := noOverload.FindStringSubmatch(first.Message); m != nil {
		f.Message, f.Hint = operands(m[1], m[2])
	} else if syntax, ok := strings.CutPrefix(first.Message, "Syntax error: "); ok {
		syntax, _, _ = strings.Cut(syntax, " expecting ")
		f.Message, f.Hint = "this is not a CEL expression: "+truncate.Ellipsis(syntax, maxShown), syntaxHint(text, f.Offset)
	}
	return f
}

// maxShown is how many bytes of a text messages show.
const maxShown = 200

func before(a, b common.Location) bool {
	return cmp.Or(cmp.Compare(a.Line(), b.Line()), cmp.Compare(a.Column(), b.Column())) < 0
}

// unknownField is the fault of a field that an object lacks. CEL's location is the dot.
func (e *environment) unknownField(text string, f *Fault, field string) {
	object := objectCtx
	switch prefix := strings.TrimRight(text[:f.Offset], " \t\r\n"); {
	case strings.HasSuffix(prefix, "settings"):
		object = objectSettings
	case strings.HasSuffix(prefix, objectTool):
		object = objectTool
	}
	if at := strings.Index(text[f.Offset:], field); at >= 0 {
		f.Offset += at
	}
	names := e.objects[object].names
	f.Message = fmt.Sprintf("%s has no field %q", object, truncate.Ellipsis(field, maxShown))
	otherwise := "its fields are " + strings.Join(names, ", ")
	switch {
	case object == objectSettings:
		f.Message = fmt.Sprintf("there is no setting %q", truncate.Ellipsis(field, maxShown))
		otherwise = "declare it under runtime.tools.settings"
	case object == objectCtx && e.settings[field].typ != nil:
		otherwise = fmt.Sprintf("write ctx.settings.%s", field)
	}
	f.Hint = nearest.Hint(field, names, otherwise)
}

// nameHint is the hint about a name that is not declared.
func (e *environment) nameHint(name string) string {
	if e.objects[name].names != nil {
		return "it is an object, and no type or function; select a field of it"
	}
	for _, object := range []string{objectCtx, objectTool, objectSettings} {
		if e.objects[object].byName[name] != nil {
			return fmt.Sprintf("write %s.%s", object, name)
		}
	}
	return nearest.Hint(name, e.names(), "the names are ctx and tool, see docs/availability.md")
}

// names are what an expression can begin with, for suggestions.
func (e *environment) names() []string {
	names := []string{objectCtx, objectTool}
	for name := range e.env.Functions() {
		if regexp.MustCompile(`^[a-zA-Z]+$`).MatchString(name) {
			names = append(names, name)
		}
	}
	return names
}

// operands is the error of an operator or function that does not take its operands.
func operands(operator, types string) (message, hint string) {
	name := strings.Trim(operator, "_@!")
	types = strings.NewReplacer("wrapper(", "", "google.protobuf.Timestamp", "timestamp", "$", "").Replace(types)
	types = strings.ReplaceAll(strings.Trim(types, "()"), ")", "")
	if name == "" || strings.Contains("&& || == != < <= > >= + - * / % in ?_: [_]", name) {
		return fmt.Sprintf("the operator %s does not take %s", strings.NewReplacer("_", " ").Replace(name),
			strings.ReplaceAll(types, ", ", " and ")), "compare values of one type"
	}
	return fmt.Sprintf("%s does not take %s", name, types), ""
}

func syntaxHint(text string, offset int) string {
	rest := text[offset:]
	if offset > 0 && strings.HasPrefix(text[offset-1:], "<>") {
		rest = text[offset-1:]
	}
	switch {
	case strings.HasPrefix(rest, "=") && !strings.HasPrefix(rest, "=="):
		return "write == to compare"
	case strings.HasPrefix(strings.ToLower(rest), "and "), strings.HasPrefix(strings.ToLower(rest), "or "),
		strings.HasSuffix(strings.ToLower(text[:offset]), "not "):
		return "write &&, || and ! for and, or and not"
	case strings.HasPrefix(rest, "<>"):
		return "write != for not equal"
	case offset >= len(text):
		return "something is missing at its end"
	}
	return ""
}

// offsetOf returns the byte of a text at a location, which counts characters.
func offsetOf(text string, at common.Location) int {
	offset := 0
	for line := 1; line < at.Line(); line++ {
		next := strings.IndexByte(text[offset:], '\n')
		if next < 0 {
			return len(text)
		}
		offset += next + 1
	}
	for range at.Column() {
		_, size := utf8.DecodeRuneInString(text[offset:])
		offset += size
	}
	return min(offset, len(text))
}

// typeName names a type in messages.
func typeName(t *cel.Type) string {
	switch {
	case t.Kind() == types.StringKind || t.IsAssignableType(types.NullType):
		return "a text"
	case t.Kind() == types.IntKind, t.Kind() == types.UintKind, t.Kind() == types.DoubleKind:
		return "a number"
	case t.Kind() == types.ListKind:
		return "a list"
	}
	return t.String()
}
