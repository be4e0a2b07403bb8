package value

import (
	"cmp"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// AppendInterval appends an INTERVAL as DuckDB does: 1 year 2 months -3 days 04:05:06.
func AppendInterval(buf []byte, v Interval) []byte { return appendInterval(buf, v, " month", false) }

// AppendPostgresInterval appends an INTERVAL in PostgreSQL's style postgres: 1 year
// 2 mons -3 days +04:05:06.
func AppendPostgresInterval(buf []byte, v Interval) []byte {
	return appendInterval(buf, v, " mon", true)
}

func appendInterval(buf []byte, v Interval, month string, postgres bool) []byte {
	from, negative := len(buf), false
	for _, part := range [...]struct {
		count int32
		unit  string
	}{{v.Months / 12, " year"}, {v.Months % 12, month}, {v.Days, " day"}} {
		if part.count == 0 {
			continue
		}
		if len(buf) > from {
			buf = append(buf, ' ')
		}
		if postgres && negative && part.count > 0 {
			buf = append(buf, '+')
		}
		negative = part.count < 0
		buf = append(strconv.AppendInt(buf, int64(part.count), 10), part.unit...)
		if part.count != 1 && (postgres || part.count != -1) {
			buf = append(buf, 's')
		}
	}
	if v.Micros == 0 && len(buf) > from {
		return buf
	}
	if len(buf) > from {
		buf = append(buf, ' ')
	}
	if postgres && negative && v.Micros >= 0 {
		buf = append(buf, '+')
	}
	return AppendDuration(buf, v.Micros)
}

// AppendISOInterval appends an INTERVAL in PostgreSQL's style iso_8601:
// P1Y2M-3DT4H5M6.7S.
func AppendISOInterval(buf []byte, v Interval) []byte {
	if v == (Interval{}) {
		return append(buf, "PT0S"...)
	}
	part := func(count int64, unit byte) {
		if count != 0 {
			buf = append(strconv.AppendInt(buf, count, 10), unit)
		}
	}
	buf = append(buf, 'P')
	part(int64(v.Months/12), 'Y')
	part(int64(v.Months%12), 'M')
	part(int64(v.Days), 'D')
	if v.Micros == 0 {
		return buf
	}
	buf = append(buf, 'T')
	minutes, left := v.Micros/minute.micros, v.Micros%minute.micros
	part(minutes/60, 'H')
	part(minutes%60, 'M')
	if left == 0 {
		return buf
	}
	if left < 0 {
		buf, left = append(buf, '-'), -left
	}
	buf = strconv.AppendInt(buf, left/1_000_000, 10)
	return append(appendShortFraction(buf, left%1_000_000), 'S')
}

// span is an interval, or how much of one a unit is, before its range is checked.
type span struct{ months, days, micros int64 }

var (
	second = span{micros: 1_000_000}
	minute = span{micros: 60_000_000}
	hour   = span{micros: 3_600_000_000}
)

// intervalUnits are the units of intervals in words, without their s.
var intervalUnits = map[string]span{
	"year": {months: 12}, "mon": {months: 1}, "month": {months: 1}, "week": {days: 7}, "day": {days: 1},
	"hour": hour, "min": minute, "minute": minute, "sec": second, "second": second,
}

// isoDate and isoClock put the units of ISO 8601, before and after the T, in words.
var (
	isoDate  = strings.NewReplacer("Y", " year ", "M", " month ", "W", " week ", "D", " day ")
	isoClock = strings.NewReplacer("H", " hour ", "M", " minute ", "S", " second ")
)

// ParseInterval parses an interval as PostgreSQL writes it: 1 year 2 mons -3 days
// +04:05:06.7 or P1Y2M-3DT4H5M6.7S. DuckDB reads others.
func ParseInterval(s string) (_ Interval, ok bool) {
	if iso, is := strings.CutPrefix(strings.TrimSpace(s), "P"); is {
		date, clock, _ := strings.Cut(iso, "T")
		s = isoDate.Replace(date) + isoClock.Replace(clock)
	}
	var v span
	ok = v.addWords(strings.Fields(s))
	out := Interval{int32(v.months), int32(v.days), v.micros}
	return out, ok && v.months == int64(out.Months) && v.days == int64(out.Days)
}

// addWords adds 1 year 2 mons -3 days +04:05:06.7.
func (v *span) addWords(words []string) bool {
	found := false
	for len(words) > 0 {
		switch {
		case strings.Contains(words[0], ":"):
			if !v.addClock(words[0]) {
				return false
			}
			words = words[1:]
		case len(words) == 1 || !v.add(words[0], intervalUnits[strings.TrimSuffix(strings.ToLower(words[1]), "s")]):
			return false
		default:
			words = words[2:]
		}
		found = true
	}
	return found
}

var clockForm = regexp.MustCompile(`^([+-]?)(\d+):([0-5]\d)(?::([0-5]\d(?:\.\d*)?))?$`)

// addClock adds +04:05:06.7.
func (v *span) addClock(s string) bool {
	m := clockForm.FindStringSubmatch(s)
	return m != nil && v.add(m[1]+m[2], hour) && v.add(m[1]+m[3], minute) && v.add(m[1]+cmp.Or(m[4], "0"), second)
}

// add adds so many of a unit. Only seconds may have a fraction.
func (v *span) add(number string, unit span) bool {
	if unit == second {
		whole, fraction, _ := strings.Cut(number, ".")
		if whole == "" || strings.Trim(fraction, "0123456789") != "" {
			return false
		}
		number, unit = whole+(fraction + "000000")[:6], span{micros: 1}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if size := unit.months + unit.days + unit.micros; err != nil || size == 0 || n > math.MaxInt64/size ||
		n < math.MinInt64/size {
		return false
	}
	return addTo(&v.months, n*unit.months) && addTo(&v.days, n*unit.days) && addTo(&v.micros, n*unit.micros)
}

// addTo adds n, unless the sum is too large.
func addTo(sum *int64, n int64) bool {
	before := *sum
	*sum += n
	return n >= 0 == (*sum >= before)
}
