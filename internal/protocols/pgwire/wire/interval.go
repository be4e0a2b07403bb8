package wire

import (
	"math"
	"strconv"
	"strings"
)

// interval is an INTERVAL, or how much of it a unit is.
type interval struct{ months, days, micros int64 }

var second = interval{micros: 1_000_000}

// intervalUnits are the units of intervals in words, without their s.
var intervalUnits = map[string]interval{
	"year": {months: 12}, "mon": {months: 1}, "month": {months: 1}, "week": {days: 7}, "day": {days: 1},
	"hour": {micros: 3_600_000_000}, "min": {micros: 60_000_000}, "minute": {micros: 60_000_000}, "sec": second, "second": second,
}

// isoUnits are the units of ISO 8601, before and after the T.
var isoUnits = [2]map[byte]interval{
	{'Y': {months: 12}, 'M': {months: 1}, 'W': {days: 7}, 'D': {days: 1}},
	{'H': {micros: 3_600_000_000}, 'M': {micros: 60_000_000}, 'S': second},
}

// duckInterval is the text of an interval as DuckDB reads it if it has the form
// that PostgreSQL writes: 1 year 2 mons -3 days +04:05:06.7 or
// P1Y2M-3DT4H5M6.7S. DuckDB reads others.
func duckInterval(s string) string {
	var v interval
	var ok bool
	if iso, is := strings.CutPrefix(strings.TrimSpace(s), "P"); is {
		ok = v.addISO(iso)
	} else {
		ok = v.addWords(strings.Fields(s))
	}
	if !ok || v.months != int64(int32(v.months)) || v.days != int64(int32(v.days)) {
		return s
	}
	return string(v.text())
}

// text is an interval as DuckDB reads it.
func (v interval) text() []byte {
	buf := append(strconv.AppendInt(nil, v.months, 10), " months "...)
	buf = append(strconv.AppendInt(buf, v.days, 10), " days "...)
	return append(strconv.AppendInt(buf, v.micros, 10), " microseconds"...)
}

// addISO adds 1Y2M-3DT4H5M6.7S.
func (v *interval) addISO(s string) bool {
	units, found := isoUnits[0], false
	for s != "" {
		if rest, is := strings.CutPrefix(s, "T"); is {
			units, s = isoUnits[1], rest
			continue
		}
		at := strings.IndexAny(s, "YMWDHS")
		if at < 0 || !v.add(s[:at], units[s[at]]) {
			return false
		}
		s, found = s[at+1:], true
	}
	return found
}

// addWords adds 1 year 2 mons -3 days +04:05:06.7.
func (v *interval) addWords(words []string) bool {
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

// addClock adds +04:05:06.7.
func (v *interval) addClock(s string) bool {
	sign := ""
	if s[0] == '+' || s[0] == '-' {
		sign, s = s[:1], s[1:]
	}
	parts := strings.Split(s, ":")
	if len(parts) > 3 {
		return false
	}
	for i, part := range parts {
		whole, _, _ := strings.Cut(part, ".")
		if whole == "" || strings.Trim(whole, "0123456789") != "" || i > 0 && (len(whole) != 2 || whole >= "60") {
			return false
		}
		if !v.add(sign+part, intervalUnits[[]string{"hour", "minute", "second"}[i]]) {
			return false
		}
	}
	return true
}

// add adds so many of a unit. Only seconds may have a fraction.
func (v *interval) add(number string, unit interval) bool {
	if unit == second {
		whole, fraction, _ := strings.Cut(number, ".")
		if whole == "" || strings.Trim(fraction, "0123456789") != "" {
			return false
		}
		number, unit = whole+(fraction + "000000")[:6], interval{micros: 1}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if size := unit.months + unit.days + unit.micros; err != nil || size == 0 || n > math.MaxInt64/size || n < math.MinInt64/size {
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
