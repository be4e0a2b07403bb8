package spicepod

import "time"

// ScriptStep is an answer of a model that is scripted, and what it answers. See package
// scripted.
type ScriptStep struct {
	User   string        `yaml:"user" doc:"Regular expression that the last text of the user matches, in any case. Without it: every text."`
	After  string        `yaml:"after" doc:"The tool whose result the request ends with; * is every tool. Without it: the request does not end with results."`
	Delay  time.Duration `yaml:"delay" doc:"How long the model waits before it answers, at most 1m."`
	Think  string        `yaml:"think" doc:"What the model thinks."`
	Say    string        `yaml:"say" doc:"What the model says, a word at a time. {{user}} is the last text of the user, {{result}} that of the last result."`
	Calls  []ScriptCall  `yaml:"calls" doc:"The tools that it calls."`
	Finish ScriptFinish  `yaml:"finish" enum:"stop,length,filter" doc:"Why the answer ends. Without it: stop, or the calls."`
	Error  *ScriptError  `yaml:"error" doc:"The error with which the answer ends, after what the model says."`
}

// ScriptCall is a call of a tool by a scripted model.
type ScriptCall struct {
	Tool      string         `yaml:"tool" required:"true" doc:"Name of the tool."`
	Arguments map[string]any `yaml:"arguments" doc:"Its arguments; texts may have {{user}} and {{result}}."`
}

// ScriptFinish is why an answer of a scripted model ends.
type ScriptFinish string

// The values of [ScriptStep.Finish].
const (
	ScriptStop   ScriptFinish = "stop"
	ScriptLength ScriptFinish = "length"
	ScriptFilter ScriptFinish = "filter"
)

// ScriptError is an error of a scripted model, as a provider has them.
type ScriptError struct {
	Code    ScriptErrorCode `yaml:"code" required:"true" enum:"rate_limited,provider_error,provider_refused,provider_timeout,stream_broken" doc:"Code of the error, which decides the status of the answer."`
	Message string          `yaml:"message" required:"true" doc:"Text of the error."`
}

// ScriptErrorCode is the code of a [ScriptError], one of package errcode.
type ScriptErrorCode string
