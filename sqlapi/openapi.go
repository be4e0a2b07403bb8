package sqlapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// mustOpenAPI makes the document of the routes. It fails only on a table that
// cannot be encoded, which the tests would see.
func mustOpenAPI(routes []route, version string) []byte {
	paths := map[string]map[string]any{}
	for _, rt := range routes {
		if paths[rt.path] == nil {
			paths[rt.path] = map[string]any{}
		}
		paths[rt.path][strings.ToLower(rt.method)] = operation(rt)
	}
	document, err := json.Marshal(map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{
			"title": "spiced", "version": version,
			"description": "SQL, tools and chats over HTTP, and what the runtime is made of.",
		},
		"paths": paths,
		"components": map[string]any{"schemas": schemas(), "securitySchemes": map[string]any{
			"key":    map[string]any{"type": "apiKey", "in": "header", "name": "X-API-Key"},
			"bearer": map[string]any{"type": "http", "scheme": "bearer"},
		}},
	})
	if err != nil {
		panic(fmt.Sprintf("sqlapi: the table of routes cannot be encoded: %v", err))
	}
	return document
}

// serveOpenAPI makes the document for the first request: to make it takes longer than all
// else that the API does at the start.
func serveOpenAPI(version string) handler {
	document := sync.OnceValue(func() []byte { return mustOpenAPI(routes(handlers{}), version) })
	return func(w http.ResponseWriter, _ *http.Request) error {
		return writeBytes(w, "application/json", document())
	}
}

func operation(rt route) map[string]any {
	op := map[string]any{"operationId": rt.id, "tags": []string{rt.tag}, "summary": rt.summary}
	if rt.about != "" {
		op["description"] = rt.about
	}
	if !rt.is.has(public) { // or without a key, where none are declared
		op["security"] = []any{map[string]any{}, map[string]any{"key": []any{}}, map[string]any{"bearer": []any{}}}
	}
	params := []any{}
	for _, p := range rt.allParams() {
		params = append(params, map[string]any{
			"name": p.name, "in": p.in, "required": p.in == "path" || p.name == headerMCPSession, "description": p.about,
			"schema": p.schema,
		})
	}
	if len(params) > 0 {
		op["parameters"] = params
	}
	if len(rt.body) > 0 {
		op["requestBody"] = map[string]any{"required": !rt.is.has(bodyOptional), "content": contents(rt.body)}
	}
	answers := map[string]any{}
	for _, a := range rt.allAnswers() {
		answers[strconv.Itoa(a.status)] = map[string]any{"description": a.about, "content": contents(a.body)}
	}
	op["responses"] = answers
	return op
}

func contents(list []content) map[string]any {
	out := map[string]any{}
	for _, c := range list {
		entry := map[string]any{}
		if c.schema != nil {
			entry["schema"] = c.schema
		}
		switch {
		case c.example == "":
		case strings.HasSuffix(c.media, "/json") && json.Valid([]byte(c.example)):
			entry["example"] = json.RawMessage(c.example)
		default:
			entry["example"] = c.example
		}
		out[c.media] = entry
	}
	return out
}
