package value

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
)

// Int128 is a 128-bit integer, two's complement. A HUGEINT, a UHUGEINT, a UUID and a
// wide DECIMAL are one.
type Int128 struct {
	Low  uint64
	High int64
}

// Abs is the absolute value of n, in two halves.
func (n Int128) Abs() (high, low uint64, negative bool) {
	high, low = uint64(n.High), n.Low
	if n.High >= 0 {
		return high, low, false
	}
	low, borrow := bits.Sub64(0, low, 0)
	high, _ = bits.Sub64(0, high, borrow)
	return high, low, true
}

// UUID is the UUID that DuckDB stores as n: with its first bit inverted, so that it
// sorts as a signed number.
func (n Int128) UUID() (raw [16]byte) {
	high := uint64(n.High) ^ 1<<63
	for b := range 8 {
		raw[b] = byte(high >> (56 - 8*b))
		raw[8+b] = byte(n.Low >> (56 - 8*b))
	}
	return raw
}

// AppendUUID appends a UUID in its usual form.
func AppendUUID(buf []byte, raw [16]byte) []byte {
	var out [36]byte
	at := 0
	for _, part := range [][]byte{raw[:4], raw[4:6], raw[6:8], raw[8:10], raw[10:]} {
		if at > 0 {
			out[at] = '-'
			at++
		}
		at += hex.Encode(out[at:], part)
	}
	return append(buf, out[:]...)
}

// Divide divides a 128-bit number by d.
func Divide(high, low, d uint64) (quotientHigh, quotientLow, rest uint64) {
	quotientHigh = high / d
	quotientLow, rest = bits.Div64(high%d, low, d)
	return quotientHigh, quotientLow, rest
}

// NewInt128 is the lowest 128 bits of n; it reports whether they are n as a HUGEINT.
func NewInt128(n *big.Int) (_ Int128, ok bool) {
	magnitude := n
	if n.Sign() < 0 {
		magnitude = new(big.Int).Not(n) // two's complement has one more negative number
	}
	word := func(n *big.Int) uint64 { return new(big.Int).And(n, new(big.Int).SetUint64(1<<64-1)).Uint64() }
	return Int128{word(n), int64(word(new(big.Int).Rsh(n, 64)))}, magnitude.BitLen() <= 127
}

// AppendDecimal appends n with the last scale digits after the point.
func AppendDecimal(buf []byte, n Int128, scale int) []byte {
	high, low, negative := n.Abs()
	if negative {
		buf = append(buf, '-')
	}
	return AppendUnsigned(buf, high, low, scale)
}

// AppendUnsigned appends an unsigned 128-bit number with the last scale digits after the
// point.
func AppendUnsigned(buf []byte, high, low uint64, scale int) []byte {
	var room [40]byte
	d := decimalDigits(&room, high, low)
	if scale == 0 {
		return append(buf, d...)
	}
	if len(d) <= scale {
		buf = append(buf, '0', '.')
		for range scale - len(d) {
			buf = append(buf, '0')
		}
		return append(buf, d...)
	}
	point := len(d) - scale
	return append(append(append(buf, d[:point]...), '.'), d[point:]...)
}

// decimalDigits writes an unsigned 128-bit integer at the end of room.
func decimalDigits(room *[40]byte, high, low uint64) []byte {
	const split, splitDigits = 1e19, 19
	i := len(room)
	put := func(digit uint64) {
		i--
		room[i] = byte('0' + digit)
	}
	for high != 0 {
		var rest uint64
		high, low, rest = Divide(high, low, split)
		for range splitDigits {
			put(rest % 10)
			rest /= 10
		}
	}
	for low != 0 || i == len(room) {
		put(low % 10)
		low /= 10
	}
	return room[i:]
}

// Limits of numbers.
const (
	// MaxDigits is the number of digits that a DECIMAL may have.
	MaxDigits = 38
	// MaxNumber is the number of bytes that the text of a number may have.
	MaxNumber = 400

	maxExponent = 3 // digits, or two and a sign
)

// Rational is the value of the text of a number, if it is one that takes little memory.
func Rational(text string) (*big.Rat, bool) {
	e := strings.IndexAny(text, "eE")
	if len(text) > MaxNumber || strings.Trim(text, "0123456789+-.eE") != "" || e >= 0 && len(text)-e-1 > maxExponent {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// ParseDecimal parses a DECIMAL exactly: it returns the number without its point.
func ParseDecimal(text string, width, scale int) (Int128, error) {
	r, ok := Rational(text)
	if !ok {
		return Int128{}, fmt.Errorf("%.40q is not a number", text)
	}
	r.Mul(r, new(big.Rat).SetInt(power(scale)))
	if !r.IsInt() {
		return Int128{}, fmt.Errorf("%s has more than %d digits after the point", text, scale)
	}
	if r.Num().CmpAbs(power(width)) >= 0 {
		return Int128{}, fmt.Errorf("%s is too large for DECIMAL(%d,%d)", text, width, scale)
	}
	n, _ := NewInt128(r.Num())
	return n, nil
}

// RoundDecimal is [ParseDecimal] for a number that may have more digits after the point: it
// is rounded half away from zero, as in SQL.
func RoundDecimal(text string, width, scale int) (Int128, error) {
	r, ok := Rational(text)
	if !ok {
		return Int128{}, fmt.Errorf("%.40q is not a number", text)
	}
	return ParseDecimal(r.FloatString(scale), width, scale)
}

func power(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// Digits is how many digits n has from the first one that is not 0.
func (n Numeric) Digits() int {
	digits := strings.Replace(mantissa(string(n)), ".", "", 1)
	return len(strings.TrimLeft(digits, "+-0"))
}

// Size is the width and the scale of the DECIMAL with the digits of n. It is not ok for
// an integer, and for a number with too many digits.
func (n Numeric) Size() (width, scale int, ok bool) {
	number, exponent, scientific := strings.Cut(strings.ToLower(string(n)), "e")
	whole, fraction, point := strings.Cut(strings.TrimLeft(number, "+-"), ".")
	shift := 0
	if scientific {
		var err error
		if shift, err = strconv.Atoi(exponent); err != nil || max(shift, -shift) > MaxNumber {
			return 0, 0, false
		}
	}
	scale = max(len(fraction)-shift, 0)
	width = max(len(strings.TrimLeft(whole, "0"))+shift, 0) + scale
	return max(width, 1), scale, width <= MaxDigits && (point || scientific)
}
