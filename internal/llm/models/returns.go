package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// returns is what an agent answers tasks with: an object of a JSON Schema.
type returns struct {
	schema *tools.Schema
	raw    json.RawMessage // canonical
	format json.RawMessage // for providers that take the schema; nil: the others
}

// maxReturns limits the schema, which is sent with each task.
const maxReturns = 64 << 10

// returnsOf compiles `returns` of an agent; nil if it has none.
func returnsOf(declared spicepod.Agent) (*returns, error) {
	if declared.Returns == nil {
		return nil, nil
	}
	raw, err := tools.Encode(declared.Returns)
	if err != nil {
		return nil, err
	}
	if len(raw) > maxReturns {
		return nil, fmt.Errorf("the schema has %d bytes; the limit is %d", len(raw), maxReturns)
	}
	if declared.Returns["type"] != "object" {
		return nil, errors.New(`the schema is not that of an object: it has no "type: object"`)
	}
	if raw, err = tools.Canonical(raw); err != nil {
		return nil, err
	}
	schema, err := tools.Compile(raw)
	if err != nil {
		return nil, err
	}
	return &returns{schema: schema, raw: raw}, nil
}

// formatted makes the schema one that is sent to the provider as the format of the answer.
func (r *returns) formatted() {
	if r != nil {
		schema := map[string]any{"name": "answer", "schema": r.raw} // of JSON
		r.format, _ = tools.Encode(map[string]any{"type": "json_schema", "json_schema": schema})
	}
}

// asked adds to a task what the agent must answer with.
func (r *returns) asked(task string) string {
	if r == nil {
		return task
	}
	return task + "\n\nAnswer with one JSON object and nothing else. It must fit this JSON Schema:\n" + string(r.raw)
}

// read returns the object of an answer, or what is wrong with it.
func (r *returns) read(answer string) (json.RawMessage, string) {
	raw := json.RawMessage(unfenced(answer))
	value, err := tools.Decode(raw)
	if _, object := value.(map[string]any); err != nil || !object {
		return nil, "the answer is not a JSON object"
	}
	if faults := r.schema.Check(value); len(faults) > 0 {
		return nil, tools.FaultsText(faults)
	}
	encoded, err := tools.Encode(value)
	if err != nil {
		return nil, "the answer is not a JSON object"
	}
	return encoded, ""
}

// unfenced returns the text in a block of Markdown, which models write around JSON.
func unfenced(text string) string {
	text = strings.TrimSpace(text)
	if inner, fenced := strings.CutPrefix(text, "```"); fenced && strings.HasSuffix(inner, "```") {
		inner = strings.TrimSuffix(inner, "```")
		return strings.TrimSpace(strings.TrimPrefix(inner, "json"))
	}
	return text
}

// again is the message that asks for a corrected answer.
func again(faults string) string {
	return "Your answer does not fit the JSON Schema: " + truncate.Bytes(faults, maxFaults) +
		". Answer again, with the corrected JSON object and nothing else."
}

// maxFaults is how many bytes of what is wrong an agent gets.
const maxFaults = 4 << 10

// unanswered is the error of an agent whose second answer does not fit either.
func unanswered(agent, faults string) error {
	return &chat.Error{
		Code: errcode.InvalidResult,
		Message: fmt.Sprintf("agent %s did not answer with an object that fits its returns, also when asked again: %s",
			agent, truncate.Bytes(faults, maxFaults)),
	}
}
