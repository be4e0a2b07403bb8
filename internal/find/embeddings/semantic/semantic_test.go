package semantic

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func dot(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// TestVectorsAreThoseOfTheTraining compares with what distill.py computes from the same table.
func TestVectorsAreThoseOfTheTraining(t *testing.T) {
	table := Builtin()
	const odd = "naïve Café über 東京 weather_forecast 2024-01-02 #1 supercalifragilistic"
	cities := table.Tool("get_weather", "Returns the forecast of a city.", []string{"city", "days", "inner_key"})
	for _, c := range []struct {
		about string
		got   []float32
		want  []float64
	}{
		{"names, repeated words", table.Text("Delete the files, the files of a user: getHTTPServer"), []float64{.0675, -.027, -.0475, -.1242, -.25}},
		{"accents, other scripts, numbers", table.Text(odd), []float64{.0932, .0057, .3018, -.0958, .1016}},
		{"stop words", table.Text("the of"), []float64{-.7906, .0593, -.4764, .0295, .052}},
		{"a tool", cities, []float64{.187, .1183, -.0692, .0212, -.0006}},
	} {
		for i, want := range c.want {
			if math.Abs(float64(c.got[i])-want) > 1e-4 {
				t.Errorf("%s: number %d is %v, want %v", c.about, i, c.got[i], want)
			}
		}
		if length := dot(c.got, c.got); math.Abs(length-1) > 1e-5 {
			t.Errorf("%s: the length is %v", c.about, math.Sqrt(length))
		}
	}
}

// TestMeaning: each pair shares no word, and the other text shares none with the first either.
func TestMeaning(t *testing.T) {
	table := Builtin()
	for _, c := range [][3]string{
		{"remove a file", "delete_document", "create_invoice"},
		{"how warm will it be tomorrow", "weather_forecast", "stock_price"},
		{"lend money", "loan_application", "hotel_booking"},
		{"send an email", "mail_message_post", "compute_square_root"},
	} {
		asked := table.Text(c[0])
		if near, far := dot(asked, table.Text(c[1])), dot(asked, table.Text(c[2])); near < far+.1 {
			t.Errorf("%q is as near to %q (%.2f) as to %q (%.2f)", c[0], c[2], far, c[1], near)
		}
	}
}

func TestTextsWithoutKnownPieces(t *testing.T) {
	table := Builtin()
	for _, text := range []string{"", " ", "東京", "!?", "\x00\xff", strings.Repeat("x", 200) + "é"} {
		if v := table.Text(text); len(v) != Dimensions || dot(v, v) != 0 {
			t.Errorf("%.20q has a vector", text)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for about, text := range map[string]string{
		"nothing": "", "another file": "GGUF" + file[4:], "a piece of a table": file[:len(file)/2],
		"no rows":          magic + "\x00\x00\x00\x00\x80\x00\x00\x00\x00\x00\x00\x00",
		"a size above all": magic + "\xff\xff\xff\xff\x80\x00\x00\x00\xff\xff\xff\xff",
	} {
		if _, err := Parse(text); err == nil {
			t.Errorf("%s is a table", about)
		}
	}
	if _, err := Parse(file); err != nil {
		t.Error(err)
	}
}

func FuzzText(f *testing.F) {
	f.Add("getHTTPServer Δίας ﬁx")
	table := Builtin()
	f.Fuzz(func(t *testing.T, text string) {
		v := table.Text(text)
		if length := dot(v, v); length != 0 && math.Abs(length-1) > 1e-4 {
			t.Errorf("%q has a vector of length %v", text, math.Sqrt(length))
		}
		if !slices.Equal(v, table.Text(text)) {
			t.Errorf("%q has two vectors", text)
		}
	})
}

func BenchmarkText(b *testing.B) {
	table := Builtin()
	for b.Loop() {
		table.Text("find the fastest train from Rome to Pisa tomorrow before nine o'clock")
	}
}
