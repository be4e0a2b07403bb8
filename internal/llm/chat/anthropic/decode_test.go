package anthropic_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/anthropic"
	"github.com/spiced-sql/spiced/internal/test/golden"
)

// streams are answers of a provider, by their special feature.
var streams = map[string]string{
	"text": sse(start, textStart(0), ping, textPiece(0, "Hel"), textPiece(0, "lo <b>&\n"), stop(0), change("end_turn", 15), end),
	"calls": sse(start, textStart(0), textPiece(0, "Let me look."), stop(0),
		callStart(1, "toolu_1", "sql", "{}"), callPiece(1, ""), callPiece(1, `{"query": "SEL`), callPiece(1, `ECT 1"}`), stop(1),
		callStart(2, "toolu_2", "now", "{}"), callPiece(2, ""), stop(2),
		callStart(3, "toolu_3", "add", `{"a": 1}`), stop(3), change("tool_use", 40), end),
	"thinking": sse(start,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"One and "}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"one."}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB=="}}`,
		stop(0),
		`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"Emw+"}}`, stop(1),
		textStart(2), textPiece(2, "Two."), stop(2),
		`{"type":"message_delta","delta":{"stop_reason":"stop_sequence","stop_sequence":"###"},"usage":{"input_tokens":30,"output_tokens":15,"output_tokens_details":{"thinking_tokens":9}}}`, end),
	"server tools": sse(start,
		`{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}}`,
		callPiece(0, `{"query":"dogs`), callPiece(0, `"}`), stop(0),
		`{"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://dogs.example","title":"Dogs","encrypted_content":"x"}]}}`, stop(1),
		textStart(2), textPiece(2, "They say: "), stop(2),
		`{"type":"content_block_start","index":3,"content_block":{"type":"text","text":"","citations":[]}}`, textPiece(3, "dogs bark"),
		`{"type":"content_block_delta","index":3,"delta":{"type":"citations_delta","citation":{"type":"web_search_result_location","cited_text":"Dogs bark.","url":"https://dogs.example","title":"Dogs","encrypted_index":"y"}}}`,
		stop(3), textStart(4), textPiece(4, "."), stop(4), change("pause_turn", 60), end),
	"interleaved": sse(start, callStart(0, "toolu_1", "a", "{}"), callStart(1, "toolu_2", "b", "{}"),
		callPiece(1, `{"y":`), callPiece(0, `{"x":`), callPiece(1, `2}`), stop(1), callPiece(0, `1}`), stop(0), change("tool_use", 9), end),
	"cut by max_tokens": sse(start, callStart(0, "toolu_1", "sql", "{}"), callPiece(0, `{"query":"SEL`), stop(0), change("max_tokens", 8), end),
	"unknown": sse(start, `{"type":"content_block_weather","index":7,"sky":"blue"}`, textStart(0), textPiece(0, "ok"),
		`{"type":"content_block_delta","index":0,"delta":{"type":"colour_delta","colour":"red"}}`, stop(0), change("new_reason", 3), end),
	"no reason": sse(start, callStart(0, "toolu_1", "now", "{}"), stop(0), end),
	"empty":     sse(start, change("end_turn", 1), end),
	"document":  `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"thinking","thinking":"Hm.","signature":"s"},{"type":"text","text":"Hi"},{"type":"tool_use","id":"toolu_1","name":"sql","input":{"query":"SELECT 1"}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":4}}`,
}

func TestStreams(t *testing.T) {
	for name, stream := range streams {
		t.Run(name, func(t *testing.T) {
			all, err := deltas(t, []byte(stream))
			if err != nil {
				t.Fatal(err)
			}
			golden.Equal(t, "testdata/streams/"+strings.ReplaceAll(name, " ", "_")+".deltas", show(t, all))
		})
	}
}

// show formats one delta per line.
func show(t testing.TB, all []chat.Delta) []byte {
	t.Helper()
	kinds := map[chat.DeltaKind]string{
		chat.DeltaStart: "start", chat.DeltaText: "text", chat.DeltaThinking: "thinking", chat.DeltaRefusal: "refusal",
		chat.DeltaCall: "call", chat.DeltaArguments: "arguments", chat.DeltaCallEnd: "call end", chat.DeltaPart: "part",
		chat.DeltaUsage: "usage", chat.DeltaFinish: "finish", chat.DeltaRound: "round",
	}
	var b bytes.Buffer
	for _, d := range all {
		b.WriteString(kinds[d.Kind])
		switch d.Kind {
		case chat.DeltaText, chat.DeltaThinking:
			fmt.Fprintf(&b, " %q", d.Text)
		case chat.DeltaCall:
			fmt.Fprintf(&b, " %d %s %s", d.Index, d.Call.ID, d.Call.Name)
		case chat.DeltaArguments:
			fmt.Fprintf(&b, " %d %q", d.Index, d.Text)
		case chat.DeltaCallEnd:
			fmt.Fprintf(&b, " %d", d.Index)
		case chat.DeltaPart:
			fmt.Fprintf(&b, " %s %q %s", d.Part.Kind, d.Part.Text, d.Part.Raw)
		case chat.DeltaUsage:
			fmt.Fprintf(&b, " %+v", d.Usage)
		case chat.DeltaFinish:
			fmt.Fprintf(&b, " %s", d.Reason)
		}
		if d.Raw != nil {
			fmt.Fprintf(&b, " %s", d.Raw)
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func TestBrokenStreams(t *testing.T) {
	cases := []struct {
		name, stream string
		code         errcode.Code
		want         string
	}{
		{"nothing", "", errcode.StreamBroken, "ended before message_stop"},
		{"no end", sse(start, textStart(0), textPiece(0, "x"), stop(0), change("end_turn", 1)), errcode.StreamBroken, "ended before message_stop"},
		{
			"open call", sse(start, callStart(0, "t", "sql", "{}"), callPiece(0, "{}"), change("tool_use", 1), end), errcode.StreamBroken,
			"before the end of the call in block 0",
		},
		{"no JSON", "data: {\"type\":\n\n", errcode.StreamBroken, "not JSON"},
		{"other type", sse(`{"type":"content_block_stop","index":"a"}`), errcode.StreamBroken, "fields of the wrong type"},
		{"two starts", sse(start, start), errcode.StreamBroken, "second message_start"},
		{"start without message", sse(`{"type":"message_start"}`), errcode.StreamBroken, "message_start without a message"},
		{"block twice", sse(start, textStart(0), textStart(0)), errcode.StreamBroken, "block 0 begins twice"},
		{"block without type", sse(start, `{"type":"content_block_start","index":0,"content_block":{}}`), errcode.StreamBroken, "without a type"},
		{"delta of no block", sse(start, textPiece(4, "x")), errcode.StreamBroken, "delta of block 4"},
		{
			"delta of another form", sse(start, textStart(0), `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":1}}`), errcode.StreamBroken,
			"invalid delta of block 0",
		},
		{"end of no block", sse(start, stop(4)), errcode.StreamBroken, "end of block 4"},
		{"nameless call", sse(start, callStart(0, "t", "", "{}")), errcode.StreamBroken, "without an id or a name"},
		{"message_delta of another form", sse(start, `{"type":"message_delta","delta":[1]}`), errcode.StreamBroken, "invalid message_delta"},
		{
			"input of a server's call",
			sse(start, `{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s","name":"n","input":{}}}`,
				callPiece(0, `{"q`), stop(0)),
			errcode.StreamBroken, `input of a block of type "server_tool_use" is not JSON`,
		},
		{
			"overloaded", sse(start, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded sk-secret"}}`), errcode.RateLimited,
			"overloaded_error: Overloaded ***",
		},
		{"rate limit", sse(start, `{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`), errcode.RateLimited, "slow"},
		{"fault", sse(start, `{"type":"error","error":{"type":"api_error","message":"down"}}`), errcode.ProviderError, "api_error: down"},
		{"time", sse(start, `{"type":"error","error":{"type":"timeout_error","message":"late"}}`), errcode.ProviderTimeout, "late"},
		{"bare error", sse(start, `{"type":"error"}`), errcode.ProviderError, "no message"},
		{"document with an error", `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`, errcode.RateLimited, "busy"},
		{"other document", `{"object":"list"}`, errcode.StreamBroken, `the document has type "", not message`},
		{"list", `[1]`, errcode.StreamBroken, "not a message"},
		{
			"citations", sse(start, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"","citations":1}}`), errcode.StreamBroken,
			"citations are not a list",
		},
		{"document without a name", `{"type":"message","content":[{"type":"tool_use","id":"t"}]}`, errcode.StreamBroken, "without an id or a name"},
		{"too many blocks", sse(start) + strings.Repeat(sse(textStart(0), stop(0)), 10_001), errcode.StreamBroken, "more than 10000 blocks"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := deltas(t, []byte(c.stream))
			var failed *chat.Error
			if !errors.As(err, &failed) || failed.Code != c.code || !strings.Contains(failed.Message, c.want) {
				t.Errorf("%+v; want %s: %s", err, c.code, c.want)
			}
			if err != nil && !strings.Contains(err.Error(), `model "assistant"`) {
				t.Errorf("%q does not name the model", err)
			}
		})
	}
}

// A stream that is cut anywhere gives the whole answer, or an error and no call that is
// complete but wrong.
func TestCutAtEveryByte(t *testing.T) {
	for name, stream := range streams {
		t.Run(name, func(t *testing.T) {
			want, err := deltas(t, []byte(stream))
			if err != nil {
				t.Fatal(err)
			}
			calls := complete(want)
			for cut := range len(stream) {
				got, err := deltas(t, []byte(stream[:cut]))
				if err == nil && !cmp.Equal(got, want) {
					t.Fatalf("cut at %d: %s", cut, show(t, got))
				}
				for index, arguments := range complete(got) {
					if calls[index] != arguments {
						t.Fatalf("cut at %d: call %d with %s", cut, index, arguments)
					}
				}
			}
		})
	}
}

// complete returns the arguments of the calls that have ended, by index.
func complete(all []chat.Delta) map[int]string {
	said, ended := map[int]string{}, map[int]string{}
	for _, d := range all {
		switch d.Kind {
		case chat.DeltaArguments:
			said[d.Index] += d.Text
		case chat.DeltaCallEnd:
			ended[d.Index] += said[d.Index] // a second end would show
		}
	}
	return ended
}

func TestStopsWithItsConsumer(t *testing.T) {
	p := &provider{answer: []byte(streams["calls"])}
	for d, err := range p.open(anthropic.ProviderOptions{}).Chat(t.Context(), question("hi")) {
		if err != nil {
			t.Fatal(err)
		}
		if d.Kind == chat.DeltaCallEnd {
			break
		}
	}
}

func FuzzStream(f *testing.F) {
	for _, stream := range streams {
		f.Add([]byte(stream))
	}
	f.Add([]byte(sse(start, `{"type":"error","error":{"type":"overloaded_error","message":"x"}}`)))
	f.Fuzz(func(t *testing.T, stream []byte) {
		all, err := deltas(t, stream)
		checkOrder(t, all, err)
		var w bytes.Buffer
		e := anthropic.NewEncoder(&w, anthropic.EncoderOptions{ID: "msg_1", Model: "m"})
		var c chat.Collector
		for _, d := range all {
			c.Add(d)
			if err := e.Write(d); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		body, err := anthropic.EncodeResponse(anthropic.EncoderOptions{}, c.Response())
		if err != nil || !json.Valid(body) {
			t.Fatalf("%v: %s", err, body)
		}
		again, err := deltas(t, w.Bytes())
		if err != nil {
			t.Fatalf("what we wrote cannot be read: %v\n%s", err, w.Bytes())
		}
		checkOrder(t, again, nil)
	})
}

// checkOrder checks the invariants of a stream of deltas.
func checkOrder(t *testing.T, all []chat.Delta, err error) {
	t.Helper()
	open, next := map[int]bool{}, 0
	for i, d := range all {
		if (d.Kind == chat.DeltaStart) != (i == 0) {
			t.Fatalf("delta %d is of the kind %d", i, d.Kind)
		}
		switch d.Kind {
		case chat.DeltaCall:
			if d.Index != next {
				t.Fatalf("call %d, want %d", d.Index, next)
			}
			open[d.Index] = true
			next++
		case chat.DeltaArguments, chat.DeltaCallEnd:
			if !open[d.Index] {
				t.Fatalf("call %d is not open", d.Index)
			}
			open[d.Index] = d.Kind == chat.DeltaArguments
		}
	}
	if finished := len(all) > 0 && all[len(all)-1].Kind == chat.DeltaFinish; finished != (err == nil) {
		t.Fatalf("finished %v, error %v", finished, err)
	}
}
