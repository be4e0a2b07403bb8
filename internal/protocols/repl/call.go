package repl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/kit/visible"
	"github.com/spiced-sql/spiced/tools"
)

// Limits of a call.
const (
	maxToolAnswer = 256 << 20 // bytes of an answer; the server's limit of results is lower
	maxToolLine   = 60        // characters of a description in a list of tools
)

// CallOptions configures [Call]. Format is "json" for the whole answer; otherwise the
// result alone is written.
type CallOptions struct {
	Options
	Tool      string
	Arguments []string        // name=value, converted by the tool's parameters
	JSON      json.RawMessage // all arguments, in place of Arguments; nil: none
	Flow      string          // sent as trace.flow_id, or ""
	Step      string          // sent as trace.step_id, or ""
	Trace     bool            // report the requests on Err
	DryRun    bool            // check everything and call nothing
}

// Call reads a tool's definition, calls the tool, and writes its result to Out. A call
// that fails is a [*tools.Error].
func Call(ctx context.Context, o CallOptions) error {
	c, err := newToolClient(o)
	if err != nil {
		return err
	}
	def, err := c.definition(ctx)
	if err != nil {
		return err
	}
	args := o.JSON
	if args == nil {
		if args, err = arguments(def.Parameters, o.Arguments); err != nil {
			return err
		}
	}
	answer, raw, err := c.invoke(ctx, args)
	if err != nil {
		return err
	}
	if o.Format == "json" {
		if err := writeIndented(o.Out, raw); err != nil {
			return err
		}
	}
	for _, notice := range answer.Notices {
		fmt.Fprintln(o.Err, "note:", printable(notice))
	}
	if answer.Rows != nil && answer.Rows.Truncated {
		fmt.Fprintf(o.Err, "note: the result has more rows; these are the first %d\n", answer.Rows.Returned)
	}
	switch {
	case !answer.OK:
		return answer.failure()
	case o.Format == "json":
		return nil
	}
	return writeIndented(o.Out, answer.Result)
}

// ListTools writes the names and descriptions of the server's tools, as planners get them.
// Format is "json" for JSON.
func ListTools(ctx context.Context, o CallOptions) error {
	c, err := newToolClient(o)
	if err != nil {
		return err
	}
	body, err := c.get(ctx, c.base)
	if err != nil {
		return err
	}
	if o.Format == "json" {
		return writeIndented(o.Out, body)
	}
	var list []tools.PlannerView
	if err := json.Unmarshal(body, &list); err != nil {
		return fmt.Errorf("the list of tools from %s: %w", c.base, err)
	}
	t := tabwriter.NewWriter(o.Out, 0, 0, 2, ' ', 0)
	for _, tool := range list {
		fmt.Fprintf(t, "%s\t%s\n", printable(tool.Name), printable(truncate.Line(tool.Description, maxToolLine)))
	}
	return t.Flush()
}

// DescribeTool writes the definition of a tool as JSON.
func DescribeTool(ctx context.Context, o CallOptions) error {
	c, err := newToolClient(o)
	if err != nil {
		return err
	}
	body, err := c.describe(ctx)
	if err != nil {
		return err
	}
	return writeIndented(o.Out, body)
}

// toolClient sends requests to /v1/tools.
type toolClient struct {
	CallOptions
	client *client
	base   string
}

func newToolClient(o CallOptions) (*toolClient, error) {
	c, err := newClient(o.Options)
	if err != nil {
		return nil, err
	}
	return &toolClient{o, c, c.base.String() + "/tools"}, nil
}

func (c *toolClient) definition(ctx context.Context) (*tools.Definition, error) {
	body, err := c.describe(ctx)
	if err != nil {
		return nil, err
	}
	var def tools.Definition
	if err := json.Unmarshal(body, &def); err != nil {
		return nil, fmt.Errorf("the definition of %s from %s: %w", c.Tool, c.base, err)
	}
	return &def, nil
}

// routeNames are the names of tools whose path, below /v1/tools, is another route.
var routeNames = []string{"search"}

// describe reads the definition of the tool, from the list if another route has its path.
func (c *toolClient) describe(ctx context.Context) ([]byte, error) {
	if !slices.Contains(routeNames, c.Tool) {
		return c.get(ctx, c.base+"/"+escaped(c.Tool))
	}
	body, err := c.get(ctx, c.base+"?view=full")
	if err != nil {
		return nil, err
	}
	var list []json.RawMessage
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("the list of tools from %s: %w", c.base, err)
	}
	for _, raw := range list {
		var tool struct{ Name string }
		if json.Unmarshal(raw, &tool) == nil && tool.Name == c.Tool {
			return raw, nil
		}
	}
	return nil, tools.NewError(errcode.ToolNotFound, fmt.Sprintf("there is no tool %q", c.Tool), "--list lists the tools")
}

// get reads what is at an address.
func (c *toolClient) get(ctx context.Context, address string) ([]byte, error) {
	status, body, err := c.send(ctx, http.MethodGet, address, nil)
	if err != nil || status == http.StatusOK {
		return body, err
	}
	return nil, refusal(status, body)
}

// toolAnswer is what the server answers to a call.
type toolAnswer struct {
	OK      bool
	Result  json.RawMessage
	Error   *tools.Error
	Notices []string
	*tools.Rows
}

// failure is the error of a call that failed; of wrong arguments, with right ones.
func (a toolAnswer) failure() error {
	if len(a.Error.Example) > 0 && a.Error.Hint == "" {
		a.Error.Hint = fmt.Sprintf("for example --json '%s'", a.Error.Example)
	}
	return safe(a.Error)
}

// safe is an error of a server without what would move the cursor or begin a line.
func safe(e *tools.Error) *tools.Error {
	shown := *e
	shown.Message, shown.Hint = visible.Escape(e.Message), visible.Escape(e.Hint)
	return &shown
}

// invoke calls the tool. raw is the whole answer.
func (c *toolClient) invoke(ctx context.Context, args json.RawMessage) (answer toolAnswer, raw []byte, err error) {
	envelope, err := json.Marshal(struct {
		SchemaVersion string          `json:"schema_version"`
		Args          json.RawMessage `json:"args"`
		Trace         caller.Trace    `json:"trace"`
		DryRun        bool            `json:"dry_run,omitempty"`
	}{tools.SchemaVersion, args, caller.Trace{FlowID: c.Flow, StepID: c.Step}, c.DryRun})
	if err != nil {
		return answer, nil, err
	}
	status, raw, err := c.send(ctx, http.MethodPost, c.base+"/"+escaped(c.Tool)+":invoke", envelope)
	if err != nil {
		return answer, nil, err
	}
	if json.Unmarshal(raw, &answer) != nil || answer.OK == (answer.Error != nil) {
		return answer, nil, refusal(status, raw)
	}
	return answer, raw, nil
}

// send sends one request and reads the whole answer.
func (c *toolClient) send(ctx context.Context, method, address string,
	body []byte,
) (status int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	for name, values := range c.client.header {
		req.Header[name] = values
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	began := time.Now()
	resp, err := c.client.http.Do(req)
	if err != nil {
		return 0, nil, c.client.unreachable(ctx, err)
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, maxToolAnswer+1))
	switch {
	case err != nil && ctx.Err() != nil:
		return 0, nil, ctx.Err()
	case err != nil:
		return 0, nil, fmt.Errorf("the answer was cut off: %w", err)
	case len(answer) > maxToolAnswer:
		return 0, nil, fmt.Errorf("the answer has more than %d MiB", maxToolAnswer>>20)
	}
	if c.Trace {
		fmt.Fprintf(c.Err, "trace: %s %s: %s in %s, request %s, generation %s\n", method, req.URL.EscapedPath(), resp.Status,
			time.Since(began).Round(10*time.Microsecond), printable(resp.Header.Get("X-Request-Id")),
			printable(resp.Header.Get(generationHeader)))
	}
	return resp.StatusCode, answer, nil
}

// escaped is a tool's name in a path; that of a server's tool may be server/tool.
func escaped(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return strings.Join(parts, "/")
}

// refusal is the error of an answer that is not OK.
func refusal(status int, body []byte) error {
	var e tools.Error
	if json.Unmarshal(body, &e) == nil && e.Message != "" {
		return safe(&e)
	}
	return fmt.Errorf("the server answered %d %s: %s", status, http.StatusText(status),
		truncate.Line(string(body), maxShownJSON))
}

// writeIndented writes JSON with all digits, indented, and nothing hidden.
func writeIndented(w io.Writer, raw []byte) error {
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(raw), "", "  "); err != nil {
		return errors.New("the server's answer is not JSON")
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, visible.EscapeJSON(b.String()))
	return err
}
