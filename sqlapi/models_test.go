package sqlapi

import (
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/llm/models"
)

func twoModels() []models.Info {
	return []models.Info{
		{
			Name: "team/helper", From: "openai:gpt-5", Status: models.StatusReady, Description: "Helps.", Datasets: []string{"trips"},
			ToolPlan: models.ToolPlan{
				Declared: "auto", Mode: "registry", Reason: "24 tools, more than 20", Count: 24,
				Advertised: []string{"tool_search", "tool_invoke"}, Pinned: []string{"sql"}, EmbeddingModel: "local", DefinitionTokens: 310, DirectTokens: 1200,
			},
		},
		{Name: "broken", From: "anthropic:claude", Status: models.StatusError, Error: "no key"},
	}
}

func TestModelsAreListed(t *testing.T) {
	f := serveChats(t, &fakeChats{models: twoModels()}, nil)
	r := f.send("GET", "/v1/models", "")
	f.want(r, 200, `{"object":"list","data":[{"id":"team/helper","owned_by":"openai:gpt-5","datasets":["trips"],"description":"Helps.","object":"model","created":0,`+
		`"tools":{"declared":"auto","mode":"registry","reason":"24 tools, more than 20","count":24,"advertised":["tool_search","tool_invoke"],`+
		`"pinned":["sql"],"definition_tokens":310,"direct_tokens":1200,"embedding_model":"local"},"status":null},{"id":"broken",`)
	f.want(r, 200, `"datasets":null,"error":"no key","object":"model","created":0,"status":null}]}`)
	if r.header.Get(headerGeneration) != "7" {
		t.Errorf("headers %v", r.header)
	}
	f.want(f.send("GET", "/v1/models?status=true", ""), 200, `"status":"Error"`)
	f.want(f.send("GET", "/v1/models?metadata_fields=supports_responses_api", ""), 200, `"metadata":{"supports_responses_api":"true"}`)
	f.want(f.send("GET", "/v1/models?metadata_fields=x", ""), 400, "supports_responses_api")
	f.want(f.send("GET", "/v1/models?format=csv&status=true", ""), 200,
		"id,object,owned_by,datasets,status,error\nteam/helper,model,openai:gpt-5,trips,Ready,\nbroken,model,anthropic:claude,,Error,no key\n")
	f.want(f.send("GET", "/v1/models?format=xml", ""), 400, "use json or csv")
	f.want(f.send("GET", "/v1/models?status=perhaps", ""), 400, "status")
	empty := serveChats(t, &fakeChats{}, nil)
	empty.want(empty.send("GET", "/v1/models", ""), 200, `{"object":"list","data":[]}`)
	empty.want(empty.send("GET", "/v1/models", "", "Anthropic-Version", "2023-06-01"), 200, `{"data":[],"has_more":false,"first_id":null,"last_id":null}`)
	none := serve(t, nil)
	none.want(none.send("GET", "/v1/models", ""), 404, "not_served")
	none.want(none.send("GET", "/v1/models/x", ""), 404, "not_served")
}

func TestAModelIsShown(t *testing.T) {
	f := serveChats(t, &fakeChats{models: twoModels()}, nil)
	for _, name := range []string{"team/helper", "team%2Fhelper"} {
		f.want(f.send("GET", "/v1/models/"+name+"?status", ""), 200, `{"id":"team/helper",`)
	}
	f.want(f.send("GET", "/v1/models/broken?status=true", ""), 200, `"status":"Error"`)
	r := f.send("GET", "/v1/models/broke", "")
	f.want(r, 404, `{"error":{"message":"there is no model \"broke\"; did you mean \"broken\"?"`)
	f.want(r, 404, `"code":"model_not_found"`)
	f.want(f.send("GET", "/v1/models/"+strings.Repeat("x", 500), ""), 404, "…")
	f.want(f.send("GET", "/v1/models/broken?status=x", ""), 400, "status")
}

func TestModelsInAnthropicsForm(t *testing.T) {
	f := serveChats(t, &fakeChats{models: twoModels()}, nil)
	version := []string{"anthropic-version", "2023-06-01"}
	f.want(f.send("GET", "/v1/models", "", version...), 200, `{"data":[{"type":"model","id":"team/helper","display_name":"team/helper",`+
		`"created_at":"1970-01-01T00:00:00Z"},{"type":"model","id":"broken"`)
	f.want(f.send("GET", "/v1/models", "", version...), 200, `"has_more":false,"first_id":"team/helper","last_id":"broken"}`)
	f.want(f.send("GET", "/v1/models/broken", "", version...), 200, `{"type":"model","id":"broken","display_name":"broken","created_at":"1970-01-01T00:00:00Z"}`)
	f.want(f.send("GET", "/v1/models/broke", "", version...), 404, `"type":"not_found_error"`)
}
