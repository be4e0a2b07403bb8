package spicepod

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Size is a number of bytes.
type Size int64

var sizeUnits = []struct {
	name  string
	bytes int64
}{
	{"tib", 1 << 40},
	{"gib", 1 << 30},
	{"mib", 1 << 20},
	{"kib", 1 << 10},
	{"tb", 1e12},
	{"gb", 1e9},
	{"mb", 1e6},
	{"kb", 1e3},
	{"b", 1},
}

// String returns the size in the largest unit that divides it.
func (s Size) String() string {
	if s == 0 {
		return "0B"
	}
	for _, unit := range sizeUnits[:4] {
		if int64(s)%unit.bytes == 0 {
			return fmt.Sprintf("%d%siB", int64(s)/unit.bytes, strings.ToUpper(unit.name[:1]))
		}
	}
	if int64(s) > 10<<20 || int64(s) < -(10<<20) {
		return fmt.Sprintf("%.1fMiB", float64(s)/(1<<20))
	}
	return fmt.Sprintf("%dB", int64(s))
}

// ParseSize parses a number of bytes such as "128MiB", "4GB", "1.5GiB" or "4096". KiB, MiB,
// GiB and TiB are powers of 1024, KB, MB, GB and TB powers of 1000; case is ignored.
func ParseSize(text string) (Size, error) {
	number, factor := strings.TrimSpace(text), int64(1)
	lower := strings.ToLower(number)
	for _, unit := range sizeUnits {
		if rest, ok := strings.CutSuffix(lower, unit.name); ok {
			number, factor = strings.TrimSpace(rest), unit.bytes
			break
		}
	}
	if n, err := strconv.ParseInt(number, 10, 64); err == nil {
		if n < 0 || n > math.MaxInt64/factor {
			return 0, fmt.Errorf("%q is out of range", text)
		}
		return Size(n * factor), nil
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !plainNumber(number) {
		return 0, fmt.Errorf("%q is not a size", text)
	}
	if n *= float64(factor); n >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is out of range", text)
	}
	return Size(n), nil
}

var durationUnits = map[string]time.Duration{
	"ns": time.Nanosecond, "us": time.Microsecond, "µs": time.Microsecond, "μs": time.Microsecond,
	"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour,
	"d": 24 * time.Hour, "w": 7 * 24 * time.Hour,
}

// ParseDuration parses a duration such as "30s", "500ms", "2m30s", "1d" or a bare number of
// seconds. It is never negative.
func ParseDuration(text string) (time.Duration, error) {
	rest := strings.TrimSpace(text)
	if seconds, err := strconv.ParseUint(rest, 10, 63); err == nil {
		if seconds > math.MaxInt64/uint64(time.Second) {
			return 0, fmt.Errorf("%q is out of range", text)
		}
		return time.Duration(seconds) * time.Second, nil
	}
	if rest == "" {
		return 0, fmt.Errorf("%q is not a duration", text)
	}
	total := 0.0
	for rest != "" {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789."))
		number := rest[:digits]
		rest = strings.TrimLeft(rest[digits:], " ")
		letters := strings.IndexAny(rest, "0123456789. ")
		if letters < 0 {
			letters = len(rest)
		}
		unit, known := durationUnits[rest[:letters]]
		n, err := strconv.ParseFloat(number, 64)
		if !known || err != nil {
			return 0, fmt.Errorf("%q is not a duration", text)
		}
		rest = strings.TrimLeft(rest[letters:], " ")
		total += n * float64(unit)
	}
	if total >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is out of range", text)
	}
	return time.Duration(math.Round(total)), nil
}

// plainNumber reports whether s is digits with at most one point.
func plainNumber(s string) bool {
	return strings.Trim(s, "0123456789.") == "" && strings.Count(s, ".") <= 1
}

// isJSONNumber reports whether s is a JSON number.
func isJSONNumber(s string) bool {
	if s == "" || (s[0] != '-' && (s[0] < '0' || s[0] > '9')) {
		return false
	}
	return json.Valid([]byte(s))
}
