package spicepod

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// write puts files into a new folder and returns it.
func write(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// mustLoad loads one spicepod.yaml that has no faults.
func mustLoad(t testing.TB, yaml string) *Pod {
	t.Helper()
	pod, err := Load(write(t, map[string]string{"spicepod.yaml": yaml}))
	if err != nil {
		t.Fatalf("Load: %v\n%s", err, yaml)
	}
	return pod
}

const head = "version: v1\nkind: Spicepod\nname: test\n"

// characterAt is the character of a text that stands at a position.
func characterAt(text string, at Position) string {
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
	if at.Line < 1 || at.Line > len(lines) {
		return fmt.Sprintf("no line %d", at.Line)
	}
	runes := []rune(lines[at.Line-1] + "\n")
	if at.Column < 1 || at.Column > len(runes) {
		return fmt.Sprintf("no column %d", at.Column)
	}
	return string(runes[at.Column-1])
}

// alphabets from which random texts are drawn: letters, and what gives a style
// trouble.
var alphabets = map[string][]string{
	"literal":      {"a", "b", "é", "漢", " ", "\t", "\n", "\n  ", "'", `"`, `\`, "#", ": ", "- "},
	"breaks":       {"a", "é", " ", "\u2028      b", "\u0085      c", "\n"},
	"keep":         {"a", "é", " ", "\n", "\n\n", "x:"},
	"indicator":    {"a", "é", " ", "\n", "\n\n", "   b"},
	"folded":       {"a", "é", "漢", " ", "\n", "\n\n", "\n  ", "\t"},
	"single":       {"a", "é", "漢", "'", `"`, `\`, " ", "#", ": ", "\t"},
	"double":       {"a", "é", "漢", "'", `"`, `\`, "\n", "\t", "\u0007", "\u0085", "\u00a0", "😀", "\u2028"},
	"singlefold":   {"a", "é", "'", " ", "\n", "\n\n"},
	"doublefold":   {"a", "é", `"`, " ", "\n", "\n\n", `\`},
	"plain":        {"a", "é", "漢", "'", `"`, `\`, " ", "#", ":"},
	"plainfold":    {"a", "é", "b", " ", "\n", "\n\n"},
	"doubleescape": {"a", "b", "é", " "},
}

// escape writes text for a double-quoted scalar.
func escape(text string, numeric bool) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case numeric:
			fmt.Fprintf(&b, []string{`\x%02x`, `\u%04x`, `\U%08x`}[r%3], r)
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString("\\t\\\n          ")
		case r == '\u0007':
			b.WriteString(`\a`)
		case r == '\u0085':
			b.WriteString(`\N`)
		case r == '\u00a0':
			b.WriteString(`\_`)
		case r == '\u2028':
			b.WriteString(`\L`)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// encode writes text as a YAML scalar of a style, indented under a key.
func encode(style, text, newline string) string {
	indent := func(text, by string) string {
		var b strings.Builder
		for _, line := range strings.SplitAfter(text, "\n") {
			if strings.Trim(line, "\n") != "" {
				b.WriteString(by)
			}
			b.WriteString(line)
		}
		return b.String()
	}
	fold := func(text string) string { // n breaks in the value are n+1 in the file
		var b strings.Builder
		for i := 0; i < len(text); i++ {
			if b.WriteByte(text[i]); text[i] == '\n' {
				if i == 0 || text[i-1] != '\n' {
					b.WriteByte('\n')
				}
				if i+1 < len(text) && text[i+1] != '\n' {
					b.WriteString("        ")
				}
			}
		}
		return b.String()
	}
	var out string
	switch style {
	case "literal", "breaks":
		out = "|\n" + indent(text, "      ")
	case "keep":
		out = "|+ # comment\n" + indent(text, "        ")
	case "indicator":
		out = "|2-\n" + indent(text, "      ")
	case "folded":
		out = "&a >\n" + indent(text, "      ")
	case "single":
		out = "'" + strings.ReplaceAll(text, "'", "''") + "'"
	case "double", "doubleescape":
		out = `!!str "` + escape(text, style == "doubleescape") + `"`
	case "singlefold":
		out = "'" + fold(strings.ReplaceAll(text, "'", "''")) + "'"
	case "doublefold":
		out = `"` + fold(strings.NewReplacer(`"`, `\"`, `\`, `\\`).Replace(text)) + `"`
	case "plain":
		out = text
	case "plainfold":
		out = fold(text)
	}
	return strings.ReplaceAll(out, "\n", newline)
}

func TestTextAtFindsEveryCharacterInEveryStyle(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for style, alphabet := range alphabets {
		t.Run(style, func(t *testing.T) {
			checked := 0
			for try := range 400 {
				var b strings.Builder
				for range 1 + rng.IntN(20) {
					b.WriteString(alphabet[rng.IntN(len(alphabet))])
				}
				text := "x" + strings.TrimRight(b.String(), " \t\n:#") + "y"
				newline := []string{"\n", "\r\n", "\r"}[try%3]
				file := strings.ReplaceAll(head, "\n", newline) + "functions:" + newline + "  - name: f" + newline +
					"    from: sql" + newline + "    signature: {returns: int64}" + newline +
					"    body: " + encode(style, text, newline) + newline + "    description: after" + newline
				pod, err := Load(write(t, map[string]string{"spicepod.yaml": file}))
				if err != nil {
					continue // not every random text can be written in every style
				}
				checked++
				checkEveryCharacter(t, pod, file)
				if t.Failed() {
					return
				}
			}
			if checked < 50 {
				t.Errorf("only %d texts could be written", checked)
			}
		})
	}
}

func checkEveryCharacter(t *testing.T, pod *Pod, file string) {
	t.Helper()
	body := pod.Functions[0].Body
	for offset, want := range strings.TrimRight(body, "\n") {
		at := pod.TextAt("functions[0].body", offset)
		got := characterAt(file, at)
		ok := got == string(want)
		switch {
		case want == ' ' || want == '\n' || want == '\u2028' || want == '\u0085': // folded or escaped
			ok = ok || got == "\u0085" || got == "\n" || got == "\t" || got == " " || got == `\` || got == string(want)
		case want == '\'' || got == `\`: // doubled or escaped
			ok = ok || got == `\`
		}
		if !ok {
			t.Errorf("byte %d of %q is %q, but at %v stands %q in\n%q", offset, body, want, at, got, file)
			return
		}
	}
}

func TestTextAtIsInOrder(t *testing.T) {
	file := head + "functions:\n  - name: f\n    from: sql\n    signature: {returns: int64}\n    body: >-\n" +
		"      one\n      two\n\n      three\n        four\n      five\n"
	pod := mustLoad(t, file)
	var previous Position
	for offset := range len(pod.Functions[0].Body) {
		at := pod.TextAt("functions[0].body", offset)
		if at.Line < previous.Line || at.Line == previous.Line && at.Column < previous.Column {
			t.Fatalf("byte %d stands at %v, before %v", offset, at, previous)
		}
		previous = at
	}
}

func TestTextAtInReferredFile(t *testing.T) {
	dir := write(t, map[string]string{
		"spicepod.yaml": head + "functions:\n  - ref: lib\n",
		"lib/function.yaml": "name: f\nfrom: sql\nsignature: {returns: int64}\nbody_ref: f.sql\n" +
			"description: \"a\\u00e9b\"\n",
		"lib/f.sql": "\uFEFF1 +\r\n  né\r\n",
	})
	pod, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := pod.Functions[0].Body; got != "1 +\r\n  né\r\n" {
		t.Errorf("body is %q", got)
	}
	tests := []struct {
		path   string
		offset int
		want   string
	}{
		{"functions[0].body", 0, filepath.FromSlash("lib/f.sql") + ":1:1"},
		{"functions[0].body", 7, filepath.FromSlash("lib/f.sql") + ":2:3"},
		{"functions[0].body", 8 + len("é"), filepath.FromSlash("lib/f.sql") + ":2:5"},
		{"functions[0].body", 999, filepath.FromSlash("lib/f.sql") + ":3:1"},
		{"functions[0].description", 3, filepath.FromSlash("lib/function.yaml") + ":5:22"},
	}
	for _, test := range tests {
		if got := pod.TextAt(test.path, test.offset).String(); got != test.want {
			t.Errorf("TextAt(%q, %d) = %s, want %s", test.path, test.offset, got, test.want)
		}
	}
	if got, want := pod.At("functions[0].body").String(), filepath.FromSlash("lib/function.yaml")+":4:11"; got != want {
		t.Errorf("At(body) = %s, want %s", got, want)
	}
	problem := pod.TextProblem("functions[0].body", 7, "no such column", "")
	if problem.Source != "  né" || problem.Line != 2 {
		t.Errorf("problem is %+v", problem)
	}
	for _, name := range []string{"spicepod.yaml", "lib/function.yaml", "lib/f.sql", ".env", ".env.local"} {
		if !contains(slices.Collect(maps.Keys(pod.index.files)), filepath.Join(dir, filepath.FromSlash(name))) {
			t.Errorf("%s is not watched", name)
		}
	}
}

func contains(list []string, s string) bool {
	for _, item := range list {
		if item == s {
			return true
		}
	}
	return false
}

func TestColumnsCountCharacters(t *testing.T) {
	pod := mustLoad(t, head+"metadata: {漢字: é, b: x}\n")
	if got := pod.At("metadata.b"); got.Line != 4 || got.Column != 22 {
		t.Errorf("At = %v", got)
	}
	if n := utf8.RuneCountInString("metadata: {漢字: é, b: "); n != 21 {
		t.Errorf("the test counts %d", n)
	}
}
