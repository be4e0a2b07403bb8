package functions

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/value"
)

func decimalType(head, inner string) (*Type, error) {
	precision, scale, scaled := strings.Cut(inner, ",")
	p, err1 := strconv.Atoi(strings.TrimSpace(precision))
	s, err2 := 0, error(nil)
	if scaled {
		s, err2 = strconv.Atoi(strings.TrimSpace(scale))
	}
	switch {
	case err1 != nil || err2 != nil || p < 1 || s < 0:
		return nil, unknownType(head + "(" + inner + ")")
	case p > value.MaxDigits:
		return nil, typeError(fmt.Sprintf("DuckDB's decimals have at most %d digits", value.MaxDigits))
	case s > p:
		return nil, typeError("the scale is larger than the precision")
	}
	name := "Decimal128"
	if head == "decimal256" {
		name = "Decimal256"
	}
	return simpleType(&engine.Type{ID: engine.Decimal, Width: p, Scale: s}, decimalName(name, p, s)), nil
}

func decimalName(name string, width, scale int) string {
	return fmt.Sprintf("%s(%d, %d)", name, width, scale)
}

// timeUnit is a unit of Arrow's times, with DuckDB's timestamp and time of it.
type timeUnit struct {
	arrow           string
	timestamp, time engine.TypeID
}

var timeUnits = map[string]timeUnit{
	"s": second, "sec": second, "second": second, "0": second,
	"ms": millisecond, "millisecond": millisecond, "3": millisecond,
	"us": microsecond, "µs": microsecond, "microsecond": microsecond, "6": microsecond,
	"ns": nanosecond, "nanosecond": nanosecond, "9": nanosecond,
}

var (
	second      = timeUnit{"Second", engine.TimestampS, engine.Time}
	millisecond = timeUnit{"Millisecond", engine.TimestampMS, engine.Time}
	microsecond = timeUnit{"Microsecond", engine.Timestamp, engine.Time}
	nanosecond  = timeUnit{"Nanosecond", engine.TimestampNS, engine.TimeNS}
)

// timeType parses time64(us) and time32(ms).
func timeType(head, inner string) (*Type, error) {
	u, ok := timeUnits[strings.ToLower(strings.TrimSpace(inner))]
	if !ok {
		return nil, unknownType(head + "(" + inner + ")")
	}
	return simpleType(&engine.Type{ID: u.time}, ""), nil
}

// timestampType parses timestamp(us), timestamp(us, UTC) and, with the number of digits,
// timestamp(6).
func timestampType(inner string) (*Type, error) {
	unit, zone, hasZone := strings.Cut(inner, ",")
	u, ok := timeUnits[strings.ToLower(strings.TrimSpace(unit))]
	if !ok {
		return nil, unknownType("timestamp(" + inner + ")")
	}
	zone, err := timeZone(zone, hasZone)
	if err != nil {
		return nil, err
	}
	if zone == "" {
		return simpleType(&engine.Type{ID: u.timestamp}, ""), nil
	}
	return simpleType(&engine.Type{ID: engine.TimestampTZ}, fmt.Sprintf("Timestamp(%s, Some(%q))", u.arrow, zone)), nil
}

// timeZone reads a zone: UTC, "UTC", Some("UTC"), or none.
func timeZone(text string, written bool) (string, error) {
	text = strings.TrimSpace(text)
	if !written || strings.EqualFold(text, "none") {
		return "", nil
	}
	if len(text) > 6 && strings.EqualFold(text[:5], "some(") && text[len(text)-1] == ')' {
		text = strings.TrimSpace(text[5 : len(text)-1])
	}
	if n := len(text); n >= 2 && (text[0] == '"' || text[0] == '\'') && text[n-1] == text[0] {
		text = text[1 : n-1]
	}
	if text == "" || strings.ContainsAny(text, "()<>,\"'") {
		return "", unknownType(text)
	}
	return text, nil
}
