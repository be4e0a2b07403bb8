package sqlapi

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

const docsHead = `# HTTP API

<!-- Made from the table of routes in sqlapi/routes.go by ` + "`go test ./sqlapi -run TestDocs -update`" + `. Do not edit. -->

The default address is 127.0.0.1:8090. The same, for programs, is at ` + "`GET /v1/openapi.json`" + `.

## Protection

Over loopback, the Host header must be localhost, an address, or an allowed name, and a request from a page of
another site is refused: a web page cannot reach the runtime on a developer's machine. There are no CORS headers.
Every answer has an ` + "`X-Request-Id`" + `, the client's own if it sent one; the log has it too. The log has a
fingerprint of each statement, never a literal.

`

// WriteDocs writes docs/http.md.
func WriteDocs(w io.Writer) error {
	var b bytes.Buffer
	b.WriteString(docsHead)
	b.WriteString("## Routes\n\n| Route | |\n|---|---|\n")
	for _, rt := range routes() {
		fmt.Fprintf(&b, "| [%s %s](#%s) | %s |\n", rt.method, rt.path, anchor(rt), rt.summary)
	}
	for _, rt := range routes() {
		writeRoute(&b, rt)
	}
	writeCodes(&b)
	_, err := w.Write(b.Bytes())
	return err
}

// anchor is the id that Markdown renderers give a route's heading.
func anchor(rt route) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		}
		return -1
	}, strings.ToLower(rt.method+" "+rt.path))
}

func writeRoute(b *bytes.Buffer, rt route) {
	fmt.Fprintf(b, "\n### %s %s\n\n%s\n", rt.method, rt.path, rt.summary)
	if rt.about != "" {
		fmt.Fprintf(b, "\n%s\n", rt.about)
	}
	if len(rt.params) > 0 {
		b.WriteString("\n| Parameter | In | |\n|---|---|---|\n")
		for _, p := range rt.params {
			fmt.Fprintf(b, "| `%s` | %s | %s |\n", p.name, p.in, p.about)
		}
	}
	for _, c := range rt.body {
		writeExample(b, "Body", c)
	}
	b.WriteString("\n| Status | | Content |\n|---|---|---|\n")
	answers := slices.Clone(rt.answers)
	slices.SortStableFunc(answers, func(x, y answer) int { return x.status - y.status })
	for _, a := range answers {
		media := make([]string, len(a.body))
		for i, c := range a.body {
			media[i] = "`" + c.media + "`"
		}
		fmt.Fprintf(b, "| %d %s | %s | %s |\n", a.status, http.StatusText(a.status), a.about, strings.Join(media, ", "))
	}
	for _, a := range answers {
		for _, c := range a.body {
			if c.example != "" {
				writeExample(b, fmt.Sprintf("Answer %d", a.status), c)
			}
		}
	}
	writeKeys(b, rt)
}

func writeExample(b *bytes.Buffer, what string, c content) {
	fmt.Fprintf(b, "\n%s, `%s`", what, c.media)
	if c.example == "" {
		b.WriteString(".\n")
		return
	}
	fmt.Fprintf(b, ":\n\n```\n%s\n```\n", c.example)
}

// writeKeys describes the objects that a route reads and answers with.
func writeKeys(b *bytes.Buffer, rt route) {
	var seen []string
	all := slices.Clone(rt.body)
	for _, a := range rt.answers {
		all = append(all, a.body...)
	}
	for _, c := range all {
		name := refName(c.schema)
		if name == "" || name == "Error" || name == "Row" || slices.Contains(seen, name) {
			continue
		}
		seen = append(seen, name)
		fmt.Fprintf(b, "\n%s:\n\n", name)
		writeProperties(b, schemas[name])
	}
}

// refName is the name of the schema that s, or its items, refers to.
func refName(s schema) string {
	if items, ok := s["items"].(schema); ok {
		s = items
	}
	to, _ := s["$ref"].(string)
	return to[strings.LastIndexByte(to, '/')+1:]
}

func writeProperties(b *bytes.Buffer, s schema) {
	properties, _ := s["properties"].(schema)
	required, _ := s["required"].([]any)
	names := make([]string, 0, len(properties))
	for name := range properties {
		names = append(names, name)
	}
	slices.Sort(names)
	b.WriteString("| Key | Type | |\n|---|---|---|\n")
	for _, name := range names {
		p := properties[name].(schema)
		about, _ := p["description"].(string)
		if !slices.Contains(required, any(name)) {
			about = strings.TrimSpace("Optional. " + about)
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, typeText(p), about)
	}
}

func typeText(s schema) string {
	if name := refName(s); name != "" && s["items"] == nil {
		return name
	}
	switch t := s["type"].(type) {
	case string:
		items, ok := s["items"].(schema)
		if t == "array" && ok {
			return "list of " + typeText(items)
		}
		if enum, ok := s["enum"].([]any); ok {
			return joined(enum, ", ")
		}
		return t
	case []any:
		return joined(t, " or ")
	}
	return "any"
}

func joined(words []any, by string) string {
	parts := make([]string, len(words))
	for i, w := range words {
		parts[i] = fmt.Sprint(w)
	}
	return strings.Join(parts, by)
}

func writeCodes(b *bytes.Buffer) {
	b.WriteString("\n## Errors\n\n")
	b.WriteString("An error is an object with these keys, or its text alone on /v1/sql for clients that do not accept JSON:\n\n")
	writeProperties(b, schemas["Error"])
	b.WriteString("\n| Code | Status | |\n|---|---|---|\n")
	for _, row := range errorCodes {
		fmt.Fprintf(b, "| `%s` | %d | %s |\n", row.code, row.status, row.text)
	}
	b.WriteString("\nProblem:\n\n")
	writeProperties(b, schemas["Problem"])
}
