package sqlapi

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
)

const docsHead = `# HTTP API

<!-- Made from the table of routes in sqlapi/routes.go by ` + "`go test ./sqlapi -run TestDocs -update`" + `. Do not edit. -->

The default address is 127.0.0.1:8090. The same, for programs, is at ` + "`GET /v1/openapi.json`" + `.

## Protection

Over loopback, the Host header must be localhost, an address, or a name of ` + "`runtime.mcp.allowed_hosts`" + `, and a
request from a page of another site is refused: a web page cannot reach the runtime on a developer's machine, nor its
metrics. ` + "`runtime.cors`" + ` lets the pages of the sites that it names through; without it there are no CORS headers.

Every answer has an ` + "`X-Request-Id`" + `, the client's own if it sent one; the log has it too. The log has a
fingerprint of each statement, never a literal.

## Keys

Where ` + "`runtime.auth.api-key`" + ` has keys, every route but ` + "`/health` and `/v1/ready`" + ` needs one: ` + "`X-API-Key: KEY`" + ` or
` + "`Authorization: Bearer KEY`" + `. Without one the answer is 401. A key that ends in ` + "`:rw`" + ` may also write: INSERT, UPDATE and DELETE
on datasets with ` + "`access: read_write`" + `, refreshes, reloads. With another key a statement that writes is refused as any that the caller may not run (400), and
other routes answer 403. A principal's limits (requests per second, requests at once) are answered by 429 with Retry-After. Requests, queries and results
belong to the key and the user who made them; for everybody else they are not there.

## Cached results

` + "`POST /v1/sql`" + ` answers an equal statement for ` + "`runtime.caching.sql_results.item_ttl`" + ` from the last answer, as long as no
generation or refresh comes between. ` + "`Results-Cache-Status`" + ` says how an answer came about: ` + "`HIT`, `MISS`, `STALE`" + ` (it is
refreshed in the background) or ` + "`BYPASS`" + `. A statement that may answer otherwise (random(), now(), a volatile function, the
runtime's own tables), whose rows depend on who asks, or that has parameters by name or an object for one, is never cached;
` + "`Cache-Control: no-cache`" + ` asks for a new answer.

## On whose behalf

The routes of SQL, tools and chats take headers that say for whom a request is made: ` + "`X-Spiced-User`, `X-Spiced-Space`,\n`X-Spiced-Session` and `X-Spiced-Agent`" + `. Each is text of at most 128 bytes. They decide which tools are there, and the
record of calls has them; so do row filters and column masks. With keys, only a principal with ` + "`on_behalf_of`" + ` may
name another user than its own. The context of a body goes before the headers. Answers of these routes have an
` + "`X-Spiced-Generation`" + `: the generation of the Spicepod that served.

`

// WriteDocs writes docs/http.md.
func WriteDocs(w io.Writer) error {
	var b bytes.Buffer
	b.WriteString(docsHead)
	b.WriteString("## Routes\n\n| Route | |\n|---|---|\n")
	anchors := anchors()
	for _, rt := range routes(handlers{}) {
		fmt.Fprintf(&b, "| [%s %s](#%s) | %s |\n", rt.method, rt.path, anchors[rt.id], rt.summary)
	}
	described := map[string]route{}
	for _, rt := range routes(handlers{}) {
		writeRoute(&b, rt, described)
	}
	writeCodes(&b)
	_, err := w.Write(b.Bytes())
	return err
}

// anchors are the ids that Markdown renderers give the routes' headings, by the
// routes' ids. Equal ones are numbered.
func anchors() map[string]string {
	all, times := map[string]string{}, map[string]int{}
	for _, rt := range routes(handlers{}) {
		id := anchor(rt)
		all[rt.id] = id
		if n := times[id]; n > 0 {
			all[rt.id] = fmt.Sprintf("%s-%d", id, n)
		}
		times[id]++
	}
	return all
}

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

func writeRoute(b *bytes.Buffer, rt route, described map[string]route) {
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
		fmt.Fprintf(b, "| %d %s | %s | %s |\n", a.status, statusText(a.status), a.about, strings.Join(media, ", "))
	}
	for _, a := range answers {
		for _, c := range a.body {
			if c.example != "" {
				writeExample(b, fmt.Sprintf("Answer %d", a.status), c)
			}
		}
	}
	writeKeys(b, rt, described)
}

// statusText is the name of a status; 499 has none of its own, but nginx's.
func statusText(status int) string {
	if status == statusClientLeft {
		return "Client Closed Request"
	}
	return http.StatusText(status)
}

func writeExample(b *bytes.Buffer, what string, c content) {
	fmt.Fprintf(b, "\n%s, `%s`", what, c.media)
	if c.example == "" {
		b.WriteString(".\n")
		return
	}
	fmt.Fprintf(b, ":\n\n```\n%s\n```\n", c.example)
}

// writeKeys describes the objects that a route reads and answers with, each at
// the first route that has it.
func writeKeys(b *bytes.Buffer, rt route, described map[string]route) {
	all := slices.Clone(rt.body)
	for _, a := range rt.answers {
		all = append(all, a.body...)
	}
	var names []string
	for _, c := range all {
		names = refNames(c.schema, names)
	}
	for _, name := range names {
		if name == "Error" || name == "Problem" || name == "Row" {
			continue // described at the end, or free
		}
		if first, ok := described[name]; ok {
			fmt.Fprintf(b, "\n%s: as of [%s %s](#%s).\n", name, first.method, first.path, anchors()[first.id])
			continue
		}
		described[name] = rt
		fmt.Fprintf(b, "\n%s:\n\n", name)
		writeProperties(b, schemas[name])
	}
}

// refNames adds the names of the schemas that s refers to, each before those
// that it refers to itself.
func refNames(s schema, names []string) []string {
	if to, ok := s["$ref"].(string); ok {
		name := to[strings.LastIndexByte(to, '/')+1:]
		if slices.Contains(names, name) {
			return names
		}
		return refNames(schemas[name], append(names, name))
	}
	if items, ok := s["items"].(schema); ok {
		names = refNames(items, names)
	}
	forms, _ := s["anyOf"].([]any)
	for _, form := range forms {
		names = refNames(form.(schema), names)
	}
	properties, _ := s["properties"].(schema)
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		names = refNames(properties[key].(schema), names)
	}
	return names
}

// refName is the name of the schema that s refers to, or "".
func refName(s schema) string {
	to, _ := s["$ref"].(string)
	return to[strings.LastIndexByte(to, '/')+1:]
}

func writeProperties(b *bytes.Buffer, s schema) {
	properties, _ := s["properties"].(schema)
	required, _ := s["required"].([]any)
	b.WriteString("| Key | Type | |\n|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		p := properties[name].(schema)
		about, _ := p["description"].(string)
		if !slices.Contains(required, any(name)) {
			about = strings.TrimSpace("Optional. " + about)
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, typeText(p), about)
	}
}

func typeText(s schema) string {
	if name := refName(s); name != "" {
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
	b.WriteString("An error is an object with these keys, or its text alone on /v1/sql for clients that do not accept JSON. " +
		"Calls with an envelope have a ToolResult in its place; /v1/embeddings and the routes of chats have errors in the form of " +
		"OpenAI or Anthropic; the statuses are the same:\n\n")
	writeProperties(b, schemas["Error"])
	b.WriteString("\n| Code | Status | |\n|---|---|---|\n")
	for _, row := range errorCodes {
		fmt.Fprintf(b, "| `%s` | %d | %s |\n", row.code, row.status, row.text)
	}
	b.WriteString("\nProblem:\n\n")
	writeProperties(b, schemas["Problem"])
}
