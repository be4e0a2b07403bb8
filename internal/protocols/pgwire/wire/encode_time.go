package wire

import (
	"encoding/binary"
	"math"
	"strconv"
	"time"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
)

// PostgreSQL counts days and microseconds from 2000-01-01, DuckDB from
// 1970-01-01.
const (
	epochDays     = 10_957
	secondsPerDay = 86_400
	microsPerDay  = secondsPerDay * 1_000_000
	epochMicros   = epochDays * microsPerDay

	microsPerMinute = 60_000_000
)

// The infinities of dates, and of times in the engine and on the wire.
const (
	dateForever      = math.MaxInt32
	dateBeforeAll    = -math.MaxInt32
	timeForever      = math.MaxInt64
	timeBeforeAll    = -math.MaxInt64
	wireDateBefore   = math.MinInt32
	wireTimeBefore   = math.MinInt64
	infinity         = "infinity"
	negativeInfinity = "-infinity"
)

// micros is a timestamp of any unit in microseconds; what does not fit becomes
// infinite.
func micros(v *engine.Vector, i int) int64 {
	n, factor := engine.Value[int64](v, i), int64(1)
	if n == timeForever || n == timeBeforeAll {
		return n
	}
	switch v.Type.ID {
	case engine.TimestampS:
		factor = 1_000_000
	case engine.TimestampMS:
		factor = 1000
	case engine.TimestampNS:
		n, _ = format.FloorDiv(n, 1000)
	}
	switch {
	case n > timeForever/factor:
		return timeForever
	case n < timeBeforeAll/factor:
		return timeBeforeAll
	}
	return n * factor
}

// appendDay appends the date that is so many days after 1970-01-01. Its caller
// marks years before the first: see era.
func appendDay(buf []byte, days int64) []byte {
	y, month, day := time.Unix(days*secondsPerDay, 0).UTC().Date()
	year := int64(y)
	if year <= 0 {
		year = 1 - year
	}
	if year > 9999 {
		buf = strconv.AppendInt(buf, year, 10)
	} else {
		buf = format.Two(format.Two(buf, year/100), year%100)
	}
	return format.Two(append(format.Two(append(buf, '-'), int64(month)), '-'), int64(day))
}

// firstDay is 0001-01-01.
const firstDay = -719_162

// era appends what follows a date before the first year.
func era(buf []byte, days int64) []byte {
	if days < firstDay {
		return append(buf, " BC"...)
	}
	return buf
}

func appendClock(buf []byte, micros int64) []byte {
	seconds, fraction := micros/1_000_000, micros%1_000_000
	buf = append(format.Two(buf, seconds/3600), ':')
	buf = append(format.Two(buf, seconds/60%60), ':')
	return appendFraction(format.Two(buf, seconds%60), fraction)
}

// appendFraction appends a part of a second without the zeros at its end.
func appendFraction(buf []byte, micros int64) []byte {
	if micros == 0 {
		return buf
	}
	buf = append(buf, '.')
	for unit := int64(100_000); micros > 0; unit /= 10 {
		buf = append(buf, byte('0'+micros/unit))
		micros %= unit
	}
	return buf
}

func textDate(buf []byte, v *engine.Vector, i int) []byte {
	switch days := engine.Value[int32](v, i); days {
	case dateForever:
		return append(buf, infinity...)
	case dateBeforeAll:
		return append(buf, negativeInfinity...)
	default:
		return era(appendDay(buf, int64(days)), int64(days))
	}
}

func textTimestamp(buf []byte, v *engine.Vector, i int) []byte { return appendTimestamp(buf, v, i, "") }

func textTimestampTZ(buf []byte, v *engine.Vector, i int) []byte {
	return appendTimestamp(buf, v, i, "+00")
}

func appendTimestamp(buf []byte, v *engine.Vector, i int, zone string) []byte {
	at := micros(v, i)
	switch at {
	case timeForever:
		return append(buf, infinity...)
	case timeBeforeAll:
		return append(buf, negativeInfinity...)
	}
	days, clock := format.FloorDiv(at, microsPerDay)
	buf = append(appendDay(buf, days), ' ')
	return era(append(appendClock(buf, clock), zone...), days)
}

func textTime(buf []byte, v *engine.Vector, i int) []byte {
	return appendClock(buf, engine.Value[int64](v, i))
}

func textTimeNS(buf []byte, v *engine.Vector, i int) []byte {
	return appendClock(buf, engine.Value[int64](v, i)/1000)
}

func textTimeTZ(buf []byte, v *engine.Vector, i int) []byte {
	micros, east := format.TimeTZ(v, i)
	return appendOffset(appendClock(buf, micros), east)
}

// appendOffset appends how far, in seconds, a zone is east of UTC.
func appendOffset(buf []byte, east int64) []byte {
	sign := byte('+')
	if east < 0 {
		sign, east = '-', -east
	}
	buf = format.Two(append(buf, sign), east/3600%100)
	if east%3600 != 0 {
		buf = format.Two(append(buf, ':'), east/60%60)
	}
	if east%60 != 0 {
		buf = format.Two(append(buf, ':'), east%60)
	}
	return buf
}

// textInterval appends an INTERVAL in the style postgres: 1 year 2 mons
// -3 days +04:05:06.
func textInterval(buf []byte, v *engine.Vector, i int) []byte {
	n := engine.Value[engine.IntervalValue](v, i)
	from, below := len(buf), false
	part := func(count int32, unit string) {
		if count == 0 {
			return
		}
		if len(buf) > from {
			buf = append(buf, ' ')
		}
		if below && count > 0 {
			buf = append(buf, '+')
		}
		below = count < 0
		buf = append(strconv.AppendInt(buf, int64(count), 10), unit...)
		if count != 1 {
			buf = append(buf, 's')
		}
	}
	part(n.Months/12, " year")
	part(n.Months%12, " mon")
	part(n.Days, " day")
	if n.Micros == 0 && len(buf) > from {
		return buf
	}
	if len(buf) > from {
		buf = append(buf, ' ')
	}
	if below && n.Micros >= 0 {
		buf = append(buf, '+')
	}
	return format.AppendDuration(buf, n.Micros)
}

// textISOInterval appends an INTERVAL in the style iso_8601: P1Y2M-3DT4H5M6.7S.
func textISOInterval(buf []byte, v *engine.Vector, i int) []byte {
	n := engine.Value[engine.IntervalValue](v, i)
	if n == (engine.IntervalValue{}) {
		return append(buf, "PT0S"...)
	}
	part := func(count int64, unit byte) {
		if count != 0 {
			buf = append(strconv.AppendInt(buf, count, 10), unit)
		}
	}
	buf = append(buf, 'P')
	part(int64(n.Months/12), 'Y')
	part(int64(n.Months%12), 'M')
	part(int64(n.Days), 'D')
	if n.Micros == 0 {
		return buf
	}
	buf = append(buf, 'T')
	minutes, left := n.Micros/microsPerMinute, n.Micros%microsPerMinute
	part(minutes/60, 'H')
	part(minutes%60, 'M')
	if left == 0 {
		return buf
	}
	if left < 0 {
		buf, left = append(buf, '-'), -left
	}
	buf = strconv.AppendInt(buf, left/1_000_000, 10)
	return append(appendFraction(buf, left%1_000_000), 'S')
}

func binaryDate(buf []byte, v *engine.Vector, i int) []byte {
	days := int64(engine.Value[int32](v, i))
	switch {
	case days == dateForever:
	case days == dateBeforeAll, days-epochDays <= wireDateBefore:
		days = wireDateBefore
	default:
		days -= epochDays
	}
	return binary.BigEndian.AppendUint32(buf, uint32(int32(days)))
}

func binaryTimestamp(buf []byte, v *engine.Vector, i int) []byte {
	at := micros(v, i)
	switch {
	case at == timeForever:
	case at <= wireTimeBefore+epochMicros, at == timeBeforeAll:
		at = wireTimeBefore
	default:
		at -= epochMicros
	}
	return binary.BigEndian.AppendUint64(buf, uint64(at))
}

func binaryTime(buf []byte, v *engine.Vector, i int) []byte {
	return binary.BigEndian.AppendUint64(buf, engine.Value[uint64](v, i))
}

func binaryTimeNS(buf []byte, v *engine.Vector, i int) []byte {
	return binary.BigEndian.AppendUint64(buf, uint64(engine.Value[int64](v, i)/1000))
}

func binaryTimeTZ(buf []byte, v *engine.Vector, i int) []byte {
	micros, east := format.TimeTZ(v, i)
	buf = binary.BigEndian.AppendUint64(buf, uint64(micros))
	return binary.BigEndian.AppendUint32(buf, uint32(int32(-east)))
}

func binaryInterval(buf []byte, v *engine.Vector, i int) []byte {
	n := engine.Value[engine.IntervalValue](v, i)
	buf = binary.BigEndian.AppendUint64(buf, uint64(n.Micros))
	buf = binary.BigEndian.AppendUint32(buf, uint32(n.Days))
	return binary.BigEndian.AppendUint32(buf, uint32(n.Months))
}
