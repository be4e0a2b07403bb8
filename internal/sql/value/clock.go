package value

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Check returns an error unless t is a time of day.
func (t Time) Check() error { return checkClock(int64(t), 1_000, "microseconds") }

// Check returns an error unless t is a time of day.
func (t TimeNS) Check() error { return checkClock(int64(t), 1, "nanoseconds") }

// Check returns an error unless t is infinite or a timestamp that DuckDB can show: its first
// day is the 290309-12-22 (BC). It writes other ones as text with foreign memory in it.
func (t Timestamp) Check() error {
	const first = -106751991 * MicrosPerDay
	if t < first && t != -Infinity {
		return fmt.Errorf("a timestamp of %d microseconds is out of range", int64(t))
	}
	return nil
}

// Check is [Timestamp.Check].
func (t TimestampTZ) Check() error { return Timestamp(t).Check() }

// Check returns an error unless t is a time of day with an offset that DuckDB can store.
func (t TimeTZ) Check() error {
	if t.Offset > maxOffset || t.Offset < -maxOffset {
		return fmt.Errorf("an offset from UTC of %d seconds is out of range", t.Offset)
	}
	return t.Time.Check()
}

func checkClock(n, nanos int64, unit string) error {
	if n < 0 || n > MicrosPerDay*1000/nanos {
		return fmt.Errorf("%d %s are not a time of day, which is from 00:00:00 to 24:00:00", n, unit)
	}
	return nil
}

const maxOffset = 16*60*60 - 1 // seconds

// AppendClock appends a time of day, given in seconds and nanoseconds, as ISO 8601 with
// a fraction of 0, 3, 6 or 9 digits.
func AppendClock(buf []byte, seconds, nanos int64) []byte {
	buf = append(appendTwo(buf, seconds/3600), ':')
	buf = append(appendTwo(buf, seconds/60%60), ':')
	return appendFraction(appendTwo(buf, seconds%60), nanos)
}

// AppendTimestamp appends a finite timestamp, counted in a fraction of a second, as ISO 8601.
func AppendTimestamp(buf []byte, at, perSecond int64) []byte {
	seconds, fraction := FloorDiv(at, perSecond)
	day, second := FloorDiv(seconds, secondsPerDay)
	return AppendClock(append(AppendDate(buf, day), 'T'), second, fraction*(1e9/perSecond))
}

// AppendDuration appends hours, minutes and seconds as DuckDB and PostgreSQL do: hours
// may have many digits, the fraction has no zeros at its end.
func AppendDuration(buf []byte, micros int64) []byte {
	left := uint64(micros)
	if micros < 0 {
		buf, left = append(buf, '-'), -left
	}
	hours, left := left/3_600_000_000, left%3_600_000_000
	if hours < 100 {
		buf = appendTwo(buf, int64(hours))
	} else {
		buf = strconv.AppendUint(buf, hours, 10)
	}
	buf = append(buf, ':')
	seconds := int64(left / 1e6)
	buf = append(appendTwo(buf, seconds/60), ':')
	return appendShortFraction(appendTwo(buf, seconds%60), int64(left%1e6))
}

// appendFraction appends nanoseconds with 0, 3, 6 or 9 digits, as many as they need.
func appendFraction(buf []byte, nanos int64) []byte {
	if nanos == 0 {
		return buf
	}
	buf = append(buf, '.')
	for ; nanos > 0; nanos = nanos % 1e6 * 1000 {
		millis := nanos / 1e6
		buf = append(buf, byte('0'+millis/100), byte('0'+millis/10%10), byte('0'+millis%10))
	}
	return buf
}

// appendShortFraction appends microseconds without the zeros at their end.
func appendShortFraction(buf []byte, micros int64) []byte {
	if micros == 0 {
		return buf
	}
	buf = appendFraction(buf, micros*1000)
	for buf[len(buf)-1] == '0' {
		buf = buf[:len(buf)-1]
	}
	return buf
}

// AppendOffset appends how many seconds a zone is east of UTC: +05:30. PostgreSQL leaves
// out minutes that are 0.
func AppendOffset(buf []byte, east int64, postgres bool) []byte {
	sign := byte('+')
	if east < 0 {
		sign, east = '-', -east
	}
	buf = appendTwo(append(buf, sign), east/3600)
	if !postgres || east%3600 != 0 {
		buf = appendTwo(append(buf, ':'), east/60%60)
	}
	if east%60 != 0 {
		buf = appendTwo(append(buf, ':'), east%60)
	}
	return buf
}

// UnpackTimeTZ unpacks DuckDB's form: the microseconds above 24 bits of the offset, which
// is negated.
func UnpackTimeTZ(packed uint64) TimeTZ {
	const offsetBits = 24
	return TimeTZ{Time(packed >> offsetBits), maxOffset - int32(packed&(1<<offsetBits-1))}
}

// Micros converts a timestamp counted in a fraction of a second to microseconds; what
// does not fit becomes infinite.
func Micros(n, perSecond int64) int64 {
	switch factor := 1_000_000 / perSecond; {
	case n == Infinity || n == -Infinity:
		return n
	case factor == 0:
		n, _ = FloorDiv(n, perSecond/1_000_000)
		return n
	case n > Infinity/factor:
		return Infinity
	case n < -Infinity/factor:
		return -Infinity
	default:
		return n * factor
	}
}

// ParseTimestamp parses a date and a time of day, separated by T or a space, as ISO
// 8601, DuckDB and PostgreSQL write them. The time, its seconds and its offset from UTC
// may be left out; digits beyond microseconds are cut off.
func ParseTimestamp(s string) (micros int64, ok bool) { return parseTimestamp(s, 1_000_000) }

// ParseTimestampNS is [ParseTimestamp] in nanoseconds.
func ParseTimestampNS(s string) (nanos int64, ok bool) { return parseTimestamp(s, 1_000_000_000) }

func parseTimestamp(s string, perSecond int64) (int64, bool) {
	// the usual ones
	for _, layout := range [...]string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime, time.DateOnly} {
		if at, err := time.Parse(layout, s); err == nil {
			return countFractions(at.Unix(), at, perSecond)
		}
	}
	if n, ok := parseInfinity(s, Infinity); ok {
		return n, true
	}
	days, clock, ok := parseDay(s)
	if !ok {
		return 0, false
	}
	at, ok := parseClock(clock)
	if !ok {
		return 0, false
	}
	return countFractions(days*secondsPerDay+at.Unix(), at, perSecond)
}

// countFractions is a number of seconds, and the fraction of at, in parts of a second.
func countFractions(seconds int64, at time.Time, perSecond int64) (n int64, ok bool) {
	if seconds > math.MaxInt64/perSecond || seconds < math.MinInt64/perSecond {
		return 0, false
	}
	n = seconds*perSecond + int64(at.Nanosecond())/(1e9/perSecond)
	return n, n >= seconds*perSecond && n != Infinity && n > -Infinity
}

// parseClock parses a time of day as one of the first day of Unix.
func parseClock(s string) (time.Time, bool) {
	if s == "" {
		return time.Unix(0, 0), true
	}
	for _, layout := range [...]string{
		"15:04:05", "15:04:05Z07", "15:04:05Z07:00", "15:04", "15:04Z07", "15:04Z07:00",
		"15:04:05Z07:00:00",
	} {
		if at, err := time.Parse(time.DateOnly+layout, "1970-01-01"+s); err == nil {
			if strings.HasSuffix(s, "-00:00:01") { // package time takes an offset of -1 second for none
				at = at.Add(time.Second)
			}
			return at, true
		}
	}
	return time.Time{}, false
}
