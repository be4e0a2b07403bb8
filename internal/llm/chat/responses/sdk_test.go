package responses_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	sdk "github.com/openai/openai-go/v3/responses"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/responses"
	"github.com/spiced-sql/spiced/internal/test/chattest"
)

// endpoint serves POST /v1/responses with scripted answers, as the runtime does.
type endpoint struct {
	deltas []chat.Delta
	fault  *chat.Error // after the deltas
	store  *responses.Store
	last   *responses.Request
	number int
}

func (d *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	request, err := responses.ParseRequest(body)
	if err == nil {
		err = d.store.Resume("", request)
	}
	if err == nil && d.fault != nil && len(d.deltas) == 0 {
		err = d.fault
	}
	if err != nil {
		fault := chat.AsError(err)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(chattest.Status(fault.Code))
		_, _ = w.Write(responses.EncodeError(fault))
		return
	}
	d.last = request
	o := options(request)
	d.number++
	o.ID += string(rune('0' + d.number))
	collected, _ := chat.Collect(sequence(d.deltas))
	d.store.Save("", o, collected)
	if !request.Stream {
		answer, _ := responses.EncodeResponse(o, collected)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	d.stream(responses.NewEncoder(w, o))
}

func (d *endpoint) stream(e chat.Encoder) {
	_ = e.Event("tool_call", json.RawMessage(`{"tool":"tide","error":null}`))
	for _, delta := range d.deltas {
		_ = e.Write(delta)
	}
	_ = e.Event("tool_result", json.RawMessage(`{"ok":true}`))
	if d.fault != nil {
		_ = e.Fail(d.fault)
		return
	}
	_ = e.Close()
}

// official is the official Go client of an endpoint.
func official(t *testing.T, d *endpoint) openai.Client {
	d.store = responses.NewStore(responses.StoreOptions{})
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	return openai.Client{
		Options: []option.RequestOption{option.WithBaseURL(server.URL + "/v1/"), option.WithAPIKey("k"), option.WithMaxRetries(0)},
		Responses: sdk.NewResponseService(option.WithBaseURL(server.URL+"/v1/"), option.WithAPIKey("k"),
			option.WithMaxRetries(0), option.WithHTTPClient(server.Client())),
	}
}

func question(text string) sdk.ResponseNewParams {
	return sdk.ResponseNewParams{Model: "assistant", Input: sdk.ResponseNewParamsInputUnion{OfString: openai.String(text)}}
}

func TestOfficialClientReadsAStream(t *testing.T) {
	for name, deltas := range answers {
		t.Run(name, func(t *testing.T) {
			client := official(t, &endpoint{deltas: deltas})
			events := client.Responses.NewStreaming(t.Context(), question("hi"))
			var accumulated sdk.ResponseAccumulator
			var final sdk.Response
			streamed := ""
			for events.Next() {
				e := events.Current()
				switch e.Type {
				case "response.output_text.delta":
					streamed += e.Delta
				case "response.completed", "response.incomplete":
					final = e.Response
				}
				accumulate(t, &accumulated, e)
			}
			if events.Err() != nil {
				t.Fatal(events.Err())
			}
			snapshot := accumulated.Snapshot()
			if final.OutputText() != streamed || snapshot.OutputText() != streamed || snapshot.TerminalEvent == "" || len(snapshot.Output) != len(final.Output) {
				t.Errorf("streamed %q, accumulated %+v, final %q", streamed, snapshot, final.OutputText())
			}
		})
	}
}

// accumulate passes an event to the client's accumulator.
func accumulate(t *testing.T, a *sdk.ResponseAccumulator, e sdk.ResponseStreamEventUnion) {
	t.Helper()
	var event sdk.ResponsesServerEventUnion
	if err := json.Unmarshal([]byte(e.RawJSON()), &event); err != nil {
		t.Fatal(err)
	}
	if err := a.AddEvent(event); err != nil {
		t.Fatalf("%s: %v", e.RawJSON(), err)
	}
}

func TestOfficialClientReadsAResponse(t *testing.T) {
	d := &endpoint{deltas: answers["calls"]}
	client := official(t, d)
	params := question("hi")
	params.Instructions = openai.String("Be brief.")
	params.Tools = []sdk.ToolUnionParam{{OfFunction: &sdk.FunctionToolParam{
		Name: "tide", Parameters: map[string]any{"type": "object"},
		Strict: openai.Bool(false),
	}}}
	params.ToolChoice = sdk.ResponseNewParamsToolChoiceUnion{OfToolChoiceMode: param.NewOpt(sdk.ToolChoiceOptionsRequired)}
	got, err := client.Responses.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != "completed" || got.OutputText() != "Let me see." || len(got.Output) != 3 || got.Output[2].CallID != "c2" ||
		got.Output[2].Arguments.OfString != `{"port":"Brest"}` || got.Usage.TotalTokens != 19 || got.Usage.InputTokensDetails.CachedTokens != 4 ||
		got.Usage.OutputTokensDetails.ReasoningTokens != 3 || got.Instructions.OfString != "Be brief." || len(got.Tools) != 1 {
		t.Errorf("%s", got.RawJSON())
	}
	if len(d.last.Tools) != 1 || d.last.Choice.Mode != chat.ChoiceRequired {
		t.Errorf("%+v", d.last)
	}
}

// TestOfficialClientGoesOn answers a call by previous_response_id, and again by the
// items of the answer.
func TestOfficialClientGoesOn(t *testing.T) {
	d := &endpoint{deltas: answers["calls"]}
	client := official(t, d)
	first, err := client.Responses.New(t.Context(), question("hi"))
	if err != nil {
		t.Fatal(err)
	}
	result := sdk.ResponseInputItemParamOfFunctionCallOutput("12 km")
	result.OfFunctionCallOutput.CallID = openai.String("c1")
	next := sdk.ResponseNewParams{
		Model: "assistant", PreviousResponseID: openai.String(first.ID),
		Input: sdk.ResponseNewParamsInputUnion{OfInputItemList: sdk.ResponseInputParam{result}},
	}
	if _, err := client.Responses.New(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	wantChain(t, d.last)
	next.PreviousResponseID = param.Opt[string]{}
	items := sdk.ResponseInputParam{sdk.ResponseInputItemParamOfMessage("hi", sdk.EasyInputMessageRoleUser)}
	for _, item := range first.Output {
		items = append(items, param.Override[sdk.ResponseInputItemUnionParam](json.RawMessage(item.RawJSON())))
	}
	next.Input.OfInputItemList = append(items, result)
	if _, err := client.Responses.New(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	wantChain(t, d.last)
}

func wantChain(t *testing.T, r *responses.Request) {
	t.Helper()
	m := r.Messages
	if len(m) != 3 || m[0].Text() != "hi" || m[1].Text() != "Let me see." || len(m[1].Calls()) != 2 || m[2].Parts[0].Result.Text() != "12 km" {
		t.Errorf("%+v", m)
	}
}

func TestOfficialClientReadsErrors(t *testing.T) {
	client := official(t, &endpoint{fault: &chat.Error{Code: errcode.RateLimited, Message: "slow down"}})
	var fault *openai.Error
	if _, err := client.Responses.New(t.Context(), question("hi")); !errors.As(err, &fault) || fault.StatusCode != 429 || fault.Code != "rate_limit_exceeded" ||
		fault.Message != "slow down" {
		t.Errorf("%v", err)
	}
	params := question("hi")
	params.PreviousResponseID = openai.String("resp_unknown")
	if _, err := client.Responses.New(t.Context(), params); !errors.As(err, &fault) || fault.StatusCode != 400 || fault.Code != "previous_response_not_found" ||
		fault.Param != "previous_response_id" {
		t.Errorf("%v", err)
	}
}

func TestOfficialClientSeesAStreamFail(t *testing.T) {
	client := official(t, &endpoint{deltas: []chat.Delta{start, text("half")}, fault: &chat.Error{Code: errcode.StreamBroken, Message: "it broke off"}})
	events := client.Responses.NewStreaming(t.Context(), question("hi"))
	failed := false
	for events.Next() {
		e := events.Current()
		failed = failed || e.Type == "response.failed" && e.Response.Status == "failed" && e.Response.Error.Message == "it broke off"
	}
	if !failed || events.Err() == nil {
		t.Errorf("failed %v, error %v", failed, events.Err())
	}
}
