package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// demoScript plays the model of `spiced demo`: POST /v1/chat/completions in OpenAI's form,
// as a stream. What it says depends on the agent, which it knows by the instructions, and on
// the results of the tools that it called.
type demoScript struct{ pace time.Duration }

// maxDemoBody is the largest request to the scripted model.
const maxDemoBody = 16 << 20

// demoRequest is the part of a request that the script reads.
type demoRequest struct {
	Model    string
	Stream   bool
	Messages []struct {
		Role    string
		Content json.RawMessage
	}
}

// demoAnswer is what the model says, and then calls.
type demoAnswer struct {
	text  string
	calls []demoCall
}

type demoCall struct{ tool, arguments string }

func (s demoScript) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked demoRequest
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxDemoBody))
	if err != nil || json.Unmarshal(body, &asked) != nil || !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		http.Error(w, `{"error":{"message":"the scripted model answers chat completions only"}}`, http.StatusBadRequest)
		return
	}
	answer := asked.answer()
	usage := map[string]int{"prompt_tokens": len(body) / 4, "completion_tokens": len(answer.text)/4 + 20*len(answer.calls)}
	usage["total_tokens"] = usage["prompt_tokens"] + usage["completion_tokens"]
	if !asked.Stream {
		w.Header().Set("Content-Type", "application/json")
		writeDemoFrame(w, "", asked.Model, "chat.completion",
			map[string]any{"message": answer.message(false), "finish_reason": answer.reason()}, usage)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	s.stream(w, r, asked.Model, answer, usage)
}

// stream sends an answer word by word.
func (s demoScript) stream(w http.ResponseWriter, r *http.Request, model string, answer demoAnswer,
	usage map[string]int,
) {
	control := http.NewResponseController(w)
	send := func(choice any, usage any) {
		writeDemoFrame(w, "data: ", model, "chat.completion.chunk", choice, usage)
		_ = control.Flush() // the client may have left
	}
	for word := range strings.SplitAfterSeq(answer.text, " ") {
		select {
		case <-r.Context().Done():
			return
		case <-time.After(s.pace):
		}
		send(map[string]any{"delta": map[string]any{"role": "assistant", "content": word}}, nil)
	}
	if len(answer.calls) > 0 {
		send(map[string]any{"delta": answer.message(true)}, nil)
	}
	send(map[string]any{"delta": map[string]any{}, "finish_reason": answer.reason()}, nil)
	send(nil, usage)
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// writeDemoFrame writes an answer or a piece of one.
func writeDemoFrame(w io.Writer, prefix, model, object string, choice, usage any) {
	choices := []any{}
	if c, ok := choice.(map[string]any); ok {
		c["index"] = 0
		choices = append(choices, c)
	}
	text, _ := json.Marshal(map[string]any{ // of plain values
		"id": "chatcmpl-demo", "object": object, "created": 0, "model": model, "choices": choices, "usage": usage,
	})
	fmt.Fprintf(w, "%s%s\n\n", prefix, text)
}

func (a demoAnswer) reason() string {
	if len(a.calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

// message is the whole answer, or the part of it that has the calls.
func (a demoAnswer) message(callsOnly bool) map[string]any {
	m := map[string]any{"role": "assistant"}
	if !callsOnly {
		m["content"] = a.text
	}
	var calls []any
	for i, c := range a.calls {
		calls = append(calls, map[string]any{
			"index": i, "id": fmt.Sprintf("call_%s_%d", c.tool, i), "type": "function",
			"function": map[string]string{"name": c.tool, "arguments": c.arguments},
		})
	}
	if calls != nil {
		m["tool_calls"] = calls
	}
	return m
}

// read returns the text of the instructions, and the results are those of the tools, in order. A
// conversation that goes on begins again: results before the last question do not count.
func (r demoRequest) read() (system string, results []string) {
	for _, m := range r.Messages {
		switch m.Role {
		case "system", "developer":
			system += demoText(m.Content)
		case "user":
			results = nil
		case "tool":
			results = append(results, demoText(m.Content))
		}
	}
	return system, results
}

// demoText is the text of a message: a string, or a list of parts.
func demoText(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct{ Text string }
	_ = json.Unmarshal(content, &parts) // else it has no text
	for _, p := range parts {
		text += p.Text
	}
	return text
}

// answer is what the agent says next.
func (r demoRequest) answer() demoAnswer {
	system, results := r.read()
	for name, play := range demoRoles {
		if strings.Contains(system, "You are "+name+".") {
			return play(results)
		}
	}
	return demoAnswer{text: "I play Ishvana, Hawken, Lagan and Lorekeeper only."}
}

// demoRoles are the parts that the model plays, by the names in the instructions.
var demoRoles = map[string]func(results []string) demoAnswer{
	"Ishvana": demoIshvana, "Hawken": demoHawken, "Lagan": demoLagan, "Lorekeeper": demoLorekeeper,
}

func demoIshvana(results []string) demoAnswer {
	if len(results) == 0 {
		return demoAnswer{"I ask the three specialists at once.", []demoCall{{"delegate_parallel", `{"tasks":[` +
			`{"agent":"hawken","task":"Who and what is of the north?"},` +
			`{"agent":"lagan","task":"Where is the text from, and how long is it?","context":{"url":"https://saga.example.org/mara","text":"Mara rode to Thorn"}},` +
			`{"agent":"lorekeeper","task":"Does this agree with the canon: Mara rode to Thorn?"}]}`}}}
	}
	var done struct {
		Results []struct {
			Agent  string
			OK     bool
			Result any
			Error  struct{ Message string }
		}
	}
	if json.Unmarshal([]byte(results[len(results)-1]), &done) != nil {
		return demoAnswer{text: "The specialists could not be asked: " + results[len(results)-1]}
	}
	var b strings.Builder
	b.WriteString("This is what they found:\n")
	for _, r := range done.Results {
		if !r.OK {
			r.Result = "no answer: " + r.Error.Message
		}
		fmt.Fprintf(&b, "- %s: %v\n", r.Agent, r.Result)
	}
	return demoAnswer{text: strings.TrimSpace(b.String())}
}

func demoHawken(results []string) demoAnswer {
	if len(results) == 0 {
		return demoAnswer{"I look it up in the lore.", []demoCall{{"lore_search", `{"word":"north"}`}}}
	}
	var rows []struct{ Name, About string }
	_ = json.Unmarshal([]byte(results[0]), &rows) // else it found nothing
	var found []string
	for _, row := range rows {
		found = append(found, row.Name+", "+row.About)
	}
	return demoAnswer{text: fmt.Sprintf("the lore has %d of the north: %s.", len(found), strings.Join(found, "; "))}
}

func demoLagan(results []string) demoAnswer {
	if len(results) < 2 {
		return demoAnswer{"I look at the source.", []demoCall{
			{"url_host", `{"url":"https://saga.example.org/mara"}`}, {"word_count", `{"text":"Mara rode to Thorn"}`},
		}}
	}
	return demoAnswer{text: fmt.Sprintf("the text is from %s and has %s words.", strings.Trim(results[0], `"`),
		results[1])}
}

func demoLorekeeper(results []string) demoAnswer {
	switch len(results) {
	case 0:
		return demoAnswer{"I take the names out of the text.", []demoCall{{"extract_names", `{"text":"Mara rode to Thorn"}`}}}
	case 1:
		return demoAnswer{
			"I compare them with the canon.",
			[]demoCall{{"canon_lookup", `{"wanted":"Mara"}`}, {"canon_lookup", `{"wanted":"Thorn"}`}},
		}
	}
	return demoAnswer{text: fmt.Sprintf("the canon knows Mara (%s) and Thorn (%s): it agrees.",
		strings.Trim(results[1], `"`), strings.Trim(results[2], `"`))}
}
