package responses_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/responses"
	"github.com/spiced-sql/spiced/internal/test/golden"
)

func text(s string) chat.Delta        { return chat.Delta{Kind: chat.DeltaText, Text: s} }
func finish(r chat.Reason) chat.Delta { return chat.Delta{Kind: chat.DeltaFinish, Reason: r} }
func call(i int, id, name string) chat.Delta {
	return chat.Delta{Kind: chat.DeltaCall, Index: i, Call: &chat.Call{ID: id, Name: name}}
}

func arguments(i int, s string) chat.Delta {
	return chat.Delta{Kind: chat.DeltaArguments, Index: i, Text: s}
}
func callEnd(i int) chat.Delta { return chat.Delta{Kind: chat.DeltaCallEnd, Index: i} }

var (
	start = chat.Delta{Kind: chat.DeltaStart}
	round = chat.Delta{Kind: chat.DeltaRound}
	cost  = chat.Delta{Kind: chat.DeltaUsage, Usage: chat.Usage{Input: 12, Output: 7, CacheRead: 4, CacheWrite: 2, Reasoning: 3}}
)

// answers are streams of all kinds.
var answers = map[string][]chat.Delta{
	"text":    {start, text("Hel"), text("lo <b>&"), cost, finish(chat.ReasonStop)},
	"nothing": {start, finish(chat.ReasonStop)},
	"calls": {
		start, text("Let me see."), call(0, "c1", "distance"), call(1, "c2", "tide"), arguments(1, `{"port":`),
		arguments(0, `{"km":`), arguments(0, `1}`), callEnd(0), arguments(1, `"Brest"}`), callEnd(1), cost, finish(chat.ReasonCalls),
	},
	"rounds": {start, text("First."), round, text("Second."), finish(chat.ReasonStop)},
	"thinking": {
		start,
		{Kind: chat.DeltaThinking, Text: "Hm", Raw: json.RawMessage(`{"id":"rs_theirs"}`), Form: chat.FormResponses},
		{Kind: chat.DeltaThinking, Text: "m."},
		{Kind: chat.DeltaPart, Part: &chat.Part{
			Kind: chat.PartThinking, Text: "Hmm.", Form: chat.FormResponses,
			Raw: json.RawMessage(`{"type":"reasoning","id":"rs_theirs","summary":[{"type":"summary_text","text":"Hmm."}],"encrypted_content":"gAAA"}`),
		}},
		text("Yes."), finish(chat.ReasonStop),
	},
	"signed thinking": {
		start,
		{Kind: chat.DeltaThinking, Text: "Hmm."},
		{Kind: chat.DeltaPart, Part: &chat.Part{
			Kind: chat.PartThinking, Text: "Hmm.", Form: chat.FormAnthropic,
			Raw: json.RawMessage(`{"type":"thinking","thinking":"Hmm.","signature":"s"}`),
		}},
		text("Yes."), finish(chat.ReasonStop),
	},
	"hosted": {
		start,
		{Kind: chat.DeltaPart, Part: &chat.Part{
			Kind: chat.PartOther, Form: chat.FormResponses,
			Raw: json.RawMessage(`{"type":"web_search_call","id":"ws_1","status":"completed"}`),
		}},
		text("Found."),
		{
			Kind: chat.DeltaText, Raw: json.RawMessage(`{"annotation":{"type":"url_citation","url":"https://example.com","title":"t","start_index":0,"end_index":5}}`),
			Form: chat.FormResponses,
		},
		{
			Kind: chat.DeltaText, Text: "!", Raw: json.RawMessage(`{"logprobs":[{"token":"!","logprob":-0.5,"bytes":[33],"top_logprobs":[]}]}`),
			Form: chat.FormResponses,
		},
		finish(chat.ReasonStop),
	},
	"refusal": {start, text("I "), {Kind: chat.DeltaRefusal, Text: "can't."}, finish(chat.ReasonFilter)},
	"length":  {start, text("cut"), call(0, "c1", "distance"), arguments(0, `{"km`), finish(chat.ReasonLength)},
	"filter":  {start, text("cut"), finish(chat.ReasonFilter)},
}

func TestStreams(t *testing.T) {
	for name, deltas := range answers {
		t.Run(name, func(t *testing.T) {
			golden.Equal(t, "testdata/stream/"+strings.ReplaceAll(name, " ", "_")+".sse", []byte(stream(t, options(nil), deltas...)))
		})
	}
}

// events decodes a stream.
func events(t *testing.T, wire string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for block := range strings.SplitSeq(strings.TrimSuffix(wire, "\n\n"), "\n\n") {
		name, data, ok := strings.Cut(block, "\n")
		var e map[string]any
		if err := json.Unmarshal([]byte(strings.TrimPrefix(data, "data: ")), &e); err != nil || !ok || name != "event: "+e["type"].(string) {
			t.Fatalf("%q: %v", block, err)
		}
		all = append(all, e)
	}
	return all
}

// TestStreamsAreWellFormed checks the invariants of a stream: consecutive numbers,
// items that begin at the next index and end once, and a last event whose response has
// the final items.
func TestStreamsAreWellFormed(t *testing.T) {
	for name, deltas := range answers {
		t.Run(name, func(t *testing.T) { wellFormed(t, stream(t, options(nil), deltas...)) })
	}
}

func wellFormed(t *testing.T, wire string) {
	t.Helper()
	begun, ended := 0, map[float64]any{}
	all := events(t, wire)
	for i, e := range all {
		if e["sequence_number"] != float64(i) {
			t.Errorf("event %d has the number %v", i, e["sequence_number"])
		}
		index, _ := e["output_index"].(float64)
		switch e["type"] {
		case "response.output_item.added":
			if index != float64(begun) {
				t.Errorf("item %v begins as number %d", index, begun)
			}
			begun++
		case "response.output_item.done":
			if ended[index] != nil {
				t.Errorf("item %v ends twice", index)
			}
			ended[index] = e["item"]
		default:
			if _, ok := e["output_index"]; ok && (index >= float64(begun) || ended[index] != nil) {
				t.Errorf("event %d is about item %v, which is not open", i, index)
			}
		}
	}
	output := all[len(all)-1]["response"].(map[string]any)["output"].([]any)
	if len(output) != begun || len(ended) != begun {
		t.Fatalf("%d items began, %d ended, the response has %d", begun, len(ended), len(output))
	}
	for i, item := range output {
		if diff := cmp.Diff(ended[float64(i)], item); diff != "" {
			t.Error(diff)
		}
	}
}

// TestWholeIsTheStreamsEnd compares the stream and the document of an answer.
func TestWholeIsTheStreamsEnd(t *testing.T) {
	for name, deltas := range answers {
		if name == "hosted" { // the position of an annotation among the log probabilities is free
			continue
		}
		t.Run(name, func(t *testing.T) { wholeIsEnd(t, deltas) })
	}
}

func wholeIsEnd(t *testing.T, deltas []chat.Delta) {
	t.Helper()
	collected, err := chat.Collect(sequence(deltas))
	if err != nil {
		t.Fatal(err)
	}
	body, err := responses.EncodeResponse(options(nil), collected)
	if err != nil {
		t.Fatal(err)
	}
	var whole any
	if err := json.Unmarshal(body, &whole); err != nil {
		t.Fatal(err)
	}
	all := events(t, stream(t, options(nil), deltas...))
	if diff := cmp.Diff(all[len(all)-1]["response"], whole); diff != "" {
		t.Errorf("-stream +whole:\n%s", diff)
	}
}

// TestAnItemKeepsItsID checks that reasoning that began with our id ends with it too.
func TestAnItemKeepsItsID(t *testing.T) {
	theirs := chat.Part{
		Kind: chat.PartThinking, Text: "Hm", Form: chat.FormResponses,
		Raw: json.RawMessage(`{"type":"reasoning","id":"rs_theirs","summary":[],"encrypted_content":"gAAA"}`),
	}
	wire := stream(t, options(nil), start, chat.Delta{Kind: chat.DeltaThinking, Text: "Hm"}, chat.Delta{Kind: chat.DeltaPart, Part: &theirs},
		finish(chat.ReasonStop))
	wellFormed(t, wire)
	if strings.Contains(wire, "rs_theirs") || !strings.Contains(wire, `"encrypted_content":"gAAA","id":"rs_spiced_0a1b2c_0"`) {
		t.Error(wire)
	}
}

// TestForeignThinkingComesBack sends another provider's thinking to a client and back.
func TestForeignThinkingComesBack(t *testing.T) {
	signed := answers["signed thinking"]
	collected, err := chat.Collect(sequence(signed))
	if err != nil {
		t.Fatal(err)
	}
	body, err := responses.EncodeResponse(options(nil), collected)
	if err != nil {
		t.Fatal(err)
	}
	var whole struct{ Output json.RawMessage }
	if err := json.Unmarshal(body, &whole); err != nil {
		t.Fatal(err)
	}
	r := mustParse(t, `{"model":"m","input":`+string(whole.Output)+`}`)
	if diff := cmp.Diff(collected.Parts, r.Messages[0].Parts); diff != "" {
		t.Error(diff)
	}
}

func TestFailEndsTheStream(t *testing.T) {
	var b bytes.Buffer
	e := responses.NewEncoder(&b, options(nil))
	fault := &chat.Error{Code: errcode.RateLimited, Message: `model "assistant": too many requests`}
	for _, err := range []error{e.Write(text("half")), e.Fail(fault), e.Write(text("more")), e.Close(), e.Fail(fault), e.Event("tool_call", nil)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	golden.Equal(t, "testdata/stream/failed.sse", b.Bytes())
}

func TestEventsOfOurs(t *testing.T) {
	var b bytes.Buffer
	e := responses.NewEncoder(&b, options(nil))
	_ = e.Event("tool_call", json.RawMessage(`{"tool":"tide","error":"none"}`))
	_ = e.Event("broken", json.RawMessage(`{`))
	_ = e.Close()
	all := events(t, b.String())
	want := map[string]any{"type": "keepalive", "sequence_number": 2.0, "spiced_event": map[string]any{"type": "tool_call", "tool": "tide", "error": "none"}}
	if diff := cmp.Diff(want, all[2]); diff != "" {
		t.Error(diff)
	}
	wellFormed(t, b.String())
}

func TestWriterFails(t *testing.T) {
	gone := errors.New("gone")
	e := responses.NewEncoder(failing{gone}, options(nil))
	if err := e.Write(text("x")); !errors.Is(err, gone) {
		t.Error(err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestEcho(t *testing.T) {
	r := mustParse(t, `{"model":"m","input":"x","instructions":"Be brief.","temperature":0.2,"top_p":0.9,"max_output_tokens":99,"tool_choice":"required",
		"tools":[{"type":"function","name":"f","parameters":{"type":"object"},"strict":false}],"parallel_tool_calls":false,"previous_response_id":"resp_0",
		"text":{"format":{"type":"json_object"}},"metadata":{"k":"v"},"store":false,"user":"u"}`)
	body, err := responses.EncodeResponse(options(r), &chat.Response{Parts: []chat.Part{{Kind: chat.PartText, Text: "ok"}}, Reason: chat.ReasonStop})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, body, "", "  "); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "testdata/response.json", append(b.Bytes(), '\n'))
}

func TestErrors(t *testing.T) {
	for want, e := range map[string]*chat.Error{
		`{"error":{"message":"x must be y","type":"invalid_request_error","param":"input[0]","code":null}}`: chat.Invalid("input[0]", "x must be y"),
		`{"error":{"message":"no model \"m\"","type":"invalid_request_error","param":"model","code":"model_not_found"}}`: {
			Code:    errcode.ModelNotFound,
			Message: `no model "m"`, Param: "model",
		},
		`{"error":{"message":"slow down","type":"rate_limit_error","param":null,"code":"rate_limit_exceeded"}}`: {
			Code:    errcode.RateLimited,
			Message: "slow down",
		},
		`{"error":{"message":"it broke","type":"server_error","param":null,"code":"stream_broken"}}`: {
			Code:    errcode.StreamBroken,
			Message: "it broke",
		},
		`{"error":{"message":"internal error; the log has more","type":"server_error","param":null,"code":"internal"}}`: chat.AsError(errors.New("secret")),
	} {
		if got := string(responses.EncodeError(e)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestRoundTrip sends random answers through the encoder and the provider.
func TestRoundTrip(t *testing.T) {
	for seed := range uint64(60) {
		deltas := randomAnswer(rand.New(rand.NewPCG(seed, 7)))
		wire := stream(t, options(nil), deltas...)
		wellFormed(t, wire)
		got, _, err := received(t, wire)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		want, _ := chat.Collect(sequence(deltas))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d:\n%s", seed, diff)
		}
		wholeIsEnd(t, deltas)
	}
}

// randomAnswer has texts, refusals and interleaved calls.
func randomAnswer(r *rand.Rand) []chat.Delta {
	deltas := []chat.Delta{start}
	var open []int
	calls := 0
	for range 1 + r.IntN(20) {
		switch k := r.IntN(5); {
		case k == 0:
			deltas = append(deltas, text(strings.Repeat("ü\n\"<", 1+r.IntN(3))))
		case k == 1:
			deltas = append(deltas, call(calls, "c"+string(rune('a'+calls)), "tool"))
			open, calls = append(open, calls), calls+1
		case k == 2 && len(open) > 0:
			deltas = append(deltas, arguments(open[r.IntN(len(open))], `{"x":`))
		case k == 3 && len(open) > 0:
			at := r.IntN(len(open))
			deltas = append(deltas, callEnd(open[at]))
			open = append(open[:at], open[at+1:]...)
		}
	}
	for _, i := range open {
		deltas = append(deltas, callEnd(i))
	}
	reason := chat.ReasonStop
	if calls > 0 {
		reason = chat.ReasonCalls
	}
	return append(deltas, cost, finish(reason))
}
