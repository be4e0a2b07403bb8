// Package value has the Go types of DuckDB's values that Go itself has no type for,
// with their text: one calendar, one clock, one interval and one decimal for every
// protocol. It depends on nothing; package engine binds its values as parameters.
//
//	day, ok := value.ParseDate("2024-02-29")
//	at, ok := value.ParseTimestamp("2024-02-29T12:00:00+02:00")
//	buf = value.AppendDate(buf, int64(day))
package value

import "math"

// Types of parameters. Infinite dates and times are the largest and the smallest
// number of their type, as in DuckDB.
type (
	// Date is a DATE: days since 1970-01-01.
	Date int32
	// Time is a TIME: microseconds since midnight, at most 24 hours.
	Time int64
	// TimeNS is a TIME_NS: nanoseconds since midnight, at most 24 hours.
	TimeNS int64
	// TimeTZ is a TIME WITH TIME ZONE: its offset is in seconds east of UTC.
	TimeTZ struct {
		Time   Time
		Offset int32
	}
	// Timestamp is a TIMESTAMP: microseconds since 1970-01-01.
	Timestamp int64
	// TimestampTZ is a TIMESTAMP WITH TIME ZONE: microseconds since 1970-01-01 UTC.
	TimestampTZ int64
	// TimestampNS is a TIMESTAMP_NS: nanoseconds since 1970-01-01.
	TimestampNS int64
	// Interval is an INTERVAL.
	Interval struct {
		Months, Days int32
		Micros       int64
	}
	// Map is a MAP: its keys, and the value of each.
	Map struct{ Keys, Values []any }
	// Numeric is a number with its digits: it becomes the narrowest DECIMAL that
	// holds them, if DuckDB expects no other type.
	Numeric string
)

// The infinite dates, and the infinite timestamps of every unit.
const (
	DateInfinity = math.MaxInt32
	Infinity     = math.MaxInt64
)

// The words of infinite dates and times, in DuckDB as in PostgreSQL.
const (
	infinity         = "infinity"
	negativeInfinity = "-infinity"
)

// Infinite reports whether a date or a timestamp is infinite; limit is [DateInfinity]
// or [Infinity].
func Infinite(n, limit int64) bool { return n == limit || n == -limit }

// AppendInfinity appends the word of an infinite date or timestamp.
func AppendInfinity(buf []byte, n int64) []byte {
	if n < 0 {
		return append(buf, negativeInfinity...)
	}
	return append(buf, infinity...)
}

// parseInfinity returns the infinite date or time that s is the word of.
func parseInfinity(s string, limit int64) (int64, bool) {
	switch s {
	case infinity:
		return limit, true
	case negativeInfinity:
		return -limit, true
	}
	return 0, false
}
