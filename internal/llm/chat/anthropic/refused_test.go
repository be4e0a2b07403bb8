package anthropic_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/anthropic"
	"github.com/spiced-sql/spiced/internal/llm/chat/openai"
)

// refusals are requests in OpenAI's form that nothing of Anthropic's can say, and the error.
var refusals = []struct{ body, param, says string }{
	{`"messages":[{"role":"user","content":""}]`, "messages", "nothing for the model to answer"},
	{`"messages":[{"role":"system","content":"Be brief."}]`, "messages", "nothing for the model to answer"},
	{`"messages":[{"role":"user","content":"hi"}],"stop":["\n"]`, "stop", "white space"},
	{
		`"messages":[{"role":"user","content":[{"type":"file","file":{"filename":"a.zip","file_data":"UEsD"}}]}]`, "messages[0].content[0].file",
		"application/pdf and text",
	},
	{`"messages":[{"role":"user","content":[{"type":"file","file":{"filename":"a.txt","file_data":"/w=="}}]}]`, "messages[0].content[0].file", "UTF-8"},
	{`"messages":[{"role":"user","content":[{"type":"file","file":{"filename":"a.txt"}}]}]`, "messages[0].content[0].file", "no data"},
	{`"messages":[{"role":"user","content":[{"type":"hologram"}]}]`, "messages", "hologram"},
}

func TestRefusals(t *testing.T) {
	for _, c := range refusals {
		r, err := openai.ParseRequest([]byte(`{"model":"m",` + c.body + `}`))
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		_, err = chat.Collect(anthropic.NewProvider(anthropic.ProviderOptions{Model: "claude"}).Chat(t.Context(), r))
		var failed *chat.Error
		if !errors.As(err, &failed) || failed.Code != errcode.InvalidRequest || failed.Param != c.param || !strings.Contains(failed.Message, c.says) {
			t.Errorf("%s: %v, want %s: %s", c.body, err, c.param, c.says)
		}
	}
}
