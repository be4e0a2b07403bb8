package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Answers with a log probability and a citation, in the two forms of OpenAI, whole and as events.
const (
	tokenOfAnswer = `{"token":"Hi","logprob":-0.5,"bytes":[72,105],"top_logprobs":[]}`
	citedInChat   = `{"type":"url_citation","url_citation":{"start_index":0,"end_index":2,"url":"https://e.example","title":"E"}}`
	citedFlat     = `{"type":"url_citation","start_index":0,"end_index":2,"url":"https://e.example","title":"E"}`

	chatAnswer = `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi","annotations":[` + citedInChat +
		`]},"logprobs":{"content":[` + tokenOfAnswer + `]},"finish_reason":"stop"}]}`
	chatEvents = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi","annotations":[` + citedInChat +
		`]},"logprobs":{"content":[` + tokenOfAnswer + `]},"finish_reason":null}]}` + "\n\n" +
		`data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"

	responsesItem = `{"type":"message","id":"m1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Hi","annotations":[` +
		citedFlat + `],"logprobs":[` + tokenOfAnswer + `]}]}`
	responsesAnswer = `{"id":"r","object":"response","created_at":1,"status":"completed","model":"m","output":[` + responsesItem +
		`],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}`
	responsesEvents = `data: {"type":"response.created","response":{"id":"r","object":"response","created_at":1,"status":"in_progress","model":"m","output":[]}}` +
		"\n\n" +
		`data: {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m1","status":"in_progress","role":"assistant","content":[]}}` +
		"\n\n" +
		`data: {"type":"response.output_text.delta","item_id":"m1","output_index":0,"content_index":0,"delta":"Hi","logprobs":[` + tokenOfAnswer + `]}` + "\n\n" +
		`data: {"type":"response.output_text.annotation.added","item_id":"m1","output_index":0,"content_index":0,"annotation_index":0,"annotation":` + citedFlat +
		`}` + "\n\n" +
		`data: {"type":"response.output_item.done","output_index":0,"item":` + responsesItem + `}` + "\n\n" +
		`data: {"type":"response.completed","response":` + responsesAnswer + `}` + "\n\n"
)

// TestAnswersKeepLogprobsAndCitations over every pair of OpenAI's two forms.
func TestAnswersKeepLogprobsAndCitations(t *testing.T) {
	t.Parallel()
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		responses, stream := strings.HasSuffix(r.URL.Path, "/responses"), strings.Contains(string(body), `"stream":true`)
		w.Header().Set("Content-Type", map[bool]string{true: "text/event-stream", false: "application/json"}[stream])
		io.WriteString(w, map[[2]bool]string{
			{}: chatAnswer, {false, true}: chatEvents, {true, false}: responsesAnswer,
			{true, true}: responsesEvents,
		}[[2]bool{responses, stream}])
	}))
	defer provider.Close()
	model := func(name, more string) string {
		return fmt.Sprintf("  - { name: %s, from: 'openai:m', params: { endpoint: '%s/v1', openai_api_key: sk-0123456789, tools: disabled%s } }\n", name,
			provider.URL, more)
	}
	p := start(t, folder(t, "spicepod.yaml", "version: v1\nkind: Spicepod\nname: cited\nmodels:\n"+model("chat", "")+
		model("responses", ", responses_api: enabled")))
	for _, name := range []string{"chat", "responses"} {
		for _, stream := range []bool{false, true} {
			r := p.do("POST", "/v1/chat/completions", fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"x"}],"logprobs":true,"stream":%t}`, name, stream))
			p.want(r, 200, `"token":"Hi"`, `"type":"url_citation","url_citation":{`, `"url":"https://e.example"`)
			r = p.do("POST", "/v1/responses", fmt.Sprintf(`{"model":%q,"input":"x","include":["message.output_text.logprobs"],"stream":%t}`, name, stream))
			p.want(r, 200, `"token":"Hi"`, `"type":"url_citation"`, `"url":"https://e.example"`)
			if strings.Contains(r.body, `"url_citation":{`) {
				t.Errorf("%s: %s", name, r.body)
			}
		}
	}
}
