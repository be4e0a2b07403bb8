package sqlapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// decodeEnvelope adds the body of :invoke to a call. No body is an empty
// envelope.
func decodeEnvelope(body []byte, c *registry.Call) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	err := decodeObject(body, field{"schema_version", decodeVersion}, field{"args", &c.Arguments},
		field{"context", func(d *json.Decoder) error { return decodeContext(d, &c.Scope.Caller) }},
		field{"trace", func(d *json.Decoder) error { return decodeTrace(d, &c.Scope.Trace) }},
		field{"dry_run", &c.DryRun})
	if err != nil {
		return err
	}
	return checkCaller(&c.Scope.Caller)
}

// decodeVersion reads a schema_version. Versions of one major number agree.
func decodeVersion(d *json.Decoder) error {
	var version *string
	if err := d.Decode(&version); err != nil || version == nil {
		return err
	}
	major, _, _ := strings.Cut(*version, ".")
	ours, _, _ := strings.Cut(tools.SchemaVersion, ".")
	if major != ours {
		return newError(codeSchemaVersion, fmt.Sprintf("use %q", tools.SchemaVersion), "the schema_version %.40q is not spoken here", *version)
	}
	return nil
}

// decodeContext puts the body's context over what the headers say. Keys that
// are not known are for others and left out.
func decodeContext(d *json.Decoder, s *caller.Caller) error {
	err := d.Decode(s)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field == "":
		return fmt.Errorf("context is a JSON %s, not an object", wrong.Value)
	case errors.As(err, &wrong):
		return fmt.Errorf("context.%s is a JSON %s, not a string", wrong.Field, wrong.Value)
	}
	return err
}

func decodeTrace(d *json.Decoder, t *caller.Trace) error {
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil || string(raw) == "null" {
		return err
	}
	return decodeObject(raw, field{"flow_id", &t.FlowID}, field{"step_id", &t.StepID})
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
