package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// httpFile sends the requests of a file of testdata: a line ### before each, its method and
// path, its headers, a blank line and its body. {id} is the last id that an answer had.
func httpFile(name string) func(context.Context, *side) ([]exchange, error) {
	return func(ctx context.Context, s *side) ([]exchange, error) {
		text, err := os.ReadFile(s.testdata(name))
		if err != nil {
			return nil, err
		}
		var all []exchange
		id := ""
		for _, entry := range strings.Split("\n"+string(text), "\n###")[1:] {
			_, entry, _ = strings.Cut(entry, "\n") // a comment
			entry = strings.ReplaceAll(entry, "{id}", id)
			answer := s.request(ctx, entry)
			for ; strings.HasPrefix(entry, "GET ") && runs.MatchString(answer) && ctx.Err() == nil; <-time.After(10 * time.Millisecond) {
				answer = s.request(ctx, entry)
			}
			if m := anID.FindStringSubmatch(answer); m != nil && strings.HasPrefix(entry, "POST ") {
				id = m[1]
			}
			all = append(all, exchange{s.mask(strings.TrimSpace(entry)), s.mask(answer + "\n" + s.outward())})
		}
		return all, nil
	}
}

var (
	anID = regexp.MustCompile(`"(?:query_id|approval_id|id)": ?"([^"]+)"`)
	runs = regexp.MustCompile(`"status":"(RUNNING|QUEUED|PENDING)"`) // of a submitted query
)

func (s *side) testdata(name string) string {
	return filepath.Join(s.root, "internal/test/lab/replay/testdata", name)
}

// request sends a request, written as in a file of testdata, and returns its answer as text.
func (s *side) request(ctx context.Context, text string) string {
	head, body, _ := strings.Cut(strings.TrimLeft(text, "\n"), "\n\n")
	first, headers, _ := strings.Cut(head, "\n")
	method, path, _ := strings.Cut(strings.TrimSpace(first), " ")
	req, err := http.NewRequestWithContext(ctx, method, s.server.URL("http")+path, strings.NewReader(strings.TrimSuffix(body, "\n")))
	if err != nil {
		return err.Error()
	}
	req.Header.Set("X-API-Key", writerKey)
	if strings.HasPrefix(body, "{") {
		req.Header.Set("Content-Type", "application/json")
	}
	for line := range strings.Lines(headers) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	answer := fmt.Sprintf("%s %v\n", res.Status, err)
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range res.Header {
			if !yield(name) {
				return
			}
		}
	}) {
		if !slices.Contains([]string{"Date", "X-Request-Id", "Content-Length"}, name) {
			answer += name + ": " + strings.Join(res.Header[name], ", ") + "\n"
		}
	}
	if res.Header.Get("Content-Type") == arrowType {
		return answer + arrowText(got)
	}
	return answer + string(got)
}

// reload edits the Spicepod: with a further function, with faults, and back.
func reload(ctx context.Context, s *side) (all []exchange, err error) {
	path := filepath.Join(s.dir, "spicepod.yaml")
	before, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	added := "functions:\n  - { name: added, from: sql, description: New., signature: { args: [], returns: int64 }, body: '1' }\n"
	for _, edit := range []struct{ name, from, to string }{
		{"a function", "functions:\n", added},
		{"another body", "body: x + x", "body: x * 3"},
		{"another type", "returns: float64 }, body: x + x", "returns: utf8 }, body: \"x::VARCHAR\""},
		{"a view less", "name: by_city", "name: by_town"},
		{"a fault of YAML", "functions:\n", "functions: [\n"},
		{"an unknown key", "functions:\n", "funktions:\n"},
		{"a fault of SQL", "body: x + x", "body: x +"},
		{"a name twice", "name: greeting", "name: twice"},
		{"another description", "description: A greeting.", "description: Greets someone."},
		{"a model less", "name: plain", "name: simple"},
		{"nothing", "", ""},
	} {
		if err := os.WriteFile(path, []byte(strings.Replace(string(before), edit.from, edit.to, 1)), 0o644); err != nil {
			return nil, err
		}
		for _, request := range []string{
			"POST /v1/reload", "GET /v1/status", "GET /v1/ready", "POST /v1/sql\n\nSELECT twice(2) AS t", "POST /v1/sql\n\nSELECT added() AS a",
			"POST /v1/sql\n\nSELECT count(*) AS n FROM by_city", "GET /v1/tools/greeting", "GET /v1/functions", "GET /v1/models",
			"POST /v1/sql\n\nFROM spiced.load_errors ORDER BY ALL",
		} {
			all = append(all, exchange{edit.name + ": " + request, s.mask(s.request(ctx, request))})
			if err := s.settle(ctx); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// warnings are the lines of the log that warn, without their order.
func warnings(_ context.Context, s *side) (all []exchange, err error) {
	var lines []string
	for line := range strings.Lines(s.server.Logged()) {
		if strings.Contains(line, `"level":"WARN"`) || strings.Contains(line, `"level":"ERROR"`) {
			lines = append(lines, s.mask(strings.TrimSpace(line)))
		}
	}
	slices.Sort(lines)
	for _, line := range slices.Compact(lines) {
		all = append(all, exchange{"a line of the log", line})
	}
	return all, nil
}
