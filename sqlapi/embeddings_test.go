package sqlapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
)

func TestEmbeddings(t *testing.T) {
	f := serveTools(t, func(o *Options) {
		_, set := fakeRegistry(t, "local", "absent")
		o.Embeddings = func() *embeddings.Set { return set }
	})
	var response struct {
		Object string
		Data   []struct {
			Object    string
			Index     int
			Embedding []float32
		}
		Model string
		Usage embeddings.Usage
	}
	f.decode(f.send("POST", "/v1/embeddings", `{"model":"local","input":["tide tables","distance"]}`), &response)
	if response.Object != "list" || response.Model != "local" || len(response.Data) != 2 || response.Data[1].Index != 1 ||
		len(response.Data[0].Embedding) == 0 || response.Usage.TotalTokens == 0 {
		t.Errorf("got %+v", response)
	}
	f.want(f.send("POST", "/v1/embeddings", `{"model":"local","input":"x","encoding_format":"base64"}`), 200, `"embedding":"A`)
	for _, c := range []struct {
		body   string
		status int
		want   string
	}{
		{`{"model":"locl","input":"x"}`, 404, `"type":"invalid_request_error","param":"model","code":"model_not_found"`},
		{`{"model":"absent","input":"x"}`, 503, `"code":"model_not_loaded"`},
		{`{"model":"local","inputs":"x"}`, 400, `did you mean \"input\"?`},
		{`{"model":"local","input":"x","dimensions":3}`, 400, `"param":"dimensions"`},
		{`[]`, 400, `{"error":{"message":"the body is not a JSON object","type":"invalid_request_error","param":null,"code":null}}`},
		{strings.Repeat(" ", embeddings.MaxRequestBytes+1), 413, `"code":"request_too_large"`},
	} {
		f.want(f.send("POST", "/v1/embeddings", c.body), c.status, c.want)
	}
	f.want(f.send("POST", "/v1/embeddings", `{}`, "Origin", "http://evil.example"), 403,
		`{"error":{"message":"requests from pages of other sites are not served; `)
}

func TestEmbeddingErrors(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{&embeddings.Error{Model: "m", Status: 429, Attempts: 1}, 429, "rate_limit_exceeded"},
		{&embeddings.Error{Model: "m", Status: 401, Attempts: 1}, 502, "provider_error"},
		{context.DeadlineExceeded, 504, "timeout"},
		{context.Canceled, 503, "shutting_down"},
		{errors.New("secret"), 500, "internal"},
	} {
		e := asRequestError(embeddingError(c.err))
		body, err := json.Marshal(e.sentBody(nil, embeddingsRoute(nil)))
		if err != nil {
			t.Fatal(err)
		}
		if e.sentStatus() != c.status || !strings.Contains(string(body), fmt.Sprintf(`"code":%q`, c.code)) || strings.Contains(string(body), "secret") {
			t.Errorf("%v: got %d %s", c.err, e.sentStatus(), body)
		}
	}
}
