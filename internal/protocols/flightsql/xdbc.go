package flightsql

import (
	"cmp"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/array"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
)

// xdbcType is a type as ODBC and JDBC drivers list it. The zero value of a
// field is NULL where the schema permits.
type xdbcType struct {
	name       string
	code       pb.XdbcDataType
	size       int32  // digits, characters or bytes
	quote      string // around a literal
	parameters []string
	number     bool // it is signed unless unsigned is set
	unsigned   bool
	fixed      bool // the scale is always the same
	scale      int32
	subcode    pb.XdbcDatetimeSubcode
	radix      int32
}

// xdbcTypes are the types that columns may have.
var xdbcTypes = []xdbcType{
	{name: "BOOLEAN", code: pb.XdbcDataType_XDBC_BIT, size: 1, fixed: true},
	{name: "TINYINT", code: pb.XdbcDataType_XDBC_TINYINT, size: 3, number: true, fixed: true, radix: 10},
	{name: "UTINYINT", code: pb.XdbcDataType_XDBC_TINYINT, size: 3, number: true, unsigned: true, fixed: true, radix: 10},
	{name: "SMALLINT", code: pb.XdbcDataType_XDBC_SMALLINT, size: 5, number: true, fixed: true, radix: 10},
	{
		name: "USMALLINT", code: pb.XdbcDataType_XDBC_SMALLINT, size: 5, number: true, unsigned: true, fixed: true,
		radix: 10,
	},
	{name: "INTEGER", code: pb.XdbcDataType_XDBC_INTEGER, size: 10, number: true, fixed: true, radix: 10},
	{name: "UINTEGER", code: pb.XdbcDataType_XDBC_INTEGER, size: 10, number: true, unsigned: true, fixed: true, radix: 10},
	{name: "BIGINT", code: pb.XdbcDataType_XDBC_BIGINT, size: 19, number: true, fixed: true, radix: 10},
	{name: "UBIGINT", code: pb.XdbcDataType_XDBC_BIGINT, size: 20, number: true, unsigned: true, fixed: true, radix: 10},
	{name: "HUGEINT", code: pb.XdbcDataType_XDBC_NUMERIC, size: 39, number: true, fixed: true, radix: 10},
	{name: "UHUGEINT", code: pb.XdbcDataType_XDBC_NUMERIC, size: 39, number: true, unsigned: true, fixed: true, radix: 10},
	{
		name: "DECIMAL", code: pb.XdbcDataType_XDBC_DECIMAL, size: 38, parameters: []string{"precision", "scale"},
		number: true, scale: 38, radix: 10,
	},
	{name: "FLOAT", code: pb.XdbcDataType_XDBC_REAL, size: 24, number: true, radix: 2},
	{name: "DOUBLE", code: pb.XdbcDataType_XDBC_DOUBLE, size: 53, number: true, radix: 2},
	{name: "VARCHAR", code: pb.XdbcDataType_XDBC_VARCHAR, quote: "'"},
	{name: "UUID", code: pb.XdbcDataType_XDBC_VARCHAR, size: 36, quote: "'"},
	{name: "BLOB", code: pb.XdbcDataType_XDBC_VARBINARY, quote: "'"},
	{
		name: "DATE", code: pb.XdbcDataType_XDBC_DATE, size: 10, quote: "'",
		subcode: pb.XdbcDatetimeSubcode_XDBC_SUBCODE_DATE,
	},
	{
		name: "TIME", code: pb.XdbcDataType_XDBC_TIME, size: 15, quote: "'", scale: 6,
		subcode: pb.XdbcDatetimeSubcode_XDBC_SUBCODE_TIME,
	},
	{
		name: "TIMESTAMP", code: pb.XdbcDataType_XDBC_TIMESTAMP, size: 26, quote: "'", scale: 6,
		subcode: pb.XdbcDatetimeSubcode_XDBC_SUBCODE_TIMESTAMP,
	},
	{
		name: "TIMESTAMP WITH TIME ZONE", code: pb.XdbcDataType_XDBC_TIMESTAMP, size: 32, quote: "'", scale: 6,
		subcode: pb.XdbcDatetimeSubcode_XDBC_SUBCODE_TIMESTAMP_WITH_TIMEZONE,
	},
	{name: "INTERVAL", code: pb.XdbcDataType_XDBC_INTERVAL, quote: "'"},
}

// addTypeInfo adds the rows of GetXdbcTypeInfo for a type, or all, in the order
// of their codes and names.
func addTypeInfo(b *array.RecordBuilder, code *int32) {
	types := slices.Clone(xdbcTypes)
	slices.SortFunc(types, func(x, y xdbcType) int {
		return cmp.Or(cmp.Compare(x.code, y.code), cmp.Compare(x.name, y.name))
	})
	for _, t := range types {
		if code == nil || *code == int32(t.code) {
			t.add(b)
		}
	}
}

// Whether a type may be NULL and be searched for, as ODBC numbers it.
const (
	nullable   = 1 // SQL_NULLABLE
	searchable = 3 // SQL_SEARCHABLE: also with LIKE
)

// add adds a row, whose columns are those of schema_ref.XdbcTypeInfo.
func (t xdbcType) add(b *array.RecordBuilder) {
	addWord(b, 0, t.name)
	b.Field(1).(*array.Int32Builder).Append(int32(t.code))
	addNumber(b, 2, t.size)
	addWord(b, 3, t.quote)
	addWord(b, 4, t.quote)
	t.addParameters(b.Field(5).(*array.ListBuilder))
	b.Field(6).(*array.Int32Builder).Append(nullable)
	b.Field(7).(*array.BooleanBuilder).Append(t.code == pb.XdbcDataType_XDBC_VARCHAR)
	b.Field(8).(*array.Int32Builder).Append(searchable)
	if t.number {
		b.Field(9).(*array.BooleanBuilder).Append(t.unsigned)
	} else {
		b.Field(9).AppendNull()
	}
	b.Field(10).(*array.BooleanBuilder).Append(t.fixed)
	b.Field(11).(*array.BooleanBuilder).Append(false) // it counts up
	addWord(b, 12, t.name)
	b.Field(13).(*array.Int32Builder).Append(0)
	b.Field(14).(*array.Int32Builder).Append(t.scale)
	b.Field(15).(*array.Int32Builder).Append(int32(t.generic()))
	addNumber(b, 16, int32(t.subcode))
	addNumber(b, 17, t.radix)
	b.Field(18).AppendNull() // the precision of an INTERVAL
}

// generic is the code, but for dates and times, which ODBC tells apart by the
// subcode.
func (t xdbcType) generic() pb.XdbcDataType {
	if t.subcode != 0 {
		return pb.XdbcDataType_XDBC_DATETIME
	}
	return t.code
}

func (t xdbcType) addParameters(b *array.ListBuilder) {
	if t.parameters == nil {
		b.AppendNull()
		return
	}
	b.Append(true)
	b.ValueBuilder().(*array.StringBuilder).AppendValues(t.parameters, nil)
}

func addWord(b *array.RecordBuilder, column int, word string) {
	if word == "" {
		b.Field(column).AppendNull()
		return
	}
	b.Field(column).(*array.StringBuilder).Append(word)
}

func addNumber(b *array.RecordBuilder, column int, n int32) {
	if n == 0 {
		b.Field(column).AppendNull()
		return
	}
	b.Field(column).(*array.Int32Builder).Append(n)
}
