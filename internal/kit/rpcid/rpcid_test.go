package rpcid_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/spiced-sql/spiced/internal/kit/rpcid"
)

// ids are ids that JSON-RPC allows; the SDK changes most of them.
var ids = []string{
	`0`, `7`, `-1`, `-0`, `1.0`, `1.5`, `1e3`, `1E+3`, `999999999999999`, `9007199254740993`, `1764208000000000001`, `-9223372036854775809`,
	`1e400`, `123456789012345678901234567890`, `""`, `"a"`, `"7"`, `"\u0041"`, `"\ud800"`, `"é"`, `"é"`, `"<b>&"`, `"\u2028"`, "\"\u2028\"",
	`"\""`, `"\\"`, `"\\\""`, `"a\/b"`, `"` + strings.Repeat("x", 10_000) + `"`, "\"\xff\"",
}

// through sends a message through the SDK's decoder and encoder, as a request's id becomes that
// of its response.
func through(t *testing.T, message []byte) []byte {
	t.Helper()
	decoded, err := jsonrpc.DecodeMessage(message)
	if err != nil {
		t.Fatalf("%s: %v", message, err)
	}
	encoded, err := jsonrpc.EncodeMessage(decoded)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

func TestIDsComeBack(t *testing.T) {
	for _, id := range ids {
		for _, form := range []string{
			`{"jsonrpc":"2.0","id":%s,"method":"a"}`,
			`{"jsonrpc":"2.0","method":"a","params":{"requestId":%s}}`,
			`{"jsonrpc":"2.0","id":3,"method":"a","params":{"_meta":{"progressToken":%s,"b":1},"name":"c"}}`,
		} {
			message := fmt.Sprintf(form, id)
			protected, err := rpcid.Protect([]byte(message))
			if err != nil {
				t.Errorf("%s: %v", message, err)
				continue
			}
			if got := rpcid.Restore(through(t, protected)); string(got) != message {
				t.Errorf("%s came back as %s", message, got)
			}
		}
	}
}

func TestProtect(t *testing.T) {
	for message, want := range map[string]string{
		`{"id":1,"id":1.5,"method":"a","method":"b"}`:            `{"id":1,"id":1.5,"method":"a","method":"b"}`,
		` [{"id":1.5,"method":"a"}, {"id":"<","method":"a"},7] `: `[{"id":1.5,"method":"a"},{"id":"<","method":"a"},7]`,
		`{"id":1.5,"result":{}}`:                                 `{"id":1.5,"result":{}}`,
		`{"id":null,"error":{}}`:                                 `{"id":null,"error":{}}`,
		`{"\u0069d":1.5,"method":"a","params":[1.5]}`:            `{"\u0069d":1.5,"method":"a","params":[1.5]}`,
		`{"id":1.5,"method":`:                                    `{"id":1.5,"method":`,
		`no JSON`:                                                `no JSON`,
		``:                                                       ``,
	} {
		got, err := rpcid.Protect([]byte(message))
		if err != nil || string(rpcid.Restore(got)) != want {
			t.Errorf("%s became %s %v", message, got, err)
		}
		if calls := strings.Contains(want, "1.5,\"method\":\"") && json.Valid(got); calls && bytes.Contains(got, []byte(`d":1.5`)) {
			t.Errorf("%s is not protected: %s", message, got)
		}
	}
}

func TestIDsThatAreRefused(t *testing.T) {
	for message, want := range map[string]string{
		`{"id":null,"method":"a"}`:                                       "id must be a string or a number, got null",
		`{"id":true,"method":"a"}`:                                       "id must be a string or a number, got true",
		`[{"id":{"a":1},"method":"a"}]`:                                  "id must be a string or a number, got an object",
		`{"id":[1],"method":"a"}`:                                        "id must be a string or a number, got an array",
		`{"method":"a","params":{"requestId":null}}`:                     "requestId must be a string or a number, got null",
		`{"id":1,"method":"a","params":{"_meta":{"progressToken":{}}}}`:  "progressToken must be a string or a number, got an object",
		`{"id":"` + strings.Repeat("x", rpcid.MaxID) + `","method":"a"}`: "id has 16386 bytes; the limit is 16384",
	} {
		if got, err := rpcid.Protect([]byte(message)); err == nil || err.Error() != want {
			t.Errorf("%.80s: %s %v", message, got, err)
		}
	}
}

// TestIDsInTexts restores an id that a library repeats in an error's text.
func TestIDsInTexts(t *testing.T) {
	id, err := rpcid.ID([]byte(`"\ud800<"`))
	if err != nil {
		t.Fatal(err)
	}
	var inner string
	if err := json.Unmarshal(id, &inner); err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(map[string]string{"message": fmt.Sprintf("request ID %q is in use, {%s}", inner, inner)})
	var got map[string]string
	if err := json.Unmarshal(rpcid.Restore(text), &got); err != nil {
		t.Fatal(err)
	}
	if want := `request ID ""\ud800<"" is in use, {"\ud800<"}`; got["message"] != want {
		t.Errorf("%s, want %s", got["message"], want)
	}
	cut := fmt.Sprintf(`{"message":"%s… is in use."}`, inner[:len(inner)-3])
	if got, want := string(rpcid.Restore([]byte(cut))), `{"message":"…… is in use."}`; got != want {
		t.Errorf("of a truncated text: %s, want %s", got, want)
	}
	if again, err := rpcid.ID(id); err != nil || bytes.Equal(again, id) || string(rpcid.Restore(again)) != string(id) {
		t.Errorf("a string of a peer passes as a protected id: %s %v", again, err)
	}
}

func FuzzProtect(f *testing.F) {
	for _, id := range ids {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if !json.Valid([]byte(id)) || strings.TrimSpace(id) != id {
			return
		}
		message := `{"jsonrpc":"2.0","id":` + id + `,"method":"a"}`
		protected, err := rpcid.Protect([]byte(message))
		if err != nil {
			return // refused by name
		}
		if got := rpcid.Restore(through(t, protected)); string(got) != message {
			t.Errorf("%s came back as %s", message, got)
		}
	})
}
