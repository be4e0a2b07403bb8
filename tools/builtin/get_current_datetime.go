package builtin

import (
	"context"
	"encoding/json"

	"github.com/spiced-sql/spiced/tools"
)

// instant is the format of times in results: ISO 8601 with milliseconds.
const instant = "2006-01-02T15:04:05.000Z07:00"

// newGetCurrentDatetime returns Spice's tool for the current time.
func newGetCurrentDatetime(env Env, c custom) (tools.Tool, error) {
	def := c.define(tools.Definition{
		Name: "get_current_datetime",
		Description: "Returns the present date and time in UTC, such as 2026-05-06T13:45:00.000Z. " +
			"Use it for questions with words such as today, now, which day it is, or last week.",
		Returns: json.RawMessage(`{"type":"string","format":"date-time"}`),
		Tags:    []string{"time"},
	})
	now := env.now()
	return tools.Typed(def, func(context.Context, struct{}, tools.Input) (string, error) {
		return now().UTC().Format(instant), nil
	})
}
