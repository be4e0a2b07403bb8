package spicepod

import (
	"errors"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// masked replaces a secret.
const masked = "***"

var (
	// secretInURL matches the value of a parameter of a URL that is a key.
	secretInURL = regexp.MustCompile(`(?i)([?&](?:sig|(?:api|access)[_-]?key|key|[a-z_-]*(?:token|secret|password|signature|credential))=)[^&\s"'#,)}\]$*]+`)
	// secretName matches the name of a setting that is a key, as secretSetting, or a list of keys.
	secretName = regexp.MustCompile(`(?i)(?:` + secretNames + `|\bkeys)["']?\s*:`)
	// secretInCode matches a quoted text without spaces that code gives such a name.
	secretInCode = regexp.MustCompile(`(?i)((?:pass|password|secret|token|bearer|(?:api|access|client|private)[_-]key)["']?\]?\s*[:=]\s*)("[^"\s*$]{8,}"|'[^'\s*$]{8,}')`)
	// secretVariable matches the name of an environment variable that is a key.
	secretVariable = regexp.MustCompile(`(?i)key|token|secret|pass|credential|auth`)
	comment        = regexp.MustCompile(`(?:^|\s)#`)
)

// mask returns the text of a file of a Spicepod in which secrets that are written literally are replaced, and
// how many were. References stay. Lines stay where they are, so that the positions of problems hold.
//
// In YAML the values of settings whose names are those of keys are masked wherever the syntax puts them: in
// blocks, in lists, behind anchors. That leaves comments, and the code of bodies. A file that is not YAML at
// the moment, because someone is editing it, is masked by lines; then too much is masked rather than too
// little.
func mask(path, text string) (string, int) {
	m := masker{line: (*masker).codeLine}
	if ext := filepath.Ext(path); ext == ".yaml" || ext == ".yml" {
		m.line = (*masker).brokenLine
		if secrets, ok := secretScalars(text); ok {
			text, m.line = m.nodes(text, secrets), (*masker).yamlLine
		}
	}
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		content := strings.TrimRight(line, "\r\n")
		lines[i] = m.urls(m.line(&m, content)) + line[len(content):]
	}
	return strings.Join(lines, ""), m.count
}

// masker masks one text.
type masker struct {
	line   func(*masker, string) string
	count  int
	below  bool // of brokenLine: a line before names a key, whose value goes on
	indent int  // of that line
}

// secretScalars returns the secret scalars of a text, unless it is not YAML.
func secretScalars(text string) (map[*yaml.Node]bool, bool) {
	w := maskWalk{secret: map[*yaml.Node]bool{}, seen: map[*yaml.Node]bool{}}
	for documents := yaml.NewDecoder(strings.NewReader(text)); ; {
		var root yaml.Node
		if err := documents.Decode(&root); err != nil {
			return w.secret, errors.Is(err, io.EOF) && !w.deep
		}
		w.walk(&root, nil, false)
	}
}

// nodes masks scalars.
func (m *masker) nodes(text string, secret map[*yaml.Node]bool) string {
	src := newSource("", "", text)
	type span struct{ from, to int }
	var spans []span
	for node := range secret {
		spans = append(spans, span{scalarOffset(src, node, 0), scalarOffset(src, node, len(node.Value))})
	}
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	var out strings.Builder
	last := 0
	for _, s := range spans {
		if s.from < max(last, 1) || s.from >= s.to {
			continue
		}
		out.WriteString(text[last:s.from])
		out.WriteString(m.literals(text[s.from:s.to]))
		last = s.to
	}
	out.WriteString(text[last:])
	return out.String()
}

// maskWalk collects the scalars that are secrets.
type maskWalk struct {
	secret map[*yaml.Node]bool
	seen   map[*yaml.Node]bool // that are walked as secrets already: aliases can form cycles
	deep   bool                // some were not walked
}

func (w *maskWalk) walk(node *yaml.Node, path []string, secret bool) {
	w.deep = w.deep || len(path) > MaxDepth
	if w.deep || secret && w.seen[node] {
		return
	}
	if secret {
		w.seen[node] = true
	}
	switch node.Kind {
	case yaml.ScalarNode:
		if secret {
			w.secret[node] = true
		}
	case yaml.AliasNode:
		if secret {
			w.walk(node.Alias, path, true)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i].Value
			w.walk(node.Content[i+1], append(path, key), secret || secretKey(path, key))
		}
	default:
		for _, child := range node.Content {
			w.walk(child, append(path, ""), secret)
		}
	}
}

// secretKey reports whether the values of a key are secrets.
func secretKey(path []string, key string) bool {
	if key == "key" || key == "keys" {
		return slices.ContainsFunc(path, func(p string) bool { return p == "auth" || p == "tls" || p == "params" })
	}
	if len(path) > 0 && path[len(path)-1] == "env" && secretVariable.MatchString(key) {
		return true
	}
	return secretName.MatchString(key+":") && !(key == "api-key" && slices.Contains(path, "auth"))
}

// literals masks the parts of a secret between references. Line breaks and indentation stay.
func (m *masker) literals(text string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		content := strings.TrimRight(line, "\r\n")
		var out strings.Builder
		literal := func(part string) {
			rest := strings.TrimLeft(part, " \t")
			out.WriteString(part[:len(part)-len(rest)])
			if rest != "" {
				m.count++
				out.WriteString(masked)
			}
		}
		last := 0
		for _, r := range reference.FindAllStringIndex(content, -1) {
			literal(content[last:r[0]])
			out.WriteString(content[r[0]:r[1]])
			last = r[1]
		}
		literal(content[last:])
		lines[i] = out.String() + line[len(content):]
	}
	return strings.Join(lines, "")
}

// yamlLine masks what is no value of YAML in a line: in its comment, and in code.
func (m *masker) yamlLine(line string) string {
	if at := comment.FindStringIndex(line); at != nil {
		line = line[:at[1]] + m.settings(line[at[1]:])
	}
	return m.codeLine(line)
}

// codeLine masks quoted texts that code gives the name of a key.
func (m *masker) codeLine(line string) string {
	return secretInCode.ReplaceAllStringFunc(line, func(match string) string {
		m.count++
		name := secretInCode.FindStringSubmatch(match)[1]
		return name + match[len(name):len(name)+1] + masked + match[len(match)-1:]
	})
}

// settings masks the rest of a line after the name of a key that has a literal value.
func (m *masker) settings(line string) string {
	for _, at := range secretName.FindAllStringIndex(line, -1) {
		value := strings.TrimLeft(line[at[1]:], " \t\"'")
		if at := reference.FindStringIndex(value); value == "" || at != nil && at[0] == 0 {
			continue
		}
		m.count++
		return line[:at[1]] + " " + masked
	}
	return line
}

// brokenLine masks a line of a file that is not YAML, and those below one that names a key.
func (m *masker) brokenLine(line string) string {
	inner := strings.TrimLeft(line, " \t-")
	indent := len(line) - len(inner)
	item := strings.HasPrefix(strings.TrimLeft(line, " \t"), "-")
	switch {
	case inner == "":
		return line
	case m.below && (indent > m.indent || item && indent >= m.indent):
		return m.literals(line)
	}
	m.below, m.indent = secretName.MatchString(line), indent
	return m.codeLine(m.settings(line))
}

// urls masks the passwords and keys in the URLs of a line.
func (m *masker) urls(line string) string {
	hidden := secretInURL.ReplaceAllString(HidePasswords(line), "${1}"+masked)
	if hidden != line {
		m.count++
	}
	return hidden
}
