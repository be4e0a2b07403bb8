package diff

import "regexp"

// The kinds of differences.
const (
	values  = "other rows"
	refused = "an error"
	accepts = "rows where PostgreSQL has an error"
)

// The lists of differences.
const (
	dialect = "the dialect"       // docs/sql.md, "What differs from PostgreSQL"
	fault   = "DuckDB's faults"   // docs/sql.md, "Faults of DuckDB"
	missing = "what DuckDB lacks" // an error that names it
)

// knownDifference is a difference that is understood.
type knownDifference struct {
	list, name string
	message    *regexp.Regexp // of the error
	sql        *regexp.Regexp // in the smallest statement; nil: any
	cured      bool           // only plain DuckDB may have it: spiced rewrites or refuses it
}

// correlatedWith is a WITH inside of a statement, and throughFrom one that a subquery in FROM
// reads. notBetween is BETWEEN of more than a column where NULL for false makes a difference.
var (
	correlatedWith = regexp.MustCompile(`(?s)\(\s*WITH \w+ .*\bFROM \w`)
	throughFrom    = regexp.MustCompile(`(?s)\(\s*WITH \w+ .*\bFROM \(SELECT [^()]*\bFROM w\d+`)
	notBetween     = regexp.MustCompile(`\) NOT BETWEEN |NOT \(.*\) BETWEEN |\) BETWEEN .*\) IS `)
)

// known are the differences that are understood.
var known = []knownDifference{
	{list: fault, name: "a correlated WITH that a subquery reads", sql: throughFrom, cured: true},
	{
		list: fault, name: "a WITH of a body that cannot be written in place of its name: refused (0072)",
		message: regexp.MustCompile(`DuckDB may return the values of other rows for the CTE \w+, which depends on an outer query and is read in a subquery; `),
		sql:     regexp.MustCompile(`\(WITH `),
	},
	{
		list: fault, name: "a correlated WITH: an internal error", message: regexp.MustCompile(`Attempted to access index \d+ within vector of size`),
		sql: correlatedWith,
	},
	{
		list: fault, name: "a correlated WITH: columns of another type",
		message: regexp.MustCompile(`Vector::Reference used on vector of different type|Expected unified vector format of type|Failed to cast value: (Could not convert string|Unimplemented type for cast)`), sql: throughFrom,
	},
	{
		list: fault, name: "an argument of a function next to a WITH of its body", message: regexp.MustCompile(`Failed to bind column reference "a\d"`),
		sql: regexp.MustCompile(`(?s)\bf\d+\(.*\(WITH `),
	},
	{
		list: fault, name: "a WITH that a correlated subquery reads: an error", message: regexp.MustCompile(`Failed to bind column reference "\w*"`),
		sql: correlatedWith,
	},
	{list: fault, name: "NOT BETWEEN of a subquery, or of a call whose body has one", sql: notBetween},
	{list: fault, name: "a correlated WITH with a subquery, such as = ANY (ARRAY[…])", message: regexp.MustCompile(`unordered_map::at`), sql: correlatedWith},
	{
		list: fault, name: "a correlated WITH: DuckDB ends",
		message: regexp.MustCompile(`^spiced ended: .*\n.*\n?.*(SEGV|segmentation)|has ended its worker|the worker (process )?ended`), sql: correlatedWith,
	},
	{
		list: fault, name: "calls whose bodies have a WITH: DuckDB would end, and the body is refused",
		message: regexp.MustCompile(`DuckDB ends its process \(a fault of DuckDB\)`),
	},
	{
		list: missing, name: "IN of several columns with a correlated subquery",
		message: regexp.MustCompile(`Correlated IN/ANY/ALL with multiple columns not yet supported`),
	},
	{
		list: missing, name: "a subquery in ON of an outer join, such as = ANY (ARRAY[…])",
		message: regexp.MustCompile(`Cannot perform non-inner join on subquery!`),
	},
	{
		list: missing, name: "a condition of an outer join with columns from outside of its query",
		message: regexp.MustCompile(`Non-inner join on correlated columns not supported`),
	},
	{list: missing, name: "a correlated FULL JOIN", message: regexp.MustCompile(`Unsupported join type for flattening correlated subquery`)},
}

// match finds the known difference of a statement in a target.
func (t target) match(sql string, d difference) *knownDifference {
	for i, k := range known {
		if k.cured && !t.plain {
			continue
		}
		if (k.message != nil) != (d.kind == refused) || k.message != nil && !k.message.MatchString(d.message) {
			continue
		}
		if k.sql == nil || k.sql.MatchString(sql) {
			return &known[i]
		}
	}
	return nil
}
