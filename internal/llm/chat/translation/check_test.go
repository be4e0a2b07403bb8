package translation_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/openai"
	"github.com/spiced-sql/spiced/internal/llm/chat/translation"
)

// checks are requests to a model of Anthropic's form, what has no effect, and the field
// that is refused with the error.
var checks = []struct{ body, ignored, param, message string }{
	{`"frequency_penalty":0,"logprobs":false,"modalities":["text"],"seed":null,"logit_bias":{},"store":false,"n":1`, "[]", "", ""},
	{`"metadata":{"a":"b"},"store":true`, "[metadata store]", "", ""},
	{`"service_tier":"auto"`, "[]", "", ""},
	{
		`"service_tier":"flex"`, "[]", "service_tier",
		`service_tier must be "auto" or "default", got "flex": the model's provider speaks Anthropic's Messages, which has nothing for other values`,
	},
	{
		`"web_search_options":{}`, "[]", "web_search_options",
		"web_search_options is not supported by the model's provider, which speaks Anthropic's Messages: web search is not translated",
	},
	{
		`"response_format":{"type":"json_schema","json_schema":{"name":"a","description":"d","schema":{}}}`,
		"[response_format[json_schema].json_schema.description]", "", "",
	},
	{
		`"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{},"extra":1}}`, "[]", "response_format.json_schema.extra",
		"response_format.json_schema.extra is not a field of Chat Completions that the runtime knows, so it cannot be translated for the model's provider, which " +
			"speaks Anthropic's Messages; leave it out",
	},
	{`"seed":7`, "[]", "seed", "seed is not supported by the model's provider, which speaks Anthropic's Messages: it has no seed"},
	{
		`"min_p":0.1`, "[]", "min_p",
		"min_p is not a field of Chat Completions that the runtime knows, so it cannot be translated for the model's provider, which speaks Anthropic's " +
			"Messages; leave it out",
	},
	{
		`"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"aGk=","format":"wav"}}]}]`, "[]", "messages[0].content[0]",
		"messages[0].content[0] is not supported by the model's provider, which speaks Anthropic's Messages: it has no audio",
	},
	{
		`"messages":[{"role":"user","content":[{"type":"hologram"}]}]`, "[]", "messages[0].content[0].type",
		"messages[0].content[0].type is \"hologram\", which is not a value that the runtime knows in Chat Completions, so it cannot be translated for the model's " +
			"provider, which speaks Anthropic's Messages; use file, image_url, input_audio, text",
	},
}

func TestCheck(t *testing.T) {
	for _, c := range checks {
		r, err := openai.ParseRequest([]byte(`{"model":"m","messages":[{"role":"user","content":"hi"}],` + c.body + `}`))
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		err = translation.Check(r, chat.FormAnthropic)
		failed := &chat.Error{}
		if err != nil {
			errors.As(err, &failed)
		}
		if fmt.Sprint(r.Ignored) != c.ignored || failed.Param != c.param || failed.Message != c.message {
			t.Errorf("%s: ignored %v, %s: %s", c.body, r.Ignored, failed.Param, failed.Message)
		}
		if err := translation.Check(r, chat.FormOpenAI); err != nil {
			t.Errorf("%s: %v at a provider of the same form", c.body, err)
		}
	}
}
