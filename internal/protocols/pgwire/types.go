package pgwire

import (
	"cmp"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// wireType is how PostgreSQL knows the values of a column.
type wireType struct {
	oid      uint32
	size     int16 // in bytes, -1: it varies
	modifier int32 // of numeric: its digits; -1: none
	text     encoder
	binary   encoder
}

// encoder appends value i of a vector, which is not NULL.
type encoder func(buf []byte, v *engine.Vector, i int) []byte

func (t wireType) encoder(inBinary bool) encoder {
	if inBinary {
		return t.binary
	}
	return t.text
}

// unsettled is the type of a column that the parameters will settle: its
// values are sent as text, whatever they are.
var unsettled = wireType{oid: pgtype.TextOID, size: -1, modifier: -1}

// typeOf is PostgreSQL's type for one of the engine's.
func typeOf(t *engine.Type) wireType {
	switch t.ID {
	case engine.Decimal:
		w := wireType{pgtype.NumericOID, -1, -1, textDecimal, binaryDecimal}
		w.modifier = int32(t.Width)<<16 | int32(t.Scale) + 4 // the length of a header, for PostgreSQL
		return w
	case engine.Varchar:
		if t.JSON {
			return wireType{pgtype.JSONOID, -1, -1, textVarchar, textVarchar}
		}
	case engine.List, engine.Array:
		if w, ok := arrayOf(t.Elem); ok {
			return w
		}
	}
	if int(t.ID) < len(scalars) && scalars[t.ID].oid != 0 {
		return scalars[t.ID]
	}
	return wireType{pgtype.JSONOID, -1, -1, textJSON, textJSON}
}

// scalars are the types that need no more than their number.
var scalars = [...]wireType{
	engine.Null:        {pgtype.TextOID, -1, -1, textVarchar, textVarchar},
	engine.Boolean:     {pgtype.BoolOID, 1, -1, textBool, binaryBool},
	engine.TinyInt:     {pgtype.Int2OID, 2, -1, textSigned[int8], binaryInt2[int8]},
	engine.SmallInt:    {pgtype.Int2OID, 2, -1, textSigned[int16], binaryInt2[int16]},
	engine.UTinyInt:    {pgtype.Int2OID, 2, -1, textUnsigned[uint8], binaryInt2[uint8]},
	engine.Integer:     {pgtype.Int4OID, 4, -1, textSigned[int32], binaryInt4[int32]},
	engine.USmallInt:   {pgtype.Int4OID, 4, -1, textUnsigned[uint16], binaryInt4[uint16]},
	engine.BigInt:      {pgtype.Int8OID, 8, -1, textSigned[int64], binaryInt8[int64]},
	engine.UInteger:    {pgtype.Int8OID, 8, -1, textUnsigned[uint32], binaryInt8[uint32]},
	engine.UBigInt:     {pgtype.NumericOID, -1, -1, textUnsigned[uint64], binaryUBigInt},
	engine.HugeInt:     {pgtype.NumericOID, -1, -1, textHugeInt, binaryHugeInt},
	engine.UHugeInt:    {pgtype.NumericOID, -1, -1, textUHugeInt, binaryUHugeInt},
	engine.Float:       {pgtype.Float4OID, 4, -1, textFloat4, binaryFixed32},
	engine.Double:      {pgtype.Float8OID, 8, -1, textFloat8, binaryFixed64},
	engine.Varchar:     {pgtype.TextOID, -1, -1, textVarchar, textVarchar},
	engine.Enum:        {pgtype.TextOID, -1, -1, textEnum, textEnum},
	engine.Blob:        {pgtype.ByteaOID, -1, -1, textBlob, binaryBlob},
	engine.Bit:         {pgtype.VarbitOID, -1, -1, textBit, binaryBit},
	engine.UUID:        {pgtype.UUIDOID, 16, -1, textUUID, binaryUUID},
	engine.Date:        {pgtype.DateOID, 4, -1, textDate, binaryDate},
	engine.Time:        {pgtype.TimeOID, 8, -1, textTime, binaryTime},
	engine.TimeNS:      {pgtype.TimeOID, 8, -1, textTimeNS, binaryTimeNS},
	engine.TimeTZ:      {pgtype.TimetzOID, 12, -1, textTimeTZ, binaryTimeTZ},
	engine.Timestamp:   {pgtype.TimestampOID, 8, -1, textTimestamp, binaryTimestamp},
	engine.TimestampS:  {pgtype.TimestampOID, 8, -1, textTimestamp, binaryTimestamp},
	engine.TimestampMS: {pgtype.TimestampOID, 8, -1, textTimestamp, binaryTimestamp},
	engine.TimestampNS: {pgtype.TimestampOID, 8, -1, textTimestamp, binaryTimestamp},
	engine.TimestampTZ: {pgtype.TimestamptzOID, 8, -1, textTimestampTZ, binaryTimestamp},
	engine.Interval:    {pgtype.IntervalOID, 16, -1, textInterval, binaryInterval},
}

// arrays are the arrays of the types that values of lists may have, by the OID
// of those.
var arrays = map[uint32]uint32{
	pgtype.BoolOID: pgtype.BoolArrayOID, pgtype.ByteaOID: pgtype.ByteaArrayOID,
	pgtype.Int2OID: pgtype.Int2ArrayOID, pgtype.Int4OID: pgtype.Int4ArrayOID, pgtype.Int8OID: pgtype.Int8ArrayOID,
	pgtype.Float4OID: pgtype.Float4ArrayOID, pgtype.Float8OID: pgtype.Float8ArrayOID, pgtype.NumericOID: pgtype.NumericArrayOID,
	pgtype.TextOID: pgtype.TextArrayOID, pgtype.VarbitOID: pgtype.VarbitArrayOID, pgtype.UUIDOID: pgtype.UUIDArrayOID,
	pgtype.DateOID: pgtype.DateArrayOID, pgtype.TimeOID: pgtype.TimeArrayOID, pgtype.TimetzOID: pgtype.TimetzArrayOID,
	pgtype.TimestampOID: pgtype.TimestampArrayOID, pgtype.TimestamptzOID: pgtype.TimestamptzArrayOID,
	pgtype.IntervalOID: pgtype.IntervalArrayOID, pgtype.JSONOID: pgtype.JSONArrayOID,
}

// sqlTypes are the types of the engine for PostgreSQL's; others are texts.
var sqlTypes = map[uint32]string{
	pgtype.BoolOID: "BOOLEAN", pgtype.ByteaOID: "BLOB", pgtype.UUIDOID: "UUID", pgtype.JSONOID: "JSON", pgtype.JSONBOID: "JSON",
	pgtype.Int2OID: "SMALLINT", pgtype.Int4OID: "INTEGER", pgtype.Int8OID: "BIGINT", pgtype.OIDOID: "BIGINT",
	pgtype.Float4OID: "FLOAT", pgtype.Float8OID: "DOUBLE", pgtype.NumericOID: "DECIMAL", pgtype.BitOID: "BIT", pgtype.VarbitOID: "BIT",
	pgtype.DateOID: "DATE", pgtype.TimeOID: "TIME", pgtype.TimetzOID: "TIMETZ", pgtype.IntervalOID: "INTERVAL",
	pgtype.TimestampOID: "TIMESTAMP", pgtype.TimestamptzOID: "TIMESTAMPTZ",
}

// sqlType is the type of the engine for one of PostgreSQL's.
func sqlType(oid uint32) string {
	if elem, is := elementOf[oid]; is {
		return sqlType(elem) + "[]"
	}
	return cmp.Or(sqlTypes[oid], "VARCHAR")
}

// arrayOf is the array type of lists of values of type elem. Lists of lists
// have none: PostgreSQL wants all inner ones equally long.
func arrayOf(elem *engine.Type) (wireType, bool) {
	switch elem.ID {
	case engine.List, engine.Array, engine.Map, engine.Struct, engine.Union:
		return wireType{}, false
	}
	inner := typeOf(elem)
	return wireType{arrays[inner.oid], -1, inner.modifier, textArray, binaryArray}, true
}

// oidArray is the type of lists of BIGINT in statements on the catalog.
var oidArray = wireType{pgtype.OIDArrayOID, -1, -1, textArray, binaryOIDs}

// typeOf is PostgreSQL's type for one of the plan's result.
func (p *plan) typeOf(t *engine.Type) wireType {
	if p.catalog && t.ID == engine.List && t.Elem.ID == engine.BigInt {
		return oidArray
	}
	return typeOf(t)
}

// inISO is the type with its intervals as ISO 8601 writes them.
func (t wireType) inISO() wireType {
	switch t.oid {
	case pgtype.IntervalOID:
		t.text = textISOInterval
	case pgtype.IntervalArrayOID:
		t.text = func(buf []byte, v *engine.Vector, i int) []byte { return textElements(buf, v, i, textISOInterval) }
	}
	return t
}

// typeAs is typeOf for a column that the client knows as one of the type oid.
func (p *plan) typeAs(oid uint32, t *engine.Type) wireType {
	if as, ok := numericOf(t); ok && oid == as.oid {
		return as
	}
	return p.typeOf(t)
}

// column is a column of a result as clients get it.
type column struct {
	name string
	typ  wireType
}

// columnsOf describes a result. How many digits its numbers have is not known
// where parameters bring their own.
func (p *plan) columnsOf(columns []engine.Column) []column {
	told := slices.AppendSeq(slices.Clone(p.given), maps.Values(p.found))
	open := slices.Contains(told, pgtype.NumericOID) || slices.Contains(told, pgtype.NumericArrayOID)
	out := make([]column, len(columns))
	for i, c := range columns {
		out[i] = column{c.Name, unsettled}
		if c.Type != nil {
			out[i].typ = p.typeOf(c.Type)
		}
		if open {
			out[i].typ.modifier = -1
		}
	}
	return out
}

// checkColumns refuses a result with more columns than can be told.
func checkColumns(n int) error {
	if n > maxColumns {
		return failure(stateTooManyColumns, "select fewer", "the result has %d columns; the limit is %d", n, maxColumns)
	}
	return nil
}

// formatOf returns the format code for value i of those that a client gave: one
// for all, one for each, or none, which is text.
func formatOf(codes []int16, i int) int16 {
	switch {
	case len(codes) == 1:
		return codes[0]
	case i < len(codes):
		return codes[i]
	}
	return formatText
}

// The codes of formats.
const (
	formatText   = 0
	formatBinary = 1
)

// checkFormats refuses codes for n values that mean nothing.
func checkFormats(what string, codes []int16, n int) error {
	if len(codes) > 1 && len(codes) != n {
		return failure(stateProtocol, "", "%d formats for %d %s", len(codes), n, what)
	}
	for _, code := range codes {
		if code != formatText && code != formatBinary {
			return failure(stateProtocol, "use 0 for text and 1 for binary", "there is no format %d", code)
		}
	}
	return nil
}
