package spicepod

import (
	"strings"
	"testing"
)

// TestMask: secrets are masked wherever YAML has them, the rest stays as it is.
func TestMask(t *testing.T) {
	for text, want := range map[string]string{
		"params: { openai_api_key: sk-0123, endpoint: x }\n":                  "params: { openai_api_key: ***, endpoint: x }\n",
		"params:\n  pg_pass: 'hunter2'\n  pg_port: 5432\n":                    "params:\n  pg_pass: '***'\n  pg_port: 5432\n",
		"params:\n  \"pg_pass\":\n    \"hun\\\"ter2\"\n":                      "params:\n  \"pg_pass\":\n    \"***\"\n",
		"pg_pass: ${env:PG}\n":                                                "pg_pass: ${env:PG}\n",
		"pg_pass: \"${secrets:pg}\"\n":                                        "pg_pass: \"${secrets:pg}\"\n",
		"http_headers: \"Authorization: Bearer ${env:A}\"":                    "http_headers: \"***${env:A}\"",
		"token: abc${env:A}def\n":                                             "token: ***${env:A}***\n",
		"pg_pass: 12345\nrows: 3\n":                                           "pg_pass: ***\nrows: 3\n",
		"pg_pass:\nrows: 3\n":                                                 "pg_pass:\nrows: 3\n",
		"max_tokens: 100\nprimary_key: id\nsecrets: [A, B]":                   "max_tokens: 100\nprimary_key: id\nsecrets: [A, B]",
		"params:\n  key: |\n    -----BEGIN\n    abc\n    -----END\nx: 1\n":    "params:\n  key: |\n    ***\n    ***\n    ***\nx: 1\n",
		"auth:\n  api-key:\n    keys: [abc, 'def:rw']\n":                      "auth:\n  api-key:\n    keys: [***, '***']\n",
		"auth:\n  api-key:\n    principals:\n      - { name: a, key: abc }\n": "auth:\n  api-key:\n    principals:\n      - { name: a, key: *** }\n",
		"params: &p { pg_pass: one }\nother: { params: *p }\n":                "params: &p { pg_pass: *** }\nother: { params: *p }\n",
		"plain: &p hunter2\nparams: { pg_pass: *p }\n":                        "plain: &p ***\nparams: { pg_pass: *p }\n",
		"from: \"https://ann:hunter2@host/a.csv\"\n":                          "from: \"https://ann:***@host/a.csv\"\n",
		"from: https://h/a?sv=1&sig=abc%3D&x=2\n":                             "from: https://h/a?sv=1&sig=***&x=2\n",
		"from: https://h/a?token=${env:T}\n":                                  "from: https://h/a?token=${env:T}\n",
		"a: 1 # pg_pass: hunter2 was before\n":                                "a: 1 # pg_pass: *** \n",
		"body: |\n  key = {'api_key': 'sk-0123456789'}\n":                     "body: |\n  key = {'api_key': '***'}\n",
		"body: \"SELECT {'key': id, 'token': t.token} FROM t\"\n":             "body: \"SELECT {'key': id, 'token': t.token} FROM t\"\n",
		"a: 1\n---\npg_pass: x\n":                                             "a: 1\n---\npg_pass: ***\n",
		"tools:\n  - env: { OPENAI_KEY: abc, LOG: debug }\n":                  "tools:\n  - env: { OPENAI_KEY: ***, LOG: debug }\n",
		"tests:\n  - { args: { key: a }, returns: 1 }\n":                      "tests:\n  - { args: { key: a }, returns: 1 }\n",
		"pg_pass: >-\n  a\n\n  b\r\nx: 1\r\n":                                 "pg_pass: >-\n  ***\n\n  ***\r\nx: 1\r\n",
	} {
		got, n := mask("spicepod.yaml", text)
		want = strings.ReplaceAll(want, "*** \n", "***\n")
		if got != want || (n > 0) != (text != want) {
			t.Errorf("%q:\ngot  %q, %d\nwant %q", text, got, n, want)
		}
	}
}

// TestMaskOfABrokenFile: someone is editing it.
func TestMaskOfABrokenFile(t *testing.T) {
	const broken = "a: [\n"
	for text, want := range map[string]string{
		"  - { name: m, params: { openai_api_key: sk-0123, x: 1 } }\n":       "  - { name: m, params: { openai_api_key: ***\n",
		"pg_pass: ${env:A}\nx: 1\n":                                          "pg_pass: ${env:A}\nx: 1\n",
		"  keys:\n  - abc\n  - def:rw\nx: 1\n":                               "  keys:\n  ***\n  ***\nx: 1\n",
		"  pg_pass:\n    hunter2\n  pg_port: 1\n":                            "  pg_pass:\n    ***\n  pg_port: 1\n",
		"  key: |\n    abc\n\n    def\nx: 1\n":                               "  key: ***\n    ***\n\n    ***\nx: 1\n",
		strings.Repeat("[", 200) + "{pg_pass: a}" + strings.Repeat("]", 200): strings.Repeat("[", 200) + "{pg_pass: ***",
		"from: https://a:b@h\n":                                              "from: https://a:***@h\n",
	} {
		got, _ := mask("spicepod.yaml", broken+text)
		if got != broken+want {
			t.Errorf("%q:\ngot  %q\nwant %q", text, strings.TrimPrefix(got, broken), want)
		}
	}
}

// FuzzMask: a secret is never shown, wherever the file is cut, and lines stay where they are.
func FuzzMask(f *testing.F) {
	f.Add("params:\n  pg_pass: hunter2secret\n", uint(9))
	f.Add("x: [", uint(0))
	f.Add("a: &a [*a]\npassword: *a", uint(3))
	f.Add("pg_pass: |\n  x\n y", uint(5))
	f.Fuzz(func(t *testing.T, text string, cut uint) {
		for _, path := range []string{"spicepod.yaml", "f.py"} {
			got, _ := mask(path, text)
			if strings.Count(got, "\n") != strings.Count(text, "\n") {
				t.Fatalf("%q has other lines: %q", text, got)
			}
		}
		const secret = "hunter2secret"
		if strings.Contains(text, secret) {
			return
		}
		lines := "datasets:\n  - name: d\n    params:\n      pg_pass: " + secret + "\n      pg_db: x\n"
		at := int(cut % uint(len(lines)))
		for _, broken := range []string{lines[:at], lines + text, lines[:at] + "\n" + lines} {
			if got, _ := mask("spicepod.yaml", broken); strings.Contains(got, secret) {
				t.Fatalf("%q shows the secret: %q", broken, got)
			}
		}
	})
}
