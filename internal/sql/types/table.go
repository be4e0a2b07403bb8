package types

import (
	"encoding/json"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// schema is a JSON Schema, or a part of one.
type schema = map[string]any

func simple(id engine.TypeID) engine.Type { return engine.Type{ID: id} }

// Integers of up to 32 bits have bounds. Beyond 2^53, readers that only know doubles
// change numbers: bounds would be wrong there, and results are text.
func bounded(low, high string) schema {
	return schema{"type": "integer", "minimum": json.Number(low), "maximum": json.Number(high)}
}

var (
	wholeNumber = schema{"type": "integer"}
	fromZero    = schema{"type": "integer", "minimum": json.Number("0")}
	bigNumber   = schema{"type": []string{"integer", "string"}, "pattern": "^-?[0-9]+$"}
	number      = schema{"type": "number"}
	digits      = schema{"type": "string", "pattern": `^-?[0-9]+(\.[0-9]+)?$`}
	text        = schema{"type": "string"}
	base64      = schema{"type": "string", "contentEncoding": "base64"}
	clock       = schema{"type": "string", "pattern": `^[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?$`}
	zonedClock  = schema{
		"type":    "string",
		"pattern": `^[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?(Z|[+-][0-9]{2}(:?[0-9]{2}){0,2})?$`,
	}
	dateTime = schema{"type": "string", "format": "date-time"}
)

// table is in the order of docs/types.md. int8 to int64 are Arrow's names, of so many
// bits: PostgreSQL's int8, of 8 bytes, is bigint here.
var table = []Info{
	{
		Type: simple(engine.Boolean), Names: []string{"boolean", "bool", "logical"},
		Arrow: arrow.FixedWidthTypes.Boolean, OID: pgtype.BoolOID, Argument: schema{"type": "boolean"}, Example: `true`,
	},
	{
		Type: simple(engine.TinyInt), Names: []string{"int8", "tinyint", "int1"},
		Arrow: arrow.PrimitiveTypes.Int8, OID: pgtype.Int2OID, Argument: bounded("-128", "127"), Example: `-7`,
	},
	{
		Type: simple(engine.SmallInt), Names: []string{"int16", "smallint", "int2", "short"},
		Arrow: arrow.PrimitiveTypes.Int16, OID: pgtype.Int2OID, Argument: bounded("-32768", "32767"), Example: `300`,
	},
	{
		Type: simple(engine.Integer), Names: []string{"int32", "integer", "int", "int4", "signed", "integral"},
		Arrow: arrow.PrimitiveTypes.Int32, OID: pgtype.Int4OID, Argument: bounded("-2147483648", "2147483647"),
		Example: `70000`,
	},
	{
		Type: simple(engine.BigInt), Names: []string{"int64", "bigint", "long", "oid"},
		Arrow: arrow.PrimitiveTypes.Int64, OID: pgtype.Int8OID, Argument: wholeNumber, Result: bigNumber,
		Example: `5000000000`,
	},
	{
		Type: simple(engine.HugeInt), Names: []string{"hugeint", "int128"},
		Arrow: &arrow.Decimal128Type{Precision: 38}, Foreign: true, OID: pgtype.NumericOID, Argument: wholeNumber,
		Result:  bigNumber,
		Example: `"170141183460469231731687303715884105727"`,
	},
	{
		Type: simple(engine.UTinyInt), Names: []string{"uint8", "utinyint"},
		Arrow: arrow.PrimitiveTypes.Uint8, OID: pgtype.Int2OID, Argument: bounded("0", "255"), Example: `200`,
	},
	{
		Type: simple(engine.USmallInt), Names: []string{"uint16", "usmallint"},
		Arrow: arrow.PrimitiveTypes.Uint16, OID: pgtype.Int4OID, Argument: bounded("0", "65535"), Example: `60000`,
	},
	{
		Type: simple(engine.UInteger), Names: []string{"uint32", "uinteger"},
		Arrow: arrow.PrimitiveTypes.Uint32, OID: pgtype.Int8OID, Argument: bounded("0", "4294967295"), Example: `4000000000`,
	},
	{
		Type: simple(engine.UBigInt), Names: []string{"uint64", "ubigint"},
		Arrow: arrow.PrimitiveTypes.Uint64, OID: pgtype.NumericOID, Argument: fromZero, Result: bigNumber,
		Example: `"18446744073709551615"`,
	},
	{
		Type: simple(engine.UHugeInt), Names: []string{"uhugeint", "uint128"},
		Arrow: &arrow.Decimal256Type{Precision: 39}, Foreign: true, OID: pgtype.NumericOID, Argument: fromZero,
		Result:  bigNumber,
		Example: `"340282366920938463463374607431768211455"`,
	},
	{
		Type: simple(engine.Float), Names: []string{"float32", "float", "real", "float4"},
		Arrow: arrow.PrimitiveTypes.Float32, OID: pgtype.Float4OID, Argument: number, Example: `1.5`,
	},
	{
		Type: simple(engine.Double), Names: []string{"float64", "double", "double precision", "float8"},
		Arrow: arrow.PrimitiveTypes.Float64, OID: pgtype.Float8OID, Argument: number, Example: `0.1`,
	},
	{
		Type: engine.Type{ID: engine.Decimal, Width: 18, Scale: 3}, Names: []string{"decimal", "numeric", "dec"},
		OID: pgtype.NumericOID, Argument: number, Result: digits, Arrow: &arrow.Decimal128Type{Precision: 18, Scale: 3},
		Example: `"12.500"`,
	},
	{
		Type:  simple(engine.Decimal),
		Names: []string{"decimal", "numeric", "dec", "decimal32", "decimal64", "decimal128", "decimal256"},
		Form:  "decimal(10,2)", OID: pgtype.NumericOID, Argument: number, Result: digits, Example: `"12.50"`,
	},
	{
		Type: simple(engine.Varchar),
		Names: []string{
			"utf8", "string", "varchar", "text", "char", "bpchar", "nvarchar", "character", "character varying",
			"large_utf8", "largeutf8", "utf8view",
		},
		Arrow: arrow.BinaryTypes.String, OID: pgtype.TextOID, Argument: text, Example: `"Zürich"`,
	},
	{
		Type:  simple(engine.Varchar),
		Names: []string{"varchar", "char", "bpchar", "nvarchar", "character", "character varying"},
		Form:  "varchar(20)", OID: pgtype.TextOID, Argument: text, Example: `"Zürich"`,
	},
	{
		Type: simple(engine.Enum), Names: []string{"enum"},
		Form: "enum('low', 'high')", OID: pgtype.TextOID, Example: `"low"`,
	},
	{
		Type: engine.Type{ID: engine.Varchar, JSON: true}, Names: []string{"json", "jsonb"},
		Arrow: arrow.BinaryTypes.String, Foreign: true, OID: pgtype.JSONOID, Argument: schema{}, Example: `{"a":[1,"x"]}`,
	},
	{
		Type: simple(engine.UUID), Names: []string{"uuid", "guid"},
		Arrow: arrow.BinaryTypes.String, Foreign: true, OID: pgtype.UUIDOID,
		Argument: schema{"type": "string", "format": "uuid"},
		Example:  `"01234567-89ab-4def-8123-456789abcdef"`,
	},
	{
		Type:  simple(engine.Blob),
		Names: []string{"binary", "blob", "bytea", "varbinary", "large_binary", "largebinary", "binaryview"},
		Arrow: arrow.BinaryTypes.Binary, OID: pgtype.ByteaOID, Argument: base64, Example: `"aGk="`,
	},
	{
		Type: simple(engine.Bit), Names: []string{"bit", "bitstring", "varbit", "bit varying"},
		Arrow: arrow.BinaryTypes.String, Foreign: true, OID: pgtype.VarbitOID,
		Argument: schema{"type": "string", "pattern": "^[01]+$"}, Example: `"0101"`,
	},
	{
		Type: simple(engine.Date), Names: []string{"date", "date32"},
		Arrow: arrow.FixedWidthTypes.Date32, OID: pgtype.DateOID, Argument: schema{"type": "string", "format": "date"},
		Example: `"2024-02-29"`,
	},
	{
		Type: simple(engine.Time), Names: []string{"time", "time without time zone"},
		Arrow: arrow.FixedWidthTypes.Time64us, OID: pgtype.TimeOID, Argument: clock, Example: `"12:30:00"`,
	},
	{
		Type: simple(engine.TimeNS), Names: []string{"time_ns"},
		Arrow: arrow.FixedWidthTypes.Time64ns, OID: pgtype.TimeOID, Argument: clock, Example: `"12:30:00.000000001"`,
	},
	{
		Type: simple(engine.Time), Names: []string{"time32", "time64"},
		Form: "time64(us)", OID: pgtype.TimeOID, Argument: clock, Example: `"12:30:00"`,
	},
	{
		Type: simple(engine.TimeTZ), Names: []string{"timetz", "time with time zone"},
		Arrow: arrow.BinaryTypes.String, Foreign: true, OID: pgtype.TimetzOID, Argument: zonedClock,
		Example: `"12:30:00+02:00"`,
	},
	{
		Type:  simple(engine.Timestamp),
		Names: []string{"timestamp", "datetime", "timestamp_us", "timestamp without time zone"},
		Arrow: &arrow.TimestampType{Unit: arrow.Microsecond}, OID: pgtype.TimestampOID, Argument: dateTime,
		Example: `"2024-02-29T12:30:00"`,
	},
	{
		Type: simple(engine.TimestampS), Names: []string{"timestamp_s"},
		Arrow: &arrow.TimestampType{Unit: arrow.Second}, OID: pgtype.TimestampOID, Argument: dateTime,
		Example: `"2024-02-29T12:30:00"`,
	},
	{
		Type: simple(engine.TimestampMS), Names: []string{"timestamp_ms", "date64"},
		Arrow: &arrow.TimestampType{Unit: arrow.Millisecond}, OID: pgtype.TimestampOID, Argument: dateTime,
		Example: `"2024-02-29T12:30:00.500"`,
	},
	{
		Type: simple(engine.TimestampNS), Names: []string{"timestamp_ns"},
		Arrow: &arrow.TimestampType{Unit: arrow.Nanosecond}, OID: pgtype.TimestampOID, Argument: dateTime,
		Example: `"2024-02-29T12:30:00.000000001"`,
	},
	{
		Type: simple(engine.TimestampTZ), Names: []string{"timestamptz", "timestamp with time zone"},
		Arrow: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, OID: pgtype.TimestamptzOID, Argument: dateTime,
		Example: `"2024-02-29T12:30:00Z"`,
	},
	{
		Type: simple(engine.Timestamp), Names: []string{"timestamp"},
		Form: "timestamp(us, UTC)", OID: pgtype.TimestamptzOID, Argument: dateTime, Example: `"2024-02-29T12:30:00Z"`,
	},
	{
		Type: simple(engine.Interval), Names: []string{"interval"},
		Arrow: arrow.FixedWidthTypes.MonthDayNanoInterval, OID: pgtype.IntervalOID, Argument: text,
		Example: `"1 day 02:00:00"`,
	},
	{
		Type: simple(engine.Interval), Names: []string{"interval", "duration"},
		Form: "interval(MonthDayNano)", OID: pgtype.IntervalOID, Argument: text, Example: `"1 day 02:00:00"`,
	},
	{
		Type: simple(engine.List), Names: []string{"list", "array", "large_list", "largelist"},
		Form: "list<int64>", Example: `[1,2]`,
	},
	{
		Type: simple(engine.Array), Names: []string{"fixed_size_list", "fixedsizelist"},
		Form: "int64[2]", OID: pgtype.Int8ArrayOID, Example: `[1,2]`,
	},
	{
		Type: simple(engine.Struct), Names: []string{"struct", "row"},
		Form: "struct<a: int64, b: utf8>", OID: pgtype.JSONOID, Example: `{"a":1,"b":"x"}`,
	},
	{
		Type: simple(engine.Map), Names: []string{"map"},
		Form: "map<utf8, int64>", OID: pgtype.JSONOID, Example: `{"x":1}`,
	},
	{
		Type: simple(engine.Union), Names: []string{"union"},
		Form: "union(n int64, s utf8)", OID: pgtype.JSONOID, Example: `{"s":"x"}`,
	},
	{Type: simple(engine.Null), Arrow: arrow.Null, OID: pgtype.TextOID},
}
