package value

import (
	"regexp"
	"strconv"
	"time"
)

const (
	secondsPerDay = 86_400
	// MicrosPerDay is the number of microseconds of a day.
	MicrosPerDay = secondsPerDay * 1_000_000
)

// FloorDiv divides towards minus infinity; the remainder is not negative.
func FloorDiv(a, b int64) (quotient, rest int64) {
	quotient, rest = a/b, a%b
	if rest < 0 {
		quotient, rest = quotient-1, rest+b
	}
	return quotient, rest
}

// Years begin in March here, so that the leap day is their last. An era is 400 years.
const daysPerEra, daysToEpoch = 146_097, 719_468

// civil is the date that is days after 1970-01-01, in the proleptic Gregorian calendar
// with a year 0.
func civil(days int64) (year, month, day int64) {
	era, day := FloorDiv(days+daysToEpoch, daysPerEra)
	year = (day - day/1460 + day/36_524 - day/146_096) / 365
	dayOfYear := day - (365*year + year/4 - year/100)
	month = (5*dayOfYear + 2) / 153
	day = dayOfYear - (153*month+2)/5 + 1
	year += era * 400
	if month += 3; month > 12 {
		month -= 12
		year++
	}
	return year, month, day
}

// AppendDate appends a date in ISO 8601. Years before 0000 and beyond 9999 have a sign.
func AppendDate(buf []byte, days int64) []byte {
	year, month, day := civil(days)
	switch {
	case year < 0:
		buf, year = append(buf, '-'), -year
	case year > 9999:
		buf = append(buf, '+')
	}
	return appendCivil(buf, year, month, day)
}

// AppendDateBC appends a date with a year of no sign and reports whether it is before
// the year 1, which the caller marks: PostgreSQL does so at the end of a timestamp.
func AppendDateBC(buf []byte, days int64) (_ []byte, bc bool) {
	year, month, day := civil(days)
	if year <= 0 {
		return appendCivil(buf, 1-year, month, day), true
	}
	return appendCivil(buf, year, month, day), false
}

func appendCivil(buf []byte, year, month, day int64) []byte {
	if year > 9999 {
		buf = strconv.AppendInt(buf, year, 10)
	} else {
		buf = appendTwo(appendTwo(buf, year/100), year%100)
	}
	buf = appendTwo(append(buf, '-'), month)
	return appendTwo(append(buf, '-'), day)
}

// appendTwo appends n, 0 to 99, with two digits.
func appendTwo(buf []byte, n int64) []byte { return append(buf, byte('0'+n/10), byte('0'+n%10)) }

// ParseDate parses a date as ISO 8601, DuckDB and PostgreSQL write it: 2024-02-29,
// -0043-03-15, 0044-03-15 (BC), 0044-03-15 BC, infinity.
func ParseDate(s string) (Date, bool) {
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return Date(t.Unix() / secondsPerDay), true
	}
	if n, ok := parseInfinity(s, DateInfinity); ok {
		return Date(n), true
	}
	days, clock, ok := parseDay(s)
	return Date(days), ok && clock == "" && -DateInfinity < days && days < DateInfinity
}

// dayAndClock is a date with a year of any length, and what follows it.
var dayAndClock = regexp.MustCompile(`^([+-]?\d{4,7})-(\d\d)-(\d\d)( \(BC\))?(?:[Tt ](\d.*?))?( (?i:BC))?$`)

// parseDay parses a date and returns the text of the clock after it, if any.
func parseDay(s string) (days int64, clock string, ok bool) {
	m := dayAndClock.FindStringSubmatch(s)
	if m == nil {
		return 0, "", false
	}
	year, _ := strconv.Atoi(m[1])
	month, _ := strconv.Atoi(m[2])
	day, _ := strconv.Atoi(m[3])
	if m[4] != "" || m[6] != "" {
		if year <= 0 {
			return 0, "", false
		}
		year = 1 - year
	}
	t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	days, _ = FloorDiv(t.Unix(), secondsPerDay)
	return days, m[5], t.Month() == time.Month(month) && t.Day() == day
}
