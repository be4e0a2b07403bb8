package wire

import (
	"encoding/binary"
	"math"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/value"
)

// PostgreSQL counts days and microseconds from 2000-01-01, DuckDB from 1970-01-01.
const (
	epochDays   = 10_957
	epochMicros = epochDays * value.MicrosPerDay
)

// The infinities before all dates and times on the wire; the others are DuckDB's.
const (
	wireDateBefore = math.MinInt32
	wireTimeBefore = math.MinInt64
)

// micros is a timestamp of any unit in microseconds; what does not fit becomes
// infinite.
func micros(v *engine.Vector, i int) int64 {
	n := engine.Value[int64](v, i)
	switch v.Type.ID {
	case engine.TimestampS:
		return value.Micros(n, 1)
	case engine.TimestampMS:
		return value.Micros(n, 1000)
	case engine.TimestampNS:
		return value.Micros(n, 1_000_000_000)
	}
	return n
}

// era appends what follows a date before the first year.
func era(buf []byte, bc bool) []byte {
	if bc {
		return append(buf, " BC"...)
	}
	return buf
}

func textDate(buf []byte, v *engine.Vector, i int) []byte {
	days := int64(engine.Value[int32](v, i))
	if value.Infinite(days, value.DateInfinity) {
		return value.AppendInfinity(buf, days)
	}
	return era(value.AppendDateBC(buf, days))
}

func textTimestamp(buf []byte, v *engine.Vector, i int) []byte { return appendTimestamp(buf, v, i, "") }

func textTimestampTZ(buf []byte, v *engine.Vector, i int) []byte {
	return appendTimestamp(buf, v, i, "+00")
}

func appendTimestamp(buf []byte, v *engine.Vector, i int, zone string) []byte {
	at := micros(v, i)
	if value.Infinite(at, value.Infinity) {
		return value.AppendInfinity(buf, at)
	}
	days, clock := value.FloorDiv(at, value.MicrosPerDay)
	buf, bc := value.AppendDateBC(buf, days)
	return era(append(value.AppendDuration(append(buf, ' '), clock), zone...), bc)
}

func textTime(buf []byte, v *engine.Vector, i int) []byte {
	return value.AppendDuration(buf, engine.Value[int64](v, i))
}

func textTimeNS(buf []byte, v *engine.Vector, i int) []byte {
	return value.AppendDuration(buf, engine.Value[int64](v, i)/1000)
}

func textTimeTZ(buf []byte, v *engine.Vector, i int) []byte {
	t := value.UnpackTimeTZ(engine.Value[uint64](v, i))
	return value.AppendOffset(value.AppendDuration(buf, int64(t.Time)), int64(t.Offset), true)
}

func textInterval(buf []byte, v *engine.Vector, i int) []byte {
	return value.AppendPostgresInterval(buf, engine.Value[value.Interval](v, i))
}

func textISOInterval(buf []byte, v *engine.Vector, i int) []byte {
	return value.AppendISOInterval(buf, engine.Value[value.Interval](v, i))
}

func binaryDate(buf []byte, v *engine.Vector, i int) []byte {
	days := int64(engine.Value[int32](v, i))
	switch {
	case days == value.DateInfinity:
	case days == -value.DateInfinity, days-epochDays <= wireDateBefore:
		days = wireDateBefore
	default:
		days -= epochDays
	}
	return binary.BigEndian.AppendUint32(buf, uint32(int32(days)))
}

func binaryTimestamp(buf []byte, v *engine.Vector, i int) []byte {
	at := micros(v, i)
	switch {
	case at == value.Infinity:
	case at <= wireTimeBefore+epochMicros, at == -value.Infinity:
		at = wireTimeBefore
	default:
		at -= epochMicros
	}
	return binary.BigEndian.AppendUint64(buf, uint64(at))
}

func binaryTimeNS(buf []byte, v *engine.Vector, i int) []byte {
	return binary.BigEndian.AppendUint64(buf, uint64(engine.Value[int64](v, i)/1000))
}

func binaryTimeTZ(buf []byte, v *engine.Vector, i int) []byte {
	t := value.UnpackTimeTZ(engine.Value[uint64](v, i))
	buf = binary.BigEndian.AppendUint64(buf, uint64(t.Time))
	return binary.BigEndian.AppendUint32(buf, uint32(-t.Offset))
}

func binaryInterval(buf []byte, v *engine.Vector, i int) []byte {
	n := engine.Value[value.Interval](v, i)
	buf = binary.BigEndian.AppendUint64(buf, uint64(n.Micros))
	buf = binary.BigEndian.AppendUint32(buf, uint32(n.Days))
	return binary.BigEndian.AppendUint32(buf, uint32(n.Months))
}
