package anthropic_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/anthropic"
	"github.com/spiced-sql/spiced/internal/test/golden"
)

func text(s string) chat.Delta { return chat.Delta{Kind: chat.DeltaText, Text: s} }

func thinking(s string) chat.Delta { return chat.Delta{Kind: chat.DeltaThinking, Text: s} }

func begin(i int, id, name string) chat.Delta {
	return chat.Delta{Kind: chat.DeltaCall, Index: i, Call: &chat.Call{ID: id, Name: name}}
}

func arguments(i int, s string) chat.Delta {
	return chat.Delta{Kind: chat.DeltaArguments, Index: i, Text: s}
}

func ends(i int) chat.Delta { return chat.Delta{Kind: chat.DeltaCallEnd, Index: i} }

func cost(u chat.Usage) chat.Delta { return chat.Delta{Kind: chat.DeltaUsage, Usage: u} }

func finish(r chat.Reason) chat.Delta { return chat.Delta{Kind: chat.DeltaFinish, Reason: r} }

func part(kind chat.PartKind, form chat.Form, raw string) chat.Delta {
	return chat.Delta{Kind: chat.DeltaPart, Part: &chat.Part{Kind: kind, Raw: json.RawMessage(raw), Form: form}}
}

var (
	begins = chat.Delta{Kind: chat.DeltaStart}
	round  = chat.Delta{Kind: chat.DeltaRound}
)

// answers are streams of deltas of providers of any API.
var answers = map[string][]chat.Delta{
	"text":        {begins, text("Hel"), text("lo <b>"), cost(chat.Usage{Input: 1100, Output: 7, CacheRead: 1000, CacheWrite: 60}), finish(chat.ReasonStop)},
	"usage first": {begins, cost(chat.Usage{Input: 30}), text("Hi"), cost(chat.Usage{Input: 30, Output: 9, Reasoning: 5}), finish(chat.ReasonLength)},
	"interleaved": {
		begins, text("Both."), begin(0, "call_1", "a"), arguments(0, `{"x":`), begin(1, "call_2", "b"), arguments(1, `{"y":`),
		text("And more."), arguments(0, `1}`), arguments(1, `2`), ends(0), arguments(1, `}`), ends(1), finish(chat.ReasonCalls),
	},
	"rounds":  {begins, text("First."), begin(0, "call_1", "a"), ends(0), round, text("Second."), round, text("Third."), finish(chat.ReasonStop)},
	"no ends": {begins, begin(0, "call_1", "a"), arguments(0, "{}"), begin(1, "call_2", "b"), arguments(1, `{"z":0}`), finish(chat.ReasonCalls)},
	"refusal": {begins, {Kind: chat.DeltaRefusal, Text: "I will not."}, finish(chat.ReasonFilter)},
	"pause": {
		begins, part(chat.PartOther, chat.FormAnthropic, `{"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"x"}}`),
		finish(chat.ReasonPause),
	},
	"thinking": {
		begins, thinking("Hm."), part(chat.PartThinking, chat.FormAnthropic, `{"type":"thinking","thinking":"Hm.","signature":"sig"}`), text("So."),
		finish(chat.ReasonStop),
	},
	"thinking of another form": {
		begins, thinking("Hm."),
		{Kind: chat.DeltaPart, Part: &chat.Part{Kind: chat.PartThinking, Text: "Hm.", Raw: json.RawMessage(`{"type":"reasoning"}`), Form: chat.FormResponses}},
		thinking("Ha."), text("So."), finish(chat.ReasonStop),
	},
	"thinking in one piece": {
		begins, part(chat.PartThinking, chat.FormAnthropic, `{"type":"thinking","thinking":"Hm.","signature":"sig"}`),
		part(chat.PartThinking, chat.FormAnthropic, `{"type":"redacted_thinking","data":"x"}`), finish(chat.ReasonStop),
	},
	"nothing": {},
}

// written returns the stream of an answer.
func written(t testing.TB, all []chat.Delta) []byte {
	t.Helper()
	var w bytes.Buffer
	e := anthropic.NewEncoder(&w, anthropic.EncoderOptions{ID: "msg_1", Model: "assistant"})
	for _, d := range all {
		if err := e.Write(d); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return w.Bytes()
}

func TestEncoder(t *testing.T) {
	for name, all := range answers {
		t.Run(name, func(t *testing.T) {
			golden.Equal(t, "testdata/encoder/"+strings.ReplaceAll(name, " ", "_")+".sse", written(t, all))
		})
	}
}

// A stream of a provider of this API reaches a client of this API with the same
// meaning.
func TestStreamsPassThrough(t *testing.T) {
	for name, stream := range streams {
		if name == "interleaved" || name == "no reason" { // leaves in another order, and with a reason
			continue
		}
		t.Run(name, func(t *testing.T) {
			want, err := deltas(t, []byte(stream))
			if err != nil {
				t.Fatal(err)
			}
			got, err := deltas(t, written(t, want))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(meaning(t, want)), string(meaning(t, got))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// meaning removes what may differ: how often the usage is sent, and the borders of text
// without citations.
func meaning(t *testing.T, all []chat.Delta) []byte {
	t.Helper()
	var kept []chat.Delta
	var last chat.Delta
	for _, d := range all {
		switch {
		case d.Kind == chat.DeltaUsage:
			last = d
		case d.Kind == chat.DeltaText && d.Text == "" && !bytes.Contains(d.Raw, []byte("citations")):
		default:
			kept = append(kept, d)
		}
	}
	return show(t, append(kept, last))
}

func TestEncoderEvents(t *testing.T) {
	var w bytes.Buffer
	e := anthropic.NewEncoder(&w, anthropic.EncoderOptions{ID: "msg_1", Model: "assistant"})
	for _, step := range []func() error{
		func() error { return e.Event("tool_call", json.RawMessage("{\n  \"type\": \"message_stop\"\n}")) },
		func() error { return e.Write(text("Hi")) },
		func() error { return e.Event("tool_result", json.RawMessage(`["<a>"]`)) },
		func() error { return e.Fail(&chat.Error{Code: errcode.RateLimited, Message: "busy"}) },
		func() error { return e.Write(text("late")) },
		func() error { return e.Event("late", json.RawMessage(`{}`)) },
		func() error { return e.Fail(&chat.Error{Code: errcode.Internal}) },
		e.Close,
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	golden.Equal(t, "testdata/encoder/events.sse", w.Bytes())
}

// Errors of the writer are returned, and every method writes at most once.
func TestEncoderWriter(t *testing.T) {
	w := &counting{}
	e := anthropic.NewEncoder(w, anthropic.EncoderOptions{})
	for _, d := range answers["interleaved"] {
		before := w.writes
		if err := e.Write(d); err != nil || w.writes > before+1 {
			t.Fatalf("%v, %d writes", err, w.writes-before)
		}
	}
	w.err = errors.New("gone")
	for _, err := range []error{e.Event("x", json.RawMessage("{}")), e.Close()} {
		if !errors.Is(err, w.err) {
			t.Errorf("%v", err)
		}
	}
}

type counting struct {
	writes int
	err    error
}

func (c *counting) Write(p []byte) (int, error) {
	c.writes++
	return len(p), c.err
}

func TestEncodeResponse(t *testing.T) {
	all := map[string][]chat.Delta{}
	for name, deltas := range answers {
		all[name] = deltas
	}
	for name, stream := range streams {
		var err error
		if all["stream "+name], err = deltas(t, []byte(stream)); err != nil {
			t.Fatal(err)
		}
	}
	for name, deltas := range all {
		t.Run(name, func(t *testing.T) {
			var c chat.Collector
			for _, d := range deltas {
				c.Add(d)
			}
			body, err := anthropic.EncodeResponse(anthropic.EncoderOptions{ID: "msg_1", Model: "assistant"}, c.Response())
			if err != nil {
				t.Fatal(err)
			}
			golden.Equal(t, "testdata/responses/"+strings.ReplaceAll(name, " ", "_")+".json", indent(t, body))
		})
	}
}

func TestEncodeBadResponse(t *testing.T) {
	bad := &chat.Response{Parts: []chat.Part{{Kind: chat.PartOther, Raw: json.RawMessage("{"), Form: chat.FormAnthropic}}}
	if body, err := anthropic.EncodeResponse(anthropic.EncoderOptions{}, bad); err == nil {
		t.Errorf("%s", body)
	}
	e := anthropic.NewEncoder(&counting{}, anthropic.EncoderOptions{})
	if err := e.Write(part(chat.PartOther, chat.FormAnthropic, "{")); err == nil {
		t.Error("a part that is not JSON was written")
	}
	if err := e.Event("x", json.RawMessage("{\n")); err == nil {
		t.Error("an event that is not JSON was written")
	}
}

func TestEncodeError(t *testing.T) {
	for code, want := range map[errcode.Code]string{
		errcode.InvalidRequest:  "invalid_request_error",
		errcode.ModelNotFound:   "not_found_error",
		errcode.RequestTooLarge: "request_too_large",
		errcode.RateLimited:     "rate_limit_error",
		errcode.ProviderError:   "api_error",
		errcode.ProviderTimeout: "timeout_error",
		errcode.ModelNotLoaded:  "api_error",
		errcode.Internal:        "api_error",
	} {
		got := string(anthropic.EncodeError(&chat.Error{Code: code, Message: `what "is" <wrong>`}))
		if got != `{"type":"error","error":{"type":"`+want+`","message":"what \"is\" <wrong>"}}` {
			t.Errorf("%s: %s", code, got)
		}
	}
}

func BenchmarkEncoder(b *testing.B) {
	e := anthropic.NewEncoder(&counting{}, anthropic.EncoderOptions{ID: "msg_1", Model: "assistant"})
	b.ReportAllocs()
	for b.Loop() {
		if err := e.Write(text("some words ")); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecoder(b *testing.B) {
	const events = 1000
	pieces := []string{start, textStart(0)}
	for range events {
		pieces = append(pieces, textPiece(0, "some words "))
	}
	stream := []byte(sse(append(pieces, stop(0), change("end_turn", 9), end)...))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := deltas(b, stream); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
}
