package format

import (
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/value"
)

func appendDate(buf []byte, v *engine.Vector, i int) []byte {
	days := int64(engine.Value[int32](v, i))
	if value.Infinite(days, value.DateInfinity) {
		return value.AppendInfinity(buf, days)
	}
	return value.AppendDate(buf, days)
}

// timestampAppender appends timestamps counted in a fraction of a second, followed by
// zone.
func timestampAppender(perSecond int64, zone string) appender {
	return func(buf []byte, v *engine.Vector, i int) []byte {
		at := engine.Value[int64](v, i)
		if value.Infinite(at, value.Infinity) {
			return value.AppendInfinity(buf, at)
		}
		return append(value.AppendTimestamp(buf, at, perSecond), zone...)
	}
}

// timeAppender appends times of day counted in a fraction of a second.
func timeAppender(perSecond int64) appender {
	return func(buf []byte, v *engine.Vector, i int) []byte {
		at := engine.Value[int64](v, i)
		return value.AppendClock(buf, at/perSecond, at%perSecond*(1e9/perSecond))
	}
}

// appendTimeTZ appends a time of day with its offset from UTC.
func appendTimeTZ(buf []byte, v *engine.Vector, i int) []byte {
	t := value.UnpackTimeTZ(engine.Value[uint64](v, i))
	buf = value.AppendClock(buf, int64(t.Time)/1e6, int64(t.Time)%1e6*1000)
	return value.AppendOffset(buf, int64(t.Offset), false)
}

func appendInterval(buf []byte, v *engine.Vector, i int) []byte {
	return value.AppendInterval(buf, engine.Value[value.Interval](v, i))
}
