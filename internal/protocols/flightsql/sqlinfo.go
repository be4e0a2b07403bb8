package flightsql

import (
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
)

const (
	caseInsensitive = int32(pb.SqlSupportedCaseSensitivity_SQL_CASE_SENSITIVITY_CASE_INSENSITIVE)
	forwardOnly     = pb.SqlSupportedResultSetType_SQL_RESULT_SET_TYPE_FORWARD_ONLY
)

// sqlInfo says what the server is and which SQL it speaks: a string, bool,
// int64, int32 or []string for each number that FlightSql.proto defines. The driver for JDBC
// does not begin transactions, so clients in Java have none.
func sqlInfo(version string, c *client) map[flightsql.SqlInfo]any {
	transactions, isolation := pb.SqlSupportedTransaction_SQL_SUPPORTED_TRANSACTION_TRANSACTION,
		pb.SqlTransactionIsolationLevel_SQL_TRANSACTION_READ_COMMITTED
	if c.java {
		transactions, isolation = pb.SqlSupportedTransaction_SQL_SUPPORTED_TRANSACTION_NONE,
			pb.SqlTransactionIsolationLevel_SQL_TRANSACTION_NONE
	}
	return map[flightsql.SqlInfo]any{
		flightsql.SqlInfoFlightSqlServerName:          "spiced",
		flightsql.SqlInfoFlightSqlServerVersion:       version,
		flightsql.SqlInfoFlightSqlServerArrowVersion:  arrow.PkgVersion,
		flightsql.SqlInfoFlightSqlServerReadOnly:      !c.Write,
		flightsql.SqlInfoFlightSqlServerSql:           true,
		flightsql.SqlInfoFlightSqlServerSubstrait:     false,
		flightsql.SqlInfoFlightSqlServerTransaction:   int32(transactions),
		flightsql.SqlInfoFlightSqlServerCancel:        true,
		flightsql.SqlInfoFlightSqlServerBulkIngestion: false,

		flightsql.SqlInfoDDLCatalog:                             false,
		flightsql.SqlInfoDDLSchema:                              false,
		flightsql.SqlInfoDDLTable:                               false,
		flightsql.SqlInfoIdentifierCase:                         caseInsensitive,
		flightsql.SqlInfoIdentifierQuoteChar:                    `"`,
		flightsql.SqlInfoQuotedIdentifierCase:                   caseInsensitive,
		flightsql.SqlInfoAllTablesAreASelectable:                true,
		flightsql.SqlInfoNullOrdering:                           int32(pb.SqlNullOrdering_SQL_NULLS_SORTED_AT_END),
		flightsql.SqlInfoKeywords:                               keywords,
		flightsql.SqlInfoNumericFunctions:                       numericFunctions,
		flightsql.SqlInfoStringFunctions:                        stringFunctions,
		flightsql.SqlInfoSystemFunctions:                        systemFunctions,
		flightsql.SqlInfoDateTimeFunctions:                      timeFunctions,
		flightsql.SqlInfoSearchStringEscape:                     `\`,
		flightsql.SqlInfoExtraNameChars:                         "",
		flightsql.SqlInfoSupportsColumnAliasing:                 true,
		flightsql.SqlInfoNullPlusNullIsNull:                     true,
		flightsql.SqlInfoSupportsTableCorrelationNames:          true,
		flightsql.SqlInfoSupportsDifferentTableCorrelationNames: false,
		flightsql.SqlInfoSupportsExpressionsInOrderBy:           true,
		flightsql.SqlInfoSupportsOrderByUnrelated:               true,
		flightsql.SqlInfoSupportedGroupBy: bits(pb.SqlSupportedGroupBy_SQL_GROUP_BY_UNRELATED,
			pb.SqlSupportedGroupBy_SQL_GROUP_BY_BEYOND_SELECT),
		flightsql.SqlInfoSupportsLikeEscapeClause:   true,
		flightsql.SqlInfoSupportsNonNullableColumns: false,
		flightsql.SqlInfoSupportedGrammar: bits(pb.SupportedSqlGrammar_SQL_MINIMUM_GRAMMAR,
			pb.SupportedSqlGrammar_SQL_CORE_GRAMMAR),
		flightsql.SqlInfoANSI92SupportedLevel:                 bits(pb.SupportedAnsi92SqlGrammarLevel_ANSI92_ENTRY_SQL),
		flightsql.SqlInfoSupportsIntegrityEnhancementFacility: false,
		flightsql.SqlInfoOuterJoinsSupportLevel:               int32(pb.SqlOuterJoinsSupportLevel_SQL_FULL_OUTER_JOINS),
		flightsql.SqlInfoSchemaTerm:                           "schema",
		flightsql.SqlInfoProcedureTerm:                        "function",
		flightsql.SqlInfoCatalogTerm:                          "catalog",
		flightsql.SqlInfoCatalogAtStart:                       true,
		flightsql.SqlInfoSelectForUpdateSupported:             false,
		flightsql.SqlInfoStoredProceduresSupported:            false,
		flightsql.SqlInfoSupportedSubqueries: bits(
			pb.SqlSupportedSubqueries_SQL_SUBQUERIES_IN_COMPARISONS, pb.SqlSupportedSubqueries_SQL_SUBQUERIES_IN_EXISTS,
			pb.SqlSupportedSubqueries_SQL_SUBQUERIES_IN_INS, pb.SqlSupportedSubqueries_SQL_SUBQUERIES_IN_QUANTIFIEDS),
		flightsql.SqlInfoCorrelatedSubqueriesSupported: true,
		flightsql.SqlInfoSupportedUnions: bits(pb.SqlSupportedUnions_SQL_UNION,
			pb.SqlSupportedUnions_SQL_UNION_ALL),
		flightsql.SqlInfoMaxStatements:                           int64(maxPreparedOwner),
		flightsql.SqlInfoDefaultTransactionIsolation:             int32(isolation),
		flightsql.SqlInfoTransactionsSupported:                   !c.java,
		flightsql.SqlInfoSupportedTransactionsIsolationlevels:    bits(isolation),
		flightsql.SqlInfoSupportedResultSetTypes:                 bits(forwardOnly),
		flightsql.SqlInfoBatchUpdatesSupported:                   false,
		flightsql.SqlInfoSavePointsSupported:                     false,
		flightsql.SqlInfoNamedParametersSupported:                true,
		flightsql.SqlInfoLocatorsUpdateCopy:                      false,
		flightsql.SqlInfoStoredFunctionsUsingCallSyntaxSupported: false,
	}
}

// What a client may use beyond standard SQL, by the names that JDBC has for
// functions where DuckDB has them.
var (
	keywords = []string{
		"ANTI", "ASOF", "EXCLUDE", "ILIKE", "LAMBDA", "LATERAL", "LIMIT", "PIVOT", "POSITIONAL", "QUALIFY", "SAMPLE",
		"SEMI", "SUMMARIZE", "UNPIVOT",
	}
	numericFunctions = []string{
		"ABS", "ACOS", "ASIN", "ATAN", "ATAN2", "CEILING", "COS", "COT", "DEGREES", "EXP", "FLOOR", "LOG", "LOG10",
		"MOD", "PI", "POWER", "RADIANS", "ROUND", "SIGN", "SIN", "SQRT", "TAN",
	}
	stringFunctions = []string{
		"ASCII", "CHAR_LENGTH", "CHR", "CONCAT", "LCASE", "LEFT", "LENGTH", "LTRIM", "POSITION", "REPEAT", "REPLACE", "RIGHT",
		"RTRIM", "SUBSTRING", "UCASE",
	}
	systemFunctions = []string{"IFNULL"}
	timeFunctions   = []string{
		"DAYNAME", "DAYOFMONTH", "DAYOFWEEK", "DAYOFYEAR", "EXTRACT", "HOUR", "MINUTE", "MONTH", "MONTHNAME", "QUARTER",
		"SECOND", "WEEK", "YEAR",
	}
)

// bits is a bitmask of the values of an enumeration.
func bits[E ~int32](values ...E) int32 {
	var mask int32
	for _, v := range values {
		mask |= 1 << v
	}
	return mask
}

// addSQLInfo adds the rows of GetSqlInfo for the numbers asked for, or all. Numbers
// that are not known are left out: newer clients ask for more.
func addSQLInfo(b *array.RecordBuilder, asked []uint32, infos map[flightsql.SqlInfo]any) {
	wanted := slices.Sorted(maps.Keys(infos))
	if len(asked) > 0 {
		wanted = slices.DeleteFunc(wanted, func(i flightsql.SqlInfo) bool { return !slices.Contains(asked, uint32(i)) })
	}
	for _, number := range wanted {
		b.Field(0).(*array.Uint32Builder).Append(uint32(number))
		addInfo(b.Field(1).(*array.DenseUnionBuilder), infos[number])
	}
}

// addInfo adds a value to the union of GetSqlInfo, whose members stand in the
// order of schema_ref.SqlInfo.
func addInfo(b *array.DenseUnionBuilder, value any) {
	switch v := value.(type) {
	case string:
		b.Append(0)
		b.Child(0).(*array.StringBuilder).Append(v)
	case bool:
		b.Append(1)
		b.Child(1).(*array.BooleanBuilder).Append(v)
	case int64:
		b.Append(2)
		b.Child(2).(*array.Int64Builder).Append(v)
	case int32:
		b.Append(3)
		b.Child(3).(*array.Int32Builder).Append(v)
	case []string:
		b.Append(4)
		list := b.Child(4).(*array.ListBuilder)
		list.Append(true)
		list.ValueBuilder().(*array.StringBuilder).AppendValues(v, nil)
	}
}
