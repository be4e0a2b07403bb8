package words

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		"Get the users":          "get the users",
		"getUserName":            "get(getusername) user name",
		"HTTPServer":             "http(httpserver) server",
		"parseURL":               "parse(parseurl) url",
		"get_user-id":            "get(getuserid) user id",
		"github__create_issue":   "github create(createissue) issue",
		"a__b___c":               "a b c",
		"_private_":              "private",
		"sha256 mp3":             "sha(sha256) 256 mp(mp3) 3",
		"12306-mcp__get-tickets": "12306(12306mcp) mcp get(gettickets) tickets",
		"Abstract.runJar":        "abstract run(runjar) jar",
		"it's 3.5":               "it s 3 5",
		"查询天气":                   "查询 询天 天气",
		"中":                      "中",
		"用Go写":                   "用 go 写",
		"東京Tower2":               "東京 tower(tower2) 2",
		"Crème BRÛLÉE":           "creme brulee",
		"ﬁle Ｆｕｌｌ":               "file full",
		"Łódź straße":            "łodz straße",
		"Ελλάδα":                 "ελλαδα",
		"사과를":                    "사과 과를",
		"йод":                    "йод",
		"हिन्दी":                 "हिन्दी",
		"big\xffbad":             "big bad",
	} {
		var got []string
		for _, w := range Split(text) {
			if w.Compound != "" {
				w.Text += "(" + w.Compound + ")"
			}
			got = append(got, w.Text)
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	if got := Split(strings.Repeat("x", MaxBytes+1)); len(got) != 0 {
		t.Errorf("a word beyond the limit was kept: %v", got)
	}
}
