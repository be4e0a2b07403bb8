package value

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Float is the floating-point number of 32 or 64 bits of the text of a JSON number,
// rounded to the nearest as usual: 0.1 is the number that every program reads for it.
// A text that says more than the number keeps is an error, which names the nearest number:
// an integer that the type does not have, such as 9007199254740993, and a number that is not
// zero and would become it, such as 1e-400. So is one out of range, a [strconv.ErrRange], and
// text that is no number, a [strconv.ErrSyntax].
//
// Integers below 1e21 are exact, too, if they are the shortest text of a number: encoders of
// JavaScript and Go write numbers so.
func Float(text string, bits int) (float64, error) {
	f, err := strconv.ParseFloat(text, bits)
	if err != nil {
		return f, err
	}
	digits := strings.TrimPrefix(text, "-")
	if len(digits) <= 7 && f != 0 { // fewer than any type has
		return f, nil
	}
	exact := f != 0 || strings.Trim(mantissa(digits), "0.") == ""
	if strings.Trim(digits, "0123456789") == "" {
		n, _ := new(big.Int).SetString(digits, 10)
		whole, _ := new(big.Float).SetFloat64(math.Abs(f)).Int(nil)
		shortest := strconv.FormatFloat(math.Abs(f), 'f', -1, bits)
		exact = n.Cmp(whole) == 0 || len(digits) <= maxPlain && n.String() == shortest
	}
	if !exact {
		format := byte('g')
		if math.Abs(f) < 1e21 {
			format = 'f'
		}
		return f, fmt.Errorf("%.60s does not fit exactly: the nearest number of %d bits is %s", text, bits,
			strconv.FormatFloat(f, format, -1, bits))
	}
	return f, nil
}

// maxPlain is how many digits an integer has that encoders write without an exponent.
const maxPlain = 21

// mantissa is a number's text without its exponent.
func mantissa(text string) string {
	if e := strings.IndexAny(text, "eE"); e >= 0 {
		return text[:e]
	}
	return text
}
