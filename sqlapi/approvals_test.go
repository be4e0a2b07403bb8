package sqlapi

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/access/approval"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
)

// A body decides only by a decision that every reader of JSON finds in it.
func FuzzDecodeDecision(f *testing.F) {
	for _, s := range []string{
		`{"decision":"approve"}`, `{"decision":"deny","note":"no"}`, `{"note":"x","decision":"approve"}`, `{"decision":"Approve"}`, `{"DECISION":"approve"}`,
		`{"decision":"deny","decision":"approve"}`, `{"decision":["approve"]}`, `{"decision":null}`, `{}`, `[]`, ``, `null`, `{"decision":"approve"`,
		`{"decision":"\u0061pprove"}`,
		`{"decision":"approve","note":"\ud800"}`, "{\"decision\":\"approve\",\"note\":\"\xff\"}", `{"decision":"approve"}{"decision":"deny"}`,
		`{"decision":"approve","x":1}`,
		`{"decision":"approve","note":"` + strings.Repeat("n", approval.MaxNote+1) + `"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		d, err := decodeDecision(body)
		if err != nil {
			if e := asRequestError(err); e.Code != errcode.InvalidRequest {
				t.Fatalf("%q: %v is no fault of the client's", body, err)
			}
			return
		}
		var keys map[string]any
		if json.Unmarshal(body, &keys) != nil || keys["decision"] != string(d.Decision) || len(keys) > 2 || !utf8.ValidString(d.Note) {
			t.Fatalf("%q decides %+v", body, d)
		}
		if d.Decision != approval.Approve && d.Decision != approval.Deny || len(d.Note) > approval.MaxNote {
			t.Fatalf("%q decides %+v", body, d)
		}
	})
}
