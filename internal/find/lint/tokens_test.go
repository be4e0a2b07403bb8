package lint_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/find/lint"
	"github.com/spiced-sql/spiced/tools"
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
func TestTokens(t *testing.T) {
	for _, c := range counted {
		got := lint.Tokens(c.text)
		if off := math.Abs(float64(got - c.true)); off > max(3, .2*float64(c.true)) {
			t.Errorf("%.40q: %d tokens, truly %d", c.text, got, c.true)
		}
	}
}

// Whole catalogs, as a model gets them, are within 3 %.
func TestTokensOfCatalogs(t *testing.T) {
	for set, want := range map[string]int{
		"apibank": 11224, "bfcl": 98471, "bfcl_live": 115289, "bfcl_multiturn": 13085,
		"livemcp": 86985, "metatool": 7311, "sealtools": 394616,
	} {
		got := lint.Cost(catalog(t, set), lint.OpenAI)
		if off := float64(got)/float64(want) - 1; math.Abs(off) > .03 {
			t.Errorf("%s: %d tokens, truly %d: off by %.1f %%", set, got, want, 100*off)
		}
	}
}

// catalog reads the tools of a retrieval set outside of the repository.
func catalog(t *testing.T, set string) []*tools.Definition {
	t.Helper()
	f, err := os.Open(filepath.Join("../../../../shared/retrieval/dev", set, "tools.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("the retrieval sets are not next to the repository: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []*tools.Definition
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		d := tools.Definition{Source: "mcp:" + set}
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			t.Fatal(err)
		}
		list = append(list, &d)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// Real catalogs have no attacks, and few names that look alike.
func TestRealCatalogs(t *testing.T) {
	for _, set := range []string{"bfcl_live", "livemcp"} {
		list := catalog(t, set)
		rules := map[string]int{}
		for _, f := range lint.Check(list) {
			rules[f.Rule]++
		}
		if rules[lint.Instructions]+rules[lint.HiddenText] > 0 || 20*rules[lint.SimilarName] > len(list) || 20*rules[lint.SimilarDescription] > len(list) {
			t.Errorf("%s, %d tools: %v", set, len(list), rules)
		}
	}
}

func FuzzTokens(f *testing.F) {
	for _, c := range counted {
		f.Add(c.text)
	}
	f.Add("\xff\xfe a\u0301 \n\r\n\t'")
	f.Fuzz(func(t *testing.T, text string) {
		n := lint.Tokens(text)
		if runes := utf8.RuneCountInString(text); n < 0 || n > 2*runes || n == 0 && text != "" {
			t.Errorf("%q: %d tokens of %d characters", text, n, runes)
		}
	})
}

func BenchmarkTokens(b *testing.B) {
	text := strings.Repeat(counted[4].text, 100)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		lint.Tokens(text)
	}
}
