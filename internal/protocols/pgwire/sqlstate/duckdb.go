package sqlstate

import (
	"regexp"
	"sync"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// OfError returns the SQLSTATE of a statement's error: that of the server that reported
// it, or of the first row of rules that matches, or that of its code.
func OfError(e *engine.Error) string {
	if e.State != "" {
		return e.State
	}
	for _, r := range compiled() {
		if (r.class == "*" || r.class == e.Class) && r.text.MatchString(e.Message) {
			return r.state
		}
	}
	switch {
	case e.Code != errcode.NotFound:
	case e.Missing == engine.ObjectColumn:
		return NoColumn
	case e.Missing == engine.ObjectFunction:
		return NoFunction
	}
	return Of(e.Code)
}

// rules has the SQLSTATE of what DuckDB and the engine report, by the class of
// DuckDB's exception (* is any, none the engine's own errors) and the beginning of
// its message, which is a regular expression. The states are those that
// PostgreSQL gives to the same statement.
var rules = []struct{ class, text, state string }{
	{"*", `extract specifier .* not recognized`, Value},
	{"*", `Type STRUCT.* does not match with STRUCT`, Syntax},
	{"Constraint", `Duplicate key|PRIMARY KEY or UNIQUE|.*violates (primary key|unique) constraint`, UniqueViolation},
	{"Constraint", `NOT NULL constraint`, NotNullViolation},
	{"Constraint", `CHECK constraint`, CheckViolation},
	{"Constraint", `(Violates|Violated|.*violates) foreign key`, ForeignKeyViolation},
	{"Constraint", ``, Constraint},
	{"TransactionContext", `.*[Cc]onflict`, Serialization},
	{"Transaction", `.*[Cc]onflict`, Serialization},
	{
		"Conversion", `(date|timestamp|time) field value out of range|.*[Dd]ate out of range|.*timestamp .*out of range`,
		DatetimeOverflow,
	},
	{"Conversion", `invalid (date|timestamp|time) field format|Could not convert string '.*' to INTERVAL`, DatetimeFormat},
	{"Conversion", `Could not convert string ['"][+-]?[0-9]+['"] to |.*out of range|.*[Oo]verflow`, OutOfRange},
	{"Conversion", `Unimplemented type for cast`, CannotCoerce},
	{"Conversion", `Invalid (hex|byte)|.*string -> blob conversion`, Value},
	{"Conversion", ``, Text},
	{"Invalid Input", `Malformed JSON`, Text},
	{"Invalid Input", `Could not parse string .* according to format`, DatetimeFormat},
	{
		"Invalid Input", `.*(regex|missing \)|missing \]|no argument for repetition|invalid (escape|perl|character class))`,
		RegularExpression,
	},
	{"Invalid Input", `missing argument to repetition|bad repetition|unexpected \)|trailing \\`, RegularExpression},
	{"Invalid Input", `More than one row returned by a subquery`, Cardinality},
	{"Invalid Input", `Invalid UTF8 Codepoint`, Value},
	{"Invalid Input", `.*[Dd]ivision by zero`, DivisionByZero},
	{"Out of Range", `cannot take square root`, PowerArgument},
	{"Out of Range", `cannot take logarithm`, LogArgument},
	{"Out of Range", `.*[Dd]ivision by zero`, DivisionByZero},
	{"Out of Range", ``, OutOfRange},
	{"Divide by Zero", ``, DivisionByZero},
	{"*", `cannot take square root`, PowerArgument},
	{"*", `cannot take logarithm`, LogArgument},
	{"*", `More than one row returned by a subquery`, Cardinality},
	{"Out of Memory", ``, OutOfMemory},
	{"Not implemented", ``, Unsupported},
	{"IO", ``, IO},
	{"HTTP", ``, IO},

	{"*", `to_(char|timestamp|date) does not serve|the pattern of to_(char|timestamp|date)`, Unsupported},

	{"Catalog", `Type with name`, UndefinedObject},
	{"Catalog", `Schema with name|.*schema .* does not exist`, NoSchema},
	{"Binder", `Referenced table ".*" not found`, NoTable},
	{"Binder", `Ambiguous reference to table|Duplicate alias|Duplicate table alias`, DuplicateAlias},
	{"Binder", `Ambiguous reference to column|.*is ambiguous`, AmbiguousColumn},
	{"Binder", `Duplicate column name`, DuplicateColumn},
	{"*", `Duplicate CTE name`, DuplicateAlias},
	{"Binder", `column x? ?.*must appear in the GROUP BY|.*aggregate function calls cannot be nested|WHERE clause cannot contain aggregates|.*cannot contain aggregates`, Grouping},
	{"Binder", `.*cannot contain window functions|.*window functions? .*not allowed|.*cannot be nested`, Windowing},
	{"Binder", `(ORDER|GROUP BY) term out of range`, InvalidColumnReference},
	{"Binder", `The specified columns as conflict target|There are no UNIQUE/PRIMARY KEY`, InvalidColumnReference},
	{"Binder", `Conflict target has to be provided`, Syntax},
	{
		"Binder", `.* cannot contain a subquery|(SUBQUERY is|'excluded' qualified columns are) not supported in`,
		Unsupported,
	},
	{"Binder", `(LIMIT|OFFSET).* (cannot|must not) be negative`, LimitValue},
	{"Binder", `Subquery returns [0-9]+ columns|Set operations can only apply|Column name/value mismatch|.*values lists? must all be|.*expected [0-9]+ columns but|STAR expression`, Syntax},
	{
		"Binder", `No function matches|Macro .* does not support the supplied arguments|Could not choose a best candidate`,
		NoFunction,
	},
	{"", `there is no parameter|the statement has [0-9]+ parameters?, got`, UndefinedParameter},
	{"Binder", `table .* has [0-9]+ columns but [0-9]+ values`, Syntax},
}

// rule is a row of rules.
type rule struct {
	class, state string
	text         *regexp.Regexp
}

// compiled are the rules, compiled by the first error.
var compiled = sync.OnceValue(func() []rule {
	list := make([]rule, len(rules))
	for i, r := range rules {
		list[i] = rule{r.class, r.state, regexp.MustCompile(`^(?s:` + r.text + `)`)}
	}
	return list
})
