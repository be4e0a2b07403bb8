package value_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/sql/value"
)

func TestFloat(t *testing.T) {
	for _, test := range []struct {
		text string
		bits int
		want string // a part of the error; "": no error
	}{
		{"0.1", 64, ""},
		{"0", 64, ""},
		{"-0.000e-9", 64, ""},
		{"123456789.12345678901234567890", 64, ""},
		{"9007199254740992", 64, ""},
		{"9007199254740993", 64, "bits is 9007199254740992"},
		{"-9007199254740993", 64, "bits is -9007199254740992"},
		{"9007199254740993.0", 64, ""}, // a number of a program that has only these
		{"590295810358705700000", 64, ""},
		{"590295810358705651712", 64, ""},
		{"590295810358705651713", 64, "bits is 590295810358705700000"},
		{"1" + strings.Repeat("0", 22), 64, ""},
		{"1" + strings.Repeat("0", 40), 64, "bits is 1e+40"},
		{"1e40", 64, ""},
		{"1e-400", 64, "bits is 0"},
		{"1e-320", 64, ""},
		{"1e400", 64, "out of range"},
		{"1x", 64, "invalid syntax"},
		{"16777216", 32, ""},
		{"16777217", 32, "bits is 16777216"},
		{"0.1", 32, ""},
		{"1e-50", 32, "bits is 0"},
		{"1e39", 32, "out of range"},
	} {
		_, err := value.Float(test.text, test.bits)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s as %d bits: %v", test.text, test.bits, err)
		}
	}
	if _, err := value.Float("1e400", 64); !errors.Is(err, strconv.ErrRange) {
		t.Error(err)
	}
}

// TestFloatTakesWhatProgramsWrite has any number, as encoders of JSON write it.
func TestFloatTakesWhatProgramsWrite(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		f := math.Float64frombits(random.Uint64())
		if random.IntN(2) == 0 {
			f = math.Trunc(math.Exp(random.Float64() * 55))
		}
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		format := byte('f')
		if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
			format = 'e'
		}
		text := strconv.FormatFloat(f, format, -1, 64)
		if got, err := value.Float(text, 64); err != nil || got != f {
			t.Fatalf("%s is %v, %v", text, got, err)
		}
	}
}
