package tokens_test

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/kit/tokens"
)

// The true counts are those of tiktoken's o200k_base, from
// github.com/tiktoken-go/tokenizer v0.10.0.
var counted = []struct {
	text string
	true int
}{
	{"", 0},
	{"hello world", 2},
	{"The quick brown fox jumps over the lazy dog.", 10},
	{"Great-circle distance between two points in kilometres, by the haversine formula.", 16},
	{`{"type":"function","function":{"name":"haversine_km","description":"Great-circle distance.","parameters":{"type":"object","properties":{"lat1":{"type":"number"}}}}}`, 38},
	{"Die Entfernung zwischen zwei Punkten auf der Erde, gemessen entlang des Großkreises.", 17},
	{"La distance entre deux points de la Terre, mesurée le long du grand cercle, où que l'on soit.", 23},
	{"获取当前日期，以上海时区为准，返回格式为。主要用于解析用户提到的相对日期，为其他需要日期的接口提供准确的日期输入。", 37},
	{"地球上の二点間の距離を、大円に沿って計算します。結果はキロメートルです。", 29},
	{"지구 위 두 점 사이의 거리를 대권을 따라 계산합니다. 결과는 킬로미터입니다.", 25},
	{"المسافة بين نقطتين على سطح الأرض مقاسة على طول الدائرة العظمى", 18},
	{"पृथ्वी पर दो बिंदुओं के बीच की दूरी, किलोमीटर में", 16},
	{"SELECT count(*) FROM flights f JOIN airports o ON o.iata = f.origin WHERE distance >= 1000 AND delayed IS NOT NULL", 27},
	{"getUserInfoByEmailAddress HTTPServerError XMLHttpRequest", 11},
	{"🚀 Fast 🎉 tool ✅ works ❌ fails → done • item — dash “quoted”", 20},
	{"2026-11-21T12:20:17Z 3.14159265358979 1,000,000", 27},
}

// Single texts are within a fifth, or three tokens.
func TestCount(t *testing.T) {
	for _, c := range counted {
		got := tokens.Count(c.text)
		if off := math.Abs(float64(got - c.true)); off > max(3, .2*float64(c.true)) {
			t.Errorf("%.40q: %d tokens, truly %d", c.text, got, c.true)
		}
	}
}

func FuzzCount(f *testing.F) {
	for _, c := range counted {
		f.Add(c.text)
	}
	f.Add("\xff\xfe a\u0301 \n\r\n\t'")
	f.Fuzz(func(t *testing.T, text string) {
		n := tokens.Count(text)
		if runes := utf8.RuneCountInString(text); n < 0 || n > 2*runes || n == 0 && text != "" {
			t.Errorf("%q: %d tokens of %d characters", text, n, runes)
		}
	})
}

func BenchmarkCount(b *testing.B) {
	text := strings.Repeat(counted[4].text, 100)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		tokens.Count(text)
	}
}
