package embeddings_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/test/podtest"
)

func TestParseRequest(t *testing.T) {
	cases := map[string]embeddings.Request{
		`{"model":"m","input":"a"}`:                                          {Model: "m", Texts: []string{"a"}},
		`{"model":"m","input":["a","b"],"user":"u"}`:                         {Model: "m", Texts: []string{"a", "b"}, User: "u"},
		`{"model":"m","input":"a","encoding_format":"float","dimensions":3}`: {Model: "m", Texts: []string{"a"}, Dimensions: 3},
		`{"model":"m","input":["a"],"encoding_format":"base64"}`:             {Model: "m", Texts: []string{"a"}, Base64: true},
		`{"model":"m","input":"a","dimensions":null,"user":null,"x":null}`:   {Model: "m", Texts: []string{"a"}},
		`{"model":"m","input":"\u00e4 \ud800"}`:                              {Model: "m", Texts: []string{"ä \uFFFD"}},
	}
	for body, want := range cases {
		got, err := embeddings.ParseRequest([]byte(body))
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
}

func TestParseRequestRefuses(t *testing.T) {
	many := `["a"` + strings.Repeat(`,"a"`, embeddings.MaxInputs) + `]`
	cases := []struct {
		body, param, want string
		status            int
	}{
		{``, "", "the body is not a JSON object", 400},
		{`[]`, "", "the body is not a JSON object", 400},
		{`null`, "", "the body is not a JSON object", 400},
		{`{"model":"m"} x`, "", "the body is not a JSON object", 400},
		{`{"model":"m"}`, "input", "you must provide an input", 400},
		{`{"model":"m","input":null}`, "input", "you must provide an input", 400},
		{`{"model":"m","input":""}`, "input", "input is empty", 400},
		{`{"model":"m","input":[]}`, "input", "input is empty", 400},
		{`{"model":"m","input":["a",""]}`, "input", "input[1] is empty", 400},
		{`{"model":"m","input":["a",1]}`, "input", "input[1] is not a string", 400},
		{`{"model":"m","input":["a",null]}`, "input", "input[1] is not a string", 400},
		{`{"model":"m","input":[1,2]}`, "input", "input has token numbers", 400},
		{`{"model":"m","input":[[1,2],[3]]}`, "input", "input has token numbers", 400},
		{`{"model":"m","input":{"text":"a"}}`, "input", "must be a string or an array", 400},
		{`{"model":"m","input":7}`, "input", "must be a string or an array", 400},
		{`{"model":"m","input":` + many + `}`, "input", "input has 2049 texts; at most 2048", 400},
		{`{"model":"m","input":"` + strings.Repeat("a", embeddings.MaxTextBytes+1) + `"}`, "input", "input[0] has 1048577 bytes", 400},
		{`{"input":"a"}`, "model", "you must provide a model", 400},
		{`{"model":"","input":"a"}`, "model", "you must provide a model", 400},
		{`{"model":["m"],"input":"a"}`, "model", "model must be a string", 400},
		{`{"model":"m","input":"a","encoding_format":"int8"}`, "encoding_format", `must be "float" or "base64", got "int8"`, 400},
		{`{"model":"m","input":"a","encoding_format":1}`, "encoding_format", "must be a string", 400},
		{`{"model":"m","input":"a","dimensions":0}`, "dimensions", "an integer from 1", 400},
		{`{"model":"m","input":"a","dimensions":1.5}`, "dimensions", "an integer from 1", 400},
		{`{"model":"m","input":"a","dimensions":"3"}`, "dimensions", "an integer from 1", 400},
		{`{"model":"m","input":"a","dimensions":99999}`, "dimensions", "from 1 to 16384", 400},
		{`{"model":"m","input":"a","user":{}}`, "user", "user must be a string", 400},
		{`{"model":"m","inptu":"a"}`, "inptu", `unrecognized request argument: inptu; did you mean "input"?`, 400},
		{`{"model":"m","Input":"a"}`, "Input", `did you mean "input"?`, 400},
		{strings.Repeat(" ", embeddings.MaxRequestBytes+1), "", "the request has more than", 413},
	}
	for _, c := range cases {
		_, err := embeddings.ParseRequest([]byte(c.body))
		var e *embeddings.WireError
		if !errors.As(err, &e) {
			t.Errorf("%.60s: %v", c.body, err)
			continue
		}
		if e.Status != c.status || e.Param != c.param || e.Type != "invalid_request_error" || !strings.Contains(e.Message, c.want) {
			t.Errorf("%.60s: %+v", c.body, e)
		}
	}
}

// fixed is a model that knows its vectors and, maybe, its dimensions.
type fixed struct {
	vector     []float32
	dimensions int
	err        error
	calls      int
}

func (f *fixed) Name() string        { return "fixed" }
func (f *fixed) Dimensions() int     { return f.dimensions }
func (f *fixed) Fingerprint() string { return "fixed" }

func (f *fixed) Embed(_ context.Context, texts []string) ([][]float32, error) {
	f.calls++
	return slices.Repeat([][]float32{f.vector}, len(texts)), f.err
}

func TestAnswerIsOpenAIsForm(t *testing.T) {
	m := &fixed{vector: []float32{1.5, -0.25}, dimensions: 2}
	for body, want := range map[string]string{
		`{"model":"m","input":["12345","b"]}`: `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[1.5,-0.25]},` +
			`{"object":"embedding","index":1,"embedding":[1.5,-0.25]}],"model":"m","usage":{"prompt_tokens":3,"total_tokens":3}}`,
		`{"model":"m","input":"a","encoding_format":"base64","dimensions":2}`: `{"object":"list","data":[{"object":"embedding","index":0,` +
			`"embedding":"AADAPwAAgL4="}],"model":"m","usage":{"prompt_tokens":1,"total_tokens":1}}`,
	} {
		r, err := embeddings.ParseRequest([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := embeddings.Answer(t.Context(), m, r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(response)
		if err != nil || string(got) != want {
			t.Errorf("%s, %v\nwant %s", got, err, want)
		}
	}
}

// What we answer, our own client can read.
func TestAnswersCanBeReadBack(t *testing.T) {
	for _, base64 := range []bool{false, true} {
		r := &embeddings.Request{Model: "m", Texts: []string{"a", "b"}, Base64: base64}
		want := [][]float32{{1.0 / 3, -1e-38}, {3e38, 0}}
		body, err := json.Marshal(embeddings.NewResponse(r, want, embeddings.Usage{PromptTokens: 2, TotalTokens: 2}))
		if err != nil {
			t.Fatal(err)
		}
		got, usage, err := embeddings.DecodeAnswer(body, 2)
		if diff := cmp.Diff(want, got); err != nil || diff != "" || usage.TotalTokens != 2 {
			t.Errorf("%v, %v, %s", err, usage, diff)
		}
	}
}

func TestAnswerRefusesOtherDimensions(t *testing.T) {
	r := &embeddings.Request{Model: "m", Texts: []string{"a"}, Dimensions: 3}
	for _, known := range []int{0, 2} {
		m := &fixed{vector: []float32{1, 2}, dimensions: known}
		_, err := embeddings.Answer(t.Context(), m, r)
		e := embeddings.AsWireError(err)
		if e == nil || e.Status != 400 || e.Param != "dimensions" || !strings.Contains(e.Message, `the model "m" has 2 dimensions, not 3`) {
			t.Errorf("%v", err)
		}
		if known != 0 && m.calls != 0 {
			t.Error("the model was asked although its dimensions are known")
		}
	}
}

func TestAsWireError(t *testing.T) {
	var set embeddings.Set
	_, unknown := set.Model("x")
	failed, _ := embeddings.NewSet(podtest.Load(t, "embeddings: [{name: bad, from: 'x:y'}]\n"), embeddings.Options{})
	_, notLoaded := failed.Model("bad")
	cases := []struct {
		err                error
		status             int
		typ, code, message string
	}{
		{unknown, 404, "invalid_request_error", "model_not_found", `the embedding model "x" does not exist`},
		{notLoaded, 503, "server_error", "model_not_loaded", "was not loaded"},
		{fmt.Errorf("x: %w", context.Canceled), embeddings.StatusClientClosed, "server_error", "cancelled", ""},
		{&embeddings.Error{Message: "slow", Err: context.DeadlineExceeded, Attempts: 1}, 504, "server_error", "timeout", "slow"},
		{&embeddings.Error{Status: 429, Attempts: 6}, 429, "rate_limit_error", "rate_limit_exceeded", "429"},
		{&embeddings.Error{Status: 401, Attempts: 1}, 502, "server_error", "provider_error", "401"},
		{&embeddings.Error{Status: 500, Attempts: 1}, 502, "server_error", "provider_error", "500"},
		{&embeddings.Error{Status: 200, Message: "bad answer", Attempts: 1}, 502, "server_error", "provider_error", "bad answer"},
		{&embeddings.Error{Status: 400, Message: "too many tokens", Attempts: 1}, 400, "invalid_request_error", "", "too many tokens"},
		{&embeddings.Error{Message: "text 0 is empty"}, 400, "invalid_request_error", "", "text 0 is empty"},
		{errors.New("strange"), 500, "server_error", "", "strange"},
	}
	for _, c := range cases {
		e := embeddings.AsWireError(c.err)
		if e.Status != c.status || e.Type != c.typ || e.Code != c.code || !strings.Contains(e.Message, c.message) {
			t.Errorf("%v: %+v", c.err, e)
		}
	}
	if e := embeddings.AsWireError(nil); e != nil {
		t.Errorf("nil: %v", e)
	}
}

func TestWireErrorBody(t *testing.T) {
	for want, e := range map[string]*embeddings.WireError{
		`{"error":{"message":"m","type":"t","param":"p","code":"c"}}`:   {Status: 400, Message: "m", Type: "t", Param: "p", Code: "c"},
		`{"error":{"message":"m","type":"t","param":null,"code":null}}`: {Status: 500, Message: "m", Type: "t"},
	} {
		if got, err := json.Marshal(e); err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}

func FuzzParseRequest(f *testing.F) {
	for _, body := range []string{
		`{"model":"m","input":"a"}`, `{"model":"m","input":["a","b"],"encoding_format":"base64","dimensions":3,"user":"u"}`,
		`{"model":"m","input":[[1]]}`, `{"model":"m","input":[null]}`, `{}`, `{"input":[ ]}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := embeddings.ParseRequest(body)
		if err != nil {
			var e *embeddings.WireError
			if !errors.As(err, &e) || e.Message == "" || e.Status < 400 {
				t.Fatalf("error %v (%T)", err, err)
			}
			if _, err := json.Marshal(e); err != nil {
				t.Fatal(err)
			}
			return
		}
		if r.Model == "" || len(r.Texts) == 0 || len(r.Texts) > embeddings.MaxInputs || slices.Contains(r.Texts, "") || r.Dimensions < 0 {
			t.Fatalf("request %+v", r)
		}
	})
}
