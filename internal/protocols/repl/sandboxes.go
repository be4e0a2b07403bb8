package repl

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// SandboxOptions are what [Sandboxes], [BuildSandbox] and [SandboxPrompt] do.
type SandboxOptions struct {
	Options
	Sandbox string // "": all
}

// Sandboxes reads the sandboxes of the server, or one of them, into a list.
func Sandboxes(ctx context.Context, o SandboxOptions, list any) error {
	if o.Sandbox == "" {
		body, err := o.ask(ctx, http.MethodGet, "sandboxes")
		if err != nil {
			return err
		}
		return o.decode(body, list)
	}
	body, err := o.ask(ctx, http.MethodGet, "sandboxes", o.Sandbox)
	if err != nil {
		return err
	}
	return o.decode([]byte("["+string(body)+"]"), list)
}

// BuildSandbox has the server install the packages of a sandbox.
func BuildSandbox(ctx context.Context, o SandboxOptions) error {
	_, err := o.ask(ctx, http.MethodPost, "sandboxes", o.Sandbox, "build")
	return err
}

// SandboxPrompt returns the tools in a sandbox as XML.
func SandboxPrompt(ctx context.Context, o SandboxOptions) ([]byte, error) {
	return o.ask(ctx, http.MethodGet, "tools?format=xml&sandbox="+url.QueryEscape(o.Sandbox))
}

// ask sends a request below /v1 and returns the answer, whose status is 200.
func (o SandboxOptions) ask(ctx context.Context, method, route string, below ...string) ([]byte, error) {
	c, err := newToolClient(CallOptions{Options: o.Options})
	if err != nil {
		return nil, err
	}
	address := c.client.base.String() + "/" + route
	for _, part := range below {
		address += "/" + url.PathEscape(part)
	}
	status, body, err := c.send(ctx, method, address, nil)
	if err != nil || status == http.StatusOK {
		return body, err
	}
	return nil, refusal(status, body)
}

func (o SandboxOptions) decode(body []byte, list any) error {
	if err := json.Unmarshal(body, list); err != nil {
		return fmt.Errorf("the sandboxes of %s: %w", o.URL, err)
	}
	return nil
}
