package format

import (
	"math"
	"strconv"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

const secondsPerDay = 86_400

// Two appends n, 0 to 99, with two digits.
func Two(buf []byte, n int64) []byte { return append(buf, byte('0'+n/10), byte('0'+n%10)) }

// FloorDiv divides towards minus infinity; the remainder is not negative.
func FloorDiv(a, b int64) (quotient, rest int64) {
	quotient, rest = a/b, a%b
	if rest < 0 {
		quotient, rest = quotient-1, rest+b
	}
	return quotient, rest
}

func appendDate(buf []byte, v *engine.Vector, i int) []byte {
	switch days := engine.Value[int32](v, i); days {
	case math.MaxInt32:
		return append(buf, "infinity"...)
	case -math.MaxInt32:
		return append(buf, "-infinity"...)
	default:
		return appendDay(buf, int64(days))
	}
}

// appendDay appends the date that is days after 1970-01-01, in the proleptic
// Gregorian calendar with a year 0.
func appendDay(buf []byte, days int64) []byte {
	// Years begin in March, so that the leap day is their last.
	const daysPerEra, daysToEpoch = 146_097, 719_468 // an era is 400 years
	era, day := FloorDiv(days+daysToEpoch, daysPerEra)
	year := (day - day/1460 + day/36_524 - day/146_096) / 365
	dayOfYear := day - (365*year + year/4 - year/100)
	month := (5*dayOfYear + 2) / 153
	dayOfMonth := dayOfYear - (153*month+2)/5 + 1
	year += era * 400
	if month += 3; month > 12 {
		month -= 12
		year++
	}
	buf = append(appendYear(buf, year), '-')
	buf = append(Two(buf, month), '-')
	return Two(buf, dayOfMonth)
}

func appendYear(buf []byte, year int64) []byte {
	switch {
	case year < 0:
		buf, year = append(buf, '-'), -year
	case year > 9999:
		buf = append(buf, '+')
	}
	if year > 9999 {
		return strconv.AppendInt(buf, year, 10)
	}
	return Two(Two(buf, year/100), year%100)
}

// appendClock appends the time of day, given in seconds and nanoseconds.
func appendClock(buf []byte, seconds, nanos int64) []byte {
	buf = append(Two(buf, seconds/3600), ':')
	buf = append(Two(buf, seconds/60%60), ':')
	return appendFraction(Two(buf, seconds%60), nanos)
}

// appendFraction appends a fraction of a second with 0, 3, 6 or 9 digits, as many as
// it needs.
func appendFraction(buf []byte, nanos int64) []byte {
	if nanos == 0 {
		return buf
	}
	n := 9
	for nanos%1000 == 0 {
		nanos, n = nanos/1000, n-3
	}
	var room [10]byte
	for i := n; i > 0; i-- {
		room[i] = byte('0' + nanos%10)
		nanos /= 10
	}
	room[0] = '.'
	return append(buf, room[:n+1]...)
}

// timestampAppender appends timestamps counted in a fraction of a second, followed by
// zone.
func timestampAppender(perSecond int64, zone string) appender {
	return func(buf []byte, v *engine.Vector, i int) []byte {
		at := engine.Value[int64](v, i)
		switch at {
		case math.MaxInt64:
			return append(buf, "infinity"...)
		case -math.MaxInt64:
			return append(buf, "-infinity"...)
		}
		seconds, fraction := FloorDiv(at, perSecond)
		day, second := FloorDiv(seconds, secondsPerDay)
		buf = append(appendDay(buf, day), 'T')
		buf = appendClock(buf, second, fraction*(1e9/perSecond))
		return append(buf, zone...)
	}
}

// timeAppender appends times of day counted in a fraction of a second.
func timeAppender(perSecond int64) appender {
	return func(buf []byte, v *engine.Vector, i int) []byte {
		at := engine.Value[int64](v, i)
		return appendClock(buf, at/perSecond, at%perSecond*(1e9/perSecond))
	}
}

// TimeTZ is a time of day and its offset: how many seconds its zone is east of
// UTC. DuckDB stores the microseconds above 24 bits of the offset, which is
// negated.
func TimeTZ(v *engine.Vector, i int) (micros, offset int64) {
	const offsetBits, maxOffset = 24, 16*60*60 - 1
	packed := engine.Value[uint64](v, i)
	return int64(packed >> offsetBits), maxOffset - int64(packed&(1<<offsetBits-1))
}

// appendTimeTZ appends a time of day with its offset from UTC.
func appendTimeTZ(buf []byte, v *engine.Vector, i int) []byte {
	micros, offset := TimeTZ(v, i)
	buf = appendClock(buf, micros/1e6, micros%1e6*1000)
	if offset < 0 {
		buf, offset = append(buf, '-'), -offset
	} else {
		buf = append(buf, '+')
	}
	buf = append(Two(buf, offset/3600), ':')
	buf = Two(buf, offset/60%60)
	if offset%60 != 0 {
		buf = Two(append(buf, ':'), offset%60)
	}
	return buf
}

// appendInterval appends an INTERVAL as DuckDB does: 1 year 2 days 03:04:05.
func appendInterval(buf []byte, v *engine.Vector, i int) []byte {
	n := engine.Value[engine.IntervalValue](v, i)
	from := len(buf)
	part := func(count int32, unit string) {
		if count == 0 {
			return
		}
		if len(buf) > from {
			buf = append(buf, ' ')
		}
		buf = append(strconv.AppendInt(buf, int64(count), 10), unit...)
		if count != 1 && count != -1 {
			buf = append(buf, 's')
		}
	}
	part(n.Months/12, " year")
	part(n.Months%12, " month")
	part(n.Days, " day")
	if n.Micros == 0 && len(buf) > from {
		return buf
	}
	if len(buf) > from {
		buf = append(buf, ' ')
	}
	return AppendDuration(buf, n.Micros)
}

// AppendDuration appends hours, minutes and seconds; hours may have many
// digits, the fraction has no zeros at its end.
func AppendDuration(buf []byte, micros int64) []byte {
	left := uint64(micros)
	if micros < 0 {
		buf, left = append(buf, '-'), -left
	}
	hours, left := left/3_600_000_000, left%3_600_000_000
	if hours < 10 {
		buf = append(buf, '0')
	}
	buf = append(strconv.AppendUint(buf, hours, 10), ':')
	seconds, fraction := int64(left/1e6), left%1e6
	buf = append(Two(buf, seconds/60), ':')
	buf = Two(buf, seconds%60)
	if fraction == 0 {
		return buf
	}
	buf = append(buf, '.')
	for unit := uint64(100_000); fraction > 0; unit /= 10 {
		buf = append(buf, byte('0'+fraction/unit))
		fraction %= unit
	}
	return buf
}
