// Package wire encodes and decodes values as PostgreSQL's protocol has them, in
// text and in binary: the parameters of statements, the rows of results, and what
// COPY writes.
//
//	params, size, err := wire.Params(oids, message.ParameterFormatCodes, message.Parameters)
//	columns := wire.Columns(rows.Columns(), wire.Style{}, false)
//	encoder := wire.NewRows(columns, rows.Columns(), formats, wire.Style{})
//	buf, next, err := encoder.Append(buf, chunk, 0, chunk.Len())
package wire

import (
	"cmp"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/internal/sql/types"
)

// Type is how PostgreSQL knows the values of a column.
type Type struct {
	OID      uint32
	Size     int16 // in bytes, -1: it varies
	Modifier int32 // of numeric: its precision and scale; -1: none
	text     encoder
	binary   encoder
}

// encoder appends value i of a vector, which is not NULL.
type encoder func(buf []byte, v *engine.Vector, i int) []byte

func (t Type) encoder(format int16) encoder {
	if format == FormatBinary {
		return t.binary
	}
	return t.text
}

// Unknown is the type of a column that depends on the values of parameters: its
// values are sent as text, whatever they are.
var Unknown = Type{OID: pgtype.TextOID, Size: -1, Modifier: -1}

// TypeOf is PostgreSQL's type for one of the engine's.
func TypeOf(t *engine.Type) Type {
	switch t.ID {
	case engine.Decimal:
		w := Type{pgtype.NumericOID, -1, -1, format.AppendDecimal, binaryDecimal}
		w.Modifier = int32(t.Width)<<16 | int32(t.Scale) + 4 // the length of a header, for PostgreSQL
		return w
	case engine.Varchar:
		if t.JSON {
			return Type{pgtype.JSONOID, -1, -1, format.AppendText, format.AppendText}
		}
	case engine.List, engine.Array:
		if w, ok := arrayOf(t.Elem); ok {
			return w
		}
	}
	if int(t.ID) < len(scalars) && scalars[t.ID].OID != 0 {
		return scalars[t.ID]
	}
	return Type{pgtype.JSONOID, -1, -1, format.JSON, format.JSON}
}

// scalars are the types that need no more than their number.
var scalars = [...]Type{
	engine.Null:        scalar(engine.Null, -1, format.AppendText, format.AppendText),
	engine.Boolean:     scalar(engine.Boolean, 1, textBool, binaryBool),
	engine.TinyInt:     scalar(engine.TinyInt, 2, format.AppendSigned[int8], binaryInt2[int8]),
	engine.SmallInt:    scalar(engine.SmallInt, 2, format.AppendSigned[int16], binaryInt2[int16]),
	engine.UTinyInt:    scalar(engine.UTinyInt, 2, format.AppendUnsigned[uint8], binaryInt2[uint8]),
	engine.Integer:     scalar(engine.Integer, 4, format.AppendSigned[int32], binaryInt4[int32]),
	engine.USmallInt:   scalar(engine.USmallInt, 4, format.AppendUnsigned[uint16], binaryInt4[uint16]),
	engine.BigInt:      scalar(engine.BigInt, 8, format.AppendSigned[int64], binaryInt8[int64]),
	engine.UInteger:    scalar(engine.UInteger, 8, format.AppendUnsigned[uint32], binaryInt8[uint32]),
	engine.UBigInt:     scalar(engine.UBigInt, -1, format.AppendUnsigned[uint64], numericUnsigned[uint64]),
	engine.HugeInt:     scalar(engine.HugeInt, -1, format.AppendHugeInt, binaryHugeInt),
	engine.UHugeInt:    scalar(engine.UHugeInt, -1, format.AppendUHugeInt, binaryUHugeInt),
	engine.Float:       scalar(engine.Float, 4, textFloat4, binaryInt4[int32]),  // its bits
	engine.Double:      scalar(engine.Double, 8, textFloat8, binaryInt8[int64]), // its bits
	engine.Varchar:     scalar(engine.Varchar, -1, format.AppendText, format.AppendText),
	engine.Enum:        scalar(engine.Enum, -1, format.AppendEnum, format.AppendEnum),
	engine.Blob:        scalar(engine.Blob, -1, textBlob, binaryBlob),
	engine.Bit:         scalar(engine.Bit, -1, format.AppendBits, binaryBit),
	engine.UUID:        scalar(engine.UUID, 16, format.AppendUUID, binaryUUID),
	engine.Date:        scalar(engine.Date, 4, textDate, binaryDate),
	engine.Time:        scalar(engine.Time, 8, textTime, binaryInt8[int64]),
	engine.TimeNS:      scalar(engine.TimeNS, 8, textTimeNS, binaryTimeNS),
	engine.TimeTZ:      scalar(engine.TimeTZ, 12, textTimeTZ, binaryTimeTZ),
	engine.Timestamp:   scalar(engine.Timestamp, 8, textTimestamp, binaryTimestamp),
	engine.TimestampS:  scalar(engine.TimestampS, 8, textTimestamp, binaryTimestamp),
	engine.TimestampMS: scalar(engine.TimestampMS, 8, textTimestamp, binaryTimestamp),
	engine.TimestampNS: scalar(engine.TimestampNS, 8, textTimestamp, binaryTimestamp),
	engine.TimestampTZ: scalar(engine.TimestampTZ, 8, textTimestampTZ, binaryTimestamp),
	engine.Interval:    scalar(engine.Interval, 16, textInterval, binaryInterval),
}

// scalar is a type without parameters, with its OID of package types.
func scalar(id engine.TypeID, size int16, text, binary encoder) Type {
	return Type{types.Of(&engine.Type{ID: id}).OID, size, -1, text, binary}
}

// arrays are the arrays of the types that values of lists may have, by the OID
// of those.
var arrays = map[uint32]uint32{
	pgtype.BoolOID: pgtype.BoolArrayOID, pgtype.ByteaOID: pgtype.ByteaArrayOID,
	pgtype.Int2OID: pgtype.Int2ArrayOID, pgtype.Int4OID: pgtype.Int4ArrayOID, pgtype.Int8OID: pgtype.Int8ArrayOID,
	pgtype.Float4OID: pgtype.Float4ArrayOID, pgtype.Float8OID: pgtype.Float8ArrayOID,
	pgtype.NumericOID: pgtype.NumericArrayOID,
	pgtype.TextOID:    pgtype.TextArrayOID, pgtype.VarbitOID: pgtype.VarbitArrayOID, pgtype.UUIDOID: pgtype.UUIDArrayOID,
	pgtype.DateOID: pgtype.DateArrayOID, pgtype.TimeOID: pgtype.TimeArrayOID, pgtype.TimetzOID: pgtype.TimetzArrayOID,
	pgtype.TimestampOID: pgtype.TimestampArrayOID, pgtype.TimestamptzOID: pgtype.TimestamptzArrayOID,
	pgtype.IntervalOID: pgtype.IntervalArrayOID, pgtype.JSONOID: pgtype.JSONArrayOID,
}

// sqlTypes are the types of the engine for PostgreSQL's; others are texts.
var sqlTypes = map[uint32]string{
	pgtype.BoolOID: "BOOLEAN", pgtype.ByteaOID: "BLOB", pgtype.UUIDOID: "UUID", pgtype.JSONOID: "JSON",
	pgtype.JSONBOID: "JSON",
	pgtype.Int2OID:  "SMALLINT", pgtype.Int4OID: "INTEGER", pgtype.Int8OID: "BIGINT", pgtype.OIDOID: "BIGINT",
	pgtype.Float4OID: "FLOAT", pgtype.Float8OID: "DOUBLE", pgtype.NumericOID: "DECIMAL", pgtype.BitOID: "BIT",
	pgtype.VarbitOID: "BIT",
	pgtype.DateOID:   "DATE", pgtype.TimeOID: "TIME", pgtype.TimetzOID: "TIMETZ", pgtype.IntervalOID: "INTERVAL",
	pgtype.TimestampOID: "TIMESTAMP", pgtype.TimestamptzOID: "TIMESTAMPTZ",
}

// SQLType is the type of the engine for one of PostgreSQL's.
func SQLType(oid uint32) string {
	if elem, is := elementOf[oid]; is {
		return SQLType(elem) + "[]"
	}
	return cmp.Or(sqlTypes[oid], "VARCHAR")
}

// arrayOf is the array type of lists of values of type elem. Lists of lists
// have none: PostgreSQL wants all inner ones equally long.
func arrayOf(elem *engine.Type) (Type, bool) {
	switch elem.ID {
	case engine.List, engine.Array, engine.Map, engine.Struct, engine.Union:
		return Type{}, false
	}
	inner := TypeOf(elem)
	return Type{arrays[inner.OID], -1, inner.Modifier, textArray, binaryArray}, true
}
