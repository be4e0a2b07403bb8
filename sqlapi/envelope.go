package sqlapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// invocation is the body of :invoke.
type invocation struct {
	SchemaVersion schemaVersion   `json:"schema_version,omitempty" type:"string" doc:"Of this shape: 0.1.0. Another major number is refused."`
	Args          json.RawMessage `json:"args,omitempty" type:"object" doc:"The arguments; {} if left out."`
	Context       callerContext   `json:"context,omitzero" doc:"On whose behalf the call is made; keys in another spelling, such as spaceId, are the same; others that are not listed are ignored, and refused where they are nearly one of these."`
	Trace         caller.Trace    `json:"trace,omitzero"`
	DryRun        bool            `json:"dry_run,omitempty" doc:"Check everything and report what would be done, without doing it."`
}

// decodeEnvelope adds the body of :invoke to a call. No body is an empty
// envelope.
func decodeEnvelope(body []byte, c *registry.Call) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	b := invocation{Context: callerContext{Caller: c.Scope.Caller}}
	if err := decodeObject(body, &b); err != nil {
		return err
	}
	c.Arguments, c.DryRun = b.Args, b.DryRun
	c.Scope.Caller, c.Scope.Trace = b.Context.Caller, b.Trace
	return checkCaller(&c.Scope.Caller)
}

// schemaVersion is a version whose major number must be that of [tools.SchemaVersion].
type schemaVersion string

// UnmarshalJSON refuses versions of other major numbers.
func (v *schemaVersion) UnmarshalJSON(raw []byte) error {
	if err := json.Unmarshal(raw, (*string)(v)); err != nil || string(raw) == "null" {
		return err
	}
	major, _, _ := strings.Cut(string(*v), ".")
	ours, _, _ := strings.Cut(tools.SchemaVersion, ".")
	if major != ours {
		return newError(codeSchemaVersion, fmt.Sprintf("use %q", tools.SchemaVersion),
			"the schema_version %.40q is not supported", *v)
	}
	return nil
}

// callerContext is the caller by its headers, and then by the context of a body.
type callerContext struct {
	_ struct{} `open:"true"`
	caller.Caller
}

// contextKeys are the keys of a context, by their spelling without case and underscores:
// clients also write spaceId.
var contextKeys = map[string]string{
	"userid": "user_id", "spaceid": "space_id", "requestid": "request_id", "sessionid": "session_id", "agent": "agent",
	"model": "model",
}

// UnmarshalJSON replaces what the body says. A key that is nearly a known one is refused, as it
// may restrict what the call sees; others are left out.
func (c *callerContext) UnmarshalJSON(raw []byte) error {
	var keys map[string]json.RawMessage
	if json.Unmarshal(raw, &keys) == nil {
		named := map[string]json.RawMessage{}
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			name, known := contextKeys[strings.ReplaceAll(strings.ToLower(key), "_", "")]
			near := nearest.Name(key, slices.Sorted(maps.Values(contextKeys)))
			switch {
			case !known && near != "":
				return fmt.Errorf("context has no key %.40q; did you mean %q?", key, near)
			case known && named[name] != nil && !bytes.Equal(named[name], keys[key]):
				return fmt.Errorf("context has %s twice, with different values", name)
			case known:
				named[name] = keys[key]
			}
		}
		raw, _ = json.Marshal(named) // of valid JSON
	}
	err := json.Unmarshal(raw, &c.Caller)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field == "":
		return fmt.Errorf("context is a JSON %s, not an object", wrong.Value)
	case errors.As(err, &wrong):
		return fmt.Errorf("context.%s is a JSON %s, not a string", wrong.Field, wrong.Value)
	}
	return err
}

// checkCaller checks what a body says of its caller.
func checkCaller(s *caller.Caller) error {
	for _, f := range [...]named{
		{"context.user_id", &s.UserID},
		{"context.space_id", &s.SpaceID},
		{"context.request_id", &s.RequestID},
		{"context.session_id", &s.SessionID},
		{"context.agent", &s.Agent},
		{"context.model", &s.Model},
		{"trace.flow_id", &s.Trace.FlowID},
		{"trace.step_id", &s.Trace.StepID},
	} {
		if err := checkWord(f.name, *f.word); err != nil {
			return err
		}
	}
	return nil
}
