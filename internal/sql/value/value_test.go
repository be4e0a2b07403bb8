package value_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/sql/value"
)

func Example() {
	day, _ := value.ParseDate("0044-03-15 (BC)")
	at, _ := value.ParseTimestamp("1970-01-01T02:00:01+02:00")
	fmt.Println(string(value.AppendDate(nil, int64(day))), at)
	// Output: -0043-03-15 1000000
}

// TestCalendar compares with package time.
func TestCalendar(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		days := r.Int64N(2*5_000_000) - 5_000_000
		want := time.Unix(days*86_400, 0).UTC()
		text := value.AppendDate(nil, days)
		if y := want.Year(); y >= 0 && y <= 9999 && string(text) != want.Format(time.DateOnly) {
			t.Fatalf("day %d is %s, want %s", days, text, want)
		}
		if got, ok := value.ParseDate(string(text)); !ok || int64(got) != days {
			t.Fatalf("%s is the day %d, want %d", text, got, days)
		}
		bc, before := value.AppendDateBC(nil, days)
		if before {
			bc = append(bc, " BC"...)
		}
		if got, ok := value.ParseDate(string(bc)); !ok || int64(got) != days {
			t.Fatalf("%s is the day %d, want %d", bc, got, days)
		}
	}
}

func TestParseDate(t *testing.T) {
	for s, want := range map[string]value.Date{
		"1970-01-01": 0, "1969-12-31": -1, "2000-02-29": 11016, "0000-01-01": -719_528, "0001-01-01 (BC)": -719_528, "0001-01-01 bc": -719_528,
		"+5881580-07-10": math.MaxInt32 - 1, "-5877641-06-25": -math.MaxInt32 + 1, "infinity": math.MaxInt32, "-infinity": -math.MaxInt32,
	} {
		if got, ok := value.ParseDate(s); !ok || got != want {
			t.Errorf("%s: %d, %v; want %d", s, got, ok, want)
		}
	}
	for _, s := range []string{
		"", "-", "x", "1970", "1970-01", "1970-01-0", "1970-1-01", "1970-01-01x", "1970-01-01 ", "1970-02-29", "1970-00-01", "1970-01-00",
		"1970-13-01", "0000-01-01 (BC)", "-0001-01-01 BC", "5881580-07-11", "-5877641-06-24", "12345678-01-01", "Infinity", "1970/01/01", "١٩٧٠-01-01",
	} {
		if got, ok := value.ParseDate(s); ok {
			t.Errorf("%q: %d", s, got)
		}
	}
}

func TestParseTimestamp(t *testing.T) {
	for s, want := range map[string]int64{
		"1970-01-01": 0, "1970-01-01T00:01": 60e6, "1970-01-01 00:00:01.5": 1_500_000, "1969-12-31T23:59:59.999999999Z": -1,
		"1970-01-01 00:00:00+00": 0, "1970-01-01T01:00:01+01:00": 1e6, "1969-12-31 23:30:00-00:30": 0, "1970-01-01 00:00:01-00:00:02": 3e6,
		"0001-12-31 23:59:59.9 BC": -62_135_596_800e6 - 100_000, "0001-12-31 (BC) 23:59:59.9": -62_135_596_800e6 - 100_000,
		"infinity": math.MaxInt64, "-infinity": -math.MaxInt64,
		"294247-01-10 04:00:54.775806": math.MaxInt64 - 1, "290309-12-22 (BC) 00:00:00": -9223372022400000000,
	} {
		if got, ok := value.ParseTimestamp(s); !ok || got != want {
			t.Errorf("%s: %d, %v; want %d", s, got, ok, want)
		}
	}
	for _, s := range []string{
		"", "1970-01-01T", "1970-01-01 0", "1970-01-01 00", "1970-01-01 00:", "1970-01-01 24:00", "1970-01-01 00:60", "1970-01-01 00:00:60", "1970-01-01 00:00:00.",
		"1970-01-01 00:00:00 Z", "1970-01-01 00:00+", "1970-01-01 00:00+1", "1970-01-01 00:00+01:", "1970-01-01 00:00+01:00:00:00",
		"1970-01-01_00:00", "1970-01-01Z", "294247-01-10 04:00:54.775807", "294247-01-10 04:00:55", "5881580-07-10", "-5877641-06-25",
	} {
		if got, ok := value.ParseTimestamp(s); ok {
			t.Errorf("%q: %d", s, got)
		}
	}
	if got, ok := value.ParseTimestampNS("2262-04-11T23:47:16.854775806"); !ok || got != math.MaxInt64-1 {
		t.Error(got, ok)
	}
	if got, ok := value.ParseTimestampNS("2262-04-11T23:47:16.854775808"); ok {
		t.Error(got)
	}
}

func TestParseInterval(t *testing.T) {
	for s, want := range map[string]value.Interval{
		"1 year 2 mons -3 days +04:05:06.7": {14, -3, 14706700000},
		"-1 years -2 mons +3 days -04:05":   {-14, 3, -14700000000},
		"00:00:00":                          {0, 0, 0},
		"-00:00:00.000001":                  {0, 0, -1},
		"2562047788:00:54.775807":           {0, 0, 9223372036854775807},
		"2 weeks 1 hour 2 mins 3.5 secs":    {0, 14, 3723500000},
		"P1Y2M3DT4H5M6S":                    {14, 3, 14706000000},
		"P-1Y2W":                            {-12, 14, 0},
		"PT-0.5S":                           {0, 0, -500000},
		"PT0S":                              {0, 0, 0},
	} {
		if got, ok := value.ParseInterval(s); !ok || got != want {
			t.Errorf("%q: %+v, %v; want %+v", s, got, ok, want)
		}
	}
	// These are left to DuckDB.
	for _, s := range []string{
		"", "P", "PT", "P1H", "1", "1.5 days", "3 days ago", "04:60:00", "1:2:3:4", "2562047789:00:00", "2562047788:00:54.775808", "178956971 years", "01:-2:03",
		"1:100:00", "PT.5S", ":", "1 day :", "9 9",
	} {
		if got, ok := value.ParseInterval(s); ok {
			t.Errorf("%q: %+v", s, got)
		}
	}
}
