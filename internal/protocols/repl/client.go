package repl

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/httpx"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
)

// format is a result format, by the name that the user enters.
type format string

// Result formats.
const (
	table    format = "table"
	box      format = "box"
	markdown format = "markdown"
	csv      format = "csv"
	asJSON   format = "json"
	ndjson   format = "ndjson"
)

// formats are the names of all formats.
var formats = []string{string(table), string(box), string(markdown), string(csv), string(asJSON), string(ndjson)}

// Formats returns the names of the formats of results, for a flag.
func Formats() []string { return slices.Clone(formats) }

func parseFormat(name string) (format, error) {
	switch f := format(strings.ToLower(name)); f {
	case "":
		return table, nil
	case table, box, markdown, csv, asJSON, ndjson:
		return f, nil
	}
	return "", fmt.Errorf("unknown format %q: %s", name,
		nearest.Hint(name, formats, "the formats are "+strings.Join(formats, ", ")))
}

// accept is the Accept header for a format. The second type is for errors.
func (f format) accept() string {
	switch f {
	case csv:
		return "text/csv, application/json;q=0.1"
	case asJSON:
		return "application/json"
	case ndjson:
		return "application/x-ndjson, application/json;q=0.1"
	}
	return cellsType + ", text/plain;q=0.5, application/json;q=0.1" // an older server answers with text
}

// generationHeader is the response header with the generation; another one may
// have other tables and functions.
const generationHeader = "X-Spiced-Generation"

// client sends requests to the routes below /v1/.
type client struct {
	http   *http.Client
	base   *url.URL // of /v1
	header http.Header
	seen   func(generation string) // called with the generation of each response; may be nil
}

func newClient(o Options) (*client, error) {
	u, err := ServerURL(o.URL)
	if err != nil {
		return nil, err
	}
	plain := http.Client{}
	if o.Client != nil {
		plain = *o.Client
	}
	// A redirect would send the key to a server that the user did not name.
	plain.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client{http: &plain, base: u.JoinPath("v1"), header: o.Header}, nil
}

// ServerURL parses the address of a server: a URL or host:port, which is [DefaultURL] if
// it is "".
func ServerURL(address string) (*url.URL, error) {
	full := cmp.Or(address, DefaultURL)
	if !strings.Contains(full, "://") {
		if _, _, err := net.SplitHostPort(full); err == nil {
			full = "http://" + full
		}
	}
	u, err := url.Parse(full)
	if err != nil {
		return nil, fmt.Errorf("server address: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("server address %q: want http://host:port or host:port", address)
	}
	return u, nil
}

// copy runs one statement and writes its result as it arrives. A table is laid out by
// r.
func (c *client) copy(ctx context.Context, r *renderer, sql string) error {
	resp, err := c.send(ctx, r.format, sql)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == cellsType {
		if err := r.run(resp.Body); err != nil && ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			return err
		}
		return nil
	}
	out := &endOfLine{w: r.out}
	if _, err := io.Copy(out, resp.Body); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if out.err != nil {
			return fmt.Errorf("write result: %w", out.err)
		}
		return fmt.Errorf("the result was cut off: %w", err)
	}
	return out.finish()
}

// rows runs one statement and passes each row to yield, up to limit rows.
func (c *client) rows(ctx context.Context, sql string, limit int, yield func(row []byte) error) error {
	resp, err := c.send(ctx, ndjson, sql)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxStatement)
	for n := 0; n < limit && lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if err := yield(lines.Bytes()); err != nil {
			return fmt.Errorf("read answer: %w", err)
		}
	}
	return lines.Err()
}

// send posts one statement and returns the response if its status is 200.
func (c *client) send(ctx context.Context, f format, sql string) (*http.Response, error) {
	return c.request(ctx, http.MethodPost, "sql", strings.NewReader(sql), http.Header{
		"Content-Type": {"text/plain; charset=utf-8"},
		"Accept":       {f.accept()},
	})
}

// request sends a request to a path below /v1, which may have a query, and returns the response if
// its status is 200.
func (c *client) request(ctx context.Context, method, path string, body io.Reader,
	header http.Header,
) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base.String()+"/"+path, body)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, c.header)
	maps.Copy(req.Header, header)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if c.seen != nil {
		c.seen(resp.Header.Get(generationHeader))
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return nil, readError(resp)
	}
	return resp, nil
}

// unreachable names the server that did not respond.
func (c *client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("no answer from %s: %w (start it with spiced serve, or correct --url)",
		strings.TrimSuffix(c.base.Redacted(), "/v1"), httpx.Cause(err))
}

// readError reads the error of a response, JSON or plain text.
func readError(resp *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "application/json" {
		if e := errorIn(body); e != nil {
			e.Status = resp.StatusCode
			return e
		}
	}
	text := strings.TrimSpace(string(body))
	return &ServerError{Status: resp.StatusCode, Message: cmp.Or(text, "the server answered "+resp.Status)}
}

// errorIn returns the error that a JSON document holds, in the form of the server's routes or in
// that of OpenAI's, or nil.
func errorIn(document []byte) *ServerError {
	type wire struct {
		Code, Message, Hint string
		Line, Column        int
	}
	var own struct {
		wire
		Error wire
	}
	if json.Unmarshal(document, &own) != nil {
		return nil
	}
	e := own.wire
	if own.Error.Message != "" {
		e = own.Error
	}
	if e.Message == "" {
		return nil
	}
	return &ServerError{Code: e.Code, Message: e.Message, Hint: e.Hint, Line: e.Line, Column: e.Column}
}

// endOfLine writes a result and ends it with a line break, so that the prompt
// starts a new line.
type endOfLine struct {
	w    io.Writer
	last byte
	err  error
}

func (e *endOfLine) Write(p []byte) (int, error) {
	n, err := e.w.Write(p)
	if n > 0 {
		e.last = p[n-1]
	}
	e.err = err
	return n, err
}

func (e *endOfLine) finish() error {
	if e.last == '\n' || e.last == 0 {
		return nil
	}
	_, err := e.w.Write([]byte{'\n'})
	return err
}
