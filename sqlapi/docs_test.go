package sqlapi

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/schema"
	"github.com/spiced-sql/spiced/internal/test/golden"
)

const docsHead = `# HTTP API

<!-- Made from the table of routes in sqlapi/routes.go by ` + "`go test ./sqlapi -run TestDocs -update`" + `. Do not edit. -->

The default address is 127.0.0.1:8090. A machine-readable description is at ` + "`GET /v1/openapi.json`" + `.

## Protection

Over loopback, the Host header must be localhost, an address, or a name of ` + "`runtime.mcp.allowed_hosts`" + `, and a
request from a page of another site is refused, whatever its method: a web page cannot reach the runtime on a developer's machine, nor its
metrics. That includes the images, scripts and frames of a page, which browsers mark with ` + "`Sec-Fetch-Site`" + `. A link to a GET route can be followed:
the page that has the link cannot read the answer. ` +
	"`runtime.cors`" + ` lets the pages of the sites that it names through; without it there are no CORS headers.

Every response has an ` + "`X-Request-Id`" + `, the client's own if it sent one; the log has it too. The log has a
fingerprint of each statement, never a literal.

## Keys

Where ` + "`runtime.auth.api-key`" + ` has keys, every route but ` + "`/`, `/health`, `/v1/ready` and `/v1/schema/spicepod.json`" + ` needs one: ` + "`X-API-Key: KEY`" + ` or
` + "`Authorization: Bearer KEY`" + `. Without one the answer is 401. A key that ends in ` + "`:rw`" + ` may also write: INSERT, UPDATE and DELETE
on datasets with ` + "`access: read_write`" +
	`, refreshes, reloads. With any other key, a statement that writes is refused like every statement that the caller may not run (400), and
other routes answer 403. A request over a principal's limits (requests per second, concurrent requests) is answered with 429 and Retry-After. Requests, queries and results
belong to the key and the user who made them; no one else can see them.

## Cached results

` + "`POST /v1/sql`" + ` returns the last result of an equal statement for ` + "`runtime.caching.sql_results.item_ttl`" + `, as long as no
new generation comes between, and no refresh of a dataset or view that the statement reads, also through views and functions. ` + "`Results-Cache-Status`" +
	` says where the result comes from: ` + "`HIT`, `MISS`, `STALE`" + ` (it is
refreshed in the background) or ` +
	"`BYPASS`" + `. A result is never cached if the statement may return another one next time (random(), now(), a volatile function, the
runtime's own tables), if its rows depend on the caller or are in a DuckDB file that statements write, or if it has named parameters or an object as a parameter;
` + "`Cache-Control: no-cache`" + ` requests a new result.

## On whose behalf

The routes of SQL, tools and chats accept headers that name the user for whom a request is made: ` +
	"`X-Spiced-User`, `X-Spiced-Space`,\n`X-Spiced-Session` and " +
	"`X-Spiced-Agent`" + `. Each is a text of at most 128 bytes. They decide which tools are available, row filters and column masks can
use them, and they are recorded with each call. With keys, only a principal with ` + "`on_behalf_of`" + ` may
name a user other than its own. The context in a body overrides the headers. Responses of these routes have an
` + "`X-Spiced-Generation`" + `: the generation of the Spicepod that served the request.

`

// TestDocs compares docs/http.md with the table of routes.
func TestDocs(t *testing.T) {
	d := docsWriter{schemas: schemas(), anchors: anchors(), described: map[string]route{}}
	d.WriteString(docsHead)
	d.WriteString("## Routes\n\n| Route | |\n|---|---|\n")
	for _, rt := range routes(handlers{}) {
		fmt.Fprintf(&d, "| [%s %s](#%s) | %s |\n", rt.method, rt.path, d.anchors[rt.id], rt.summary)
	}
	for _, rt := range routes(handlers{}) {
		d.route(rt)
	}
	d.codes()
	golden.Equal(t, "../docs/http.md", d.Bytes())
}

// docsWriter writes each schema at the first route that has it.
type docsWriter struct {
	bytes.Buffer
	schemas   schema.Schema
	anchors   map[string]string // by a route's id
	described map[string]route  // by a schema's name
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

func (b *docsWriter) route(rt route) {
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
		b.example("Body", c)
	}
	b.WriteString("\n| Status | | Content |\n|---|---|---|\n")
	answers := rt.ownAnswers()
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
				b.example(fmt.Sprintf("Answer %d", a.status), c)
			}
		}
	}
	b.keys(rt)
}

// statusText is the name of a status; 499 has none of its own, but nginx's.
func statusText(status int) string {
	if status == statusClientLeft {
		return "Client Closed Request"
	}
	return http.StatusText(status)
}

func (b *docsWriter) example(what string, c content) {
	fmt.Fprintf(b, "\n%s, `%s`", what, c.media)
	if c.example == "" {
		b.WriteString(".\n")
		return
	}
	fmt.Fprintf(b, ":\n\n```\n%s\n```\n", c.example)
}

// keys describes the objects that a route reads and answers with, each at
// the first route that has it.
func (b *docsWriter) keys(rt route) {
	all := slices.Clone(rt.body)
	for _, a := range rt.ownAnswers() {
		all = append(all, a.body...)
	}
	var names []string
	for _, c := range all {
		names = b.refNames(c.schema, names)
	}
	for _, name := range names {
		if name == "Error" || name == "Problem" || name == "Row" {
			continue // described at the end, or free
		}
		if first, ok := b.described[name]; ok {
			fmt.Fprintf(b, "\n%s: as of [%s %s](#%s).\n", name, first.method, first.path, b.anchors[first.id])
			continue
		}
		b.described[name] = rt
		fmt.Fprintf(b, "\n%s:\n\n", name)
		b.properties(b.schemas[name].(schema.Schema))
	}
}

// refNames adds the names of the schemas that s refers to, each before those
// that it refers to itself.
func (b *docsWriter) refNames(s schema.Schema, names []string) []string {
	if to, ok := s["$ref"].(string); ok {
		name := to[strings.LastIndexByte(to, '/')+1:]
		if slices.Contains(names, name) {
			return names
		}
		return b.refNames(b.schemas[name].(schema.Schema), append(names, name))
	}
	if items, ok := s["items"].(schema.Schema); ok {
		names = b.refNames(items, names)
	}
	forms, _ := s["anyOf"].([]any)
	for _, form := range forms {
		names = b.refNames(form.(schema.Schema), names)
	}
	properties, _ := s["properties"].(schema.Schema)
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		names = b.refNames(properties[key].(schema.Schema), names)
	}
	return names
}

// refName is the name of the schema that s refers to, or "".
func refName(s schema.Schema) string {
	to, _ := s["$ref"].(string)
	return to[strings.LastIndexByte(to, '/')+1:]
}

func (b *docsWriter) properties(s schema.Schema) {
	properties, _ := s["properties"].(schema.Schema)
	required, _ := s["required"].([]string)
	b.WriteString("| Key | Type | |\n|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		p := properties[name].(schema.Schema)
		about, _ := p["description"].(string)
		if !slices.Contains(required, name) {
			p = withoutNull(p)
			about, _ = p["description"].(string)
			about = strings.TrimSpace("Optional. " + about)
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, typeText(p), about)
	}
}

// withoutNull is the schema of an optional value, which null leaves out.
func withoutNull(s schema.Schema) schema.Schema {
	if forms, ok := s["anyOf"].([]any); ok && len(forms) == 2 {
		return forms[0].(schema.Schema)
	}
	s = maps.Clone(s)
	if types, ok := s["type"].([]string); ok && len(types) == 2 && types[1] == "null" {
		s["type"] = types[0]
	}
	if choices, ok := s["enum"].([]any); ok {
		var texts []string
		for _, c := range choices {
			if text, ok := c.(string); ok {
				texts = append(texts, text)
			}
		}
		s["enum"] = texts
	}
	return s
}

func typeText(s schema.Schema) string {
	if name := refName(s); name != "" {
		return name
	}
	switch t := s["type"].(type) {
	case string:
		items, ok := s["items"].(schema.Schema)
		if t == "array" && ok {
			return "list of " + typeText(items)
		}
		if enum, ok := s["enum"].([]string); ok {
			return strings.Join(enum, ", ")
		}
		return t
	case []string:
		return strings.Join(t, " or ")
	}
	return "any"
}

func (b *docsWriter) codes() {
	b.WriteString("\n## Errors\n\n")
	b.WriteString("In bodies, a key may be null instead of left out. An error is an object with these keys, or its text alone on /v1/sql for clients that do " +
		"not accept JSON. " +
		"Calls with an envelope have a ToolResult in its place; /v1/embeddings and the routes of chats have errors in the form of " +
		"OpenAI or Anthropic; the statuses are the same:\n\n")
	b.properties(b.schemas["Error"].(schema.Schema))
	b.WriteString("\n| Code | Status | |\n|---|---|---|\n")
	for _, row := range errorCodes {
		fmt.Fprintf(b, "| `%s` | %d | %s |\n", row.code, row.status, row.text)
	}
	b.WriteString("\nProblem:\n\n")
	b.properties(b.schemas["Problem"].(schema.Schema))
}
