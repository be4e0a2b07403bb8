package main

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/test/chattest"
)

// modelKey is the key of every provider, which nothing may show.
const modelKey = "sk-live-0123456789"

// chatPod is a Spicepod for chats.
type chatPod struct {
	functions  int    // how many of testdata/chat/functions.yaml
	tools      string // of the models
	embeddings string // the section, or nothing
	more       string // models, as YAML
	patience   string // with the provider; "" is 20s
}

const hashEmbeddings = "embeddings: [{ name: local, from: \"builtin:hash\" }]\n"

// The Spicepods of the tests: registry has 31 tools, direct 20.
var (
	registryPod = chatPod{functions: 25, tools: "auto", embeddings: hashEmbeddings}
	directPod   = chatPod{functions: 14, tools: "auto", embeddings: hashEmbeddings}
)

// text is the Spicepod with its models at a provider.
func (c chatPod) text(t *testing.T, url string) string {
	t.Helper()
	all := strings.SplitAfter(read(t, "testdata/chat/functions.yaml"), "\n  - name:")
	functions := strings.TrimSuffix(strings.Join(all[:c.functions+1], ""), "  - name:")
	models := strings.NewReplacer("MODEL_URL", url, "TOOLS", c.tools, "PATIENCE", cmp.Or(c.patience, "20s")).Replace(read(t, "testdata/chat/models.yaml") + c.more)
	return podHead + functions + "\n" + c.embeddings + models
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// chatting is a program whose models are scripted.
type chatting struct {
	*program
	model *chattest.Server
}

// startChat serves a Spicepod until the test ends.
func startChat(t *testing.T, pod chatPod) *chatting {
	t.Helper()
	model := startModel(t)
	return &chatting{start(t, folder(t, "spicepod.yaml", pod.text(t, model.URL))), model}
}

func startModel(t *testing.T) *chattest.Server {
	t.Helper()
	model, err := chattest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	return model
}

// last is the latest request that the provider got.
func (c *chatting) last() chattest.Request {
	c.t.Helper()
	all := c.model.Requests()
	if len(all) == 0 {
		c.t.Fatal("the provider got no request")
	}
	return all[len(all)-1]
}

// question is what a client asks.
type question struct {
	model, text string
	image       string   // base64 of a PNG
	tools       []string // of the client, without parameters
	choice      string   // auto, none, required, a tool; "" says nothing
	stream      bool
	silent      bool // about tokens, in a stream of OpenAI's
}

// said is what a client understood of an answer.
type said struct {
	text, reason string
	calls        []chat.Call // of the client's tools
	usage        chat.Usage
	counted      bool // a stream had the tokens
	// reply sends the result of every call and asks again.
	reply func(result string) (said, error)
}

// goClients are the official clients for Go, by the protocol they speak to.
var goClients = map[chat.Form]func(*program, question) (said, error){
	chat.FormOpenAI: askOpenAI, chat.FormResponses: askResponses, chat.FormAnthropic: askAnthropic,
}

// modelOf are the names in testdata/chat/models.yaml, by the form that their
// provider speaks.
var modelOf = map[chat.Form]string{
	chat.FormOpenAI: "helper", chat.FormResponses: "responder", chat.FormAnthropic: "claude",
}

// asker asks at one protocol.
type asker func(question) (said, error)

// everyProtocol runs a test for each protocol, streaming and not. A question that names
// no model goes to the one whose provider speaks the protocol's own form.
func everyProtocol(t *testing.T, c *chatting, test func(t *testing.T, ask asker, protocol chat.Form, stream bool)) {
	t.Helper()
	for protocol, client := range goClients {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s stream=%t", protocol, stream), func(t *testing.T) {
				test(t, func(q question) (said, error) {
					q.stream = stream
					if q.model == "" {
						q.model = modelOf[protocol]
					}
					return client(c.program, q)
				}, protocol, stream)
			})
		}
	}
}

// distance is the question of the scripted conversations. 4129 is its answer.
const (
	distance    = "How far is San Francisco from New York?"
	coordinates = `{"lat1": 37.7749, "lon1": -122.4194, "lat2": 40.7128, "lon2": -74.0060}`
)

var (
	toolID     = regexp.MustCompile(`\\*"tool_id\\*":\s*\\*"([a-z_]+)\\*"`)
	kilometres = regexp.MustCompile(`4129\.\d`)
)

// searching is a model that finds its tool with tool_search, calls it with
// tool_invoke, and says what it got and nothing else.
func searching(r chattest.Request) chattest.Answer {
	cost := chattest.Usage(100, 10, 60, 20)
	if result, ok := r.Results["invoke_1"]; ok {
		return chattest.Say(chattest.Text("It is ", kilometres.FindString(result), " km."), cost)
	}
	if found, ok := r.Results["search_1"]; ok {
		id := toolID.FindStringSubmatch(found)
		if id == nil {
			return chattest.Say(chattest.Text("No tool in " + found))
		}
		arguments := fmt.Sprintf(`{"tool_id": %q, "arguments": %s}`, id[1], coordinates)
		half := len(arguments) / 2
		return chattest.Say(chattest.Call("invoke_1", "tool_invoke", arguments[:half], arguments[half:]), cost)
	}
	return chattest.Say(chattest.Call("search_1", "tool_search", `{"query":`, ` "kilometres between two points"}`), cost)
}

// calling is a model that calls its tool at once.
func calling(r chattest.Request) chattest.Answer {
	cost := chattest.Usage(100, 10, 60, 20)
	if result, ok := r.Results["call_1"]; ok {
		return chattest.Say(chattest.Text("It is ", kilometres.FindString(result), " km."), cost)
	}
	return chattest.Say(chattest.Call("call_1", "haversine_km", coordinates[:20], coordinates[20:]), cost)
}

// beside is a model that calls a tool of the runtime and one of the client in
// one answer.
func beside(r chattest.Request) chattest.Answer {
	cost := chattest.Usage(100, 10, 60, 20)
	where, ok := r.Results["where_1"]
	if !ok {
		return chattest.Say(chattest.Text("Let me see. "),
			chattest.Call("call_1", "haversine_km", coordinates), chattest.Call("where_1", "get_location", "{}"), cost)
	}
	return chattest.Say(chattest.Text("From ", where, ": It is ", kilometres.FindString(r.Results["call_1"]), " km."), cost)
}

// dot is the picture that tests send.
var dot = base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n and what follows +/="))

// wantAnswer checks the end of a conversation of so many requests.
func wantAnswer(t *testing.T, got said, err error, requests int64) {
	t.Helper()
	want := chat.Usage{Input: 100 * requests, Output: 10 * requests, CacheRead: 60 * requests, CacheWrite: 20 * requests}
	switch {
	case err != nil:
		t.Error(err)
	case !strings.Contains(got.text, "It is 4129.1 km.") && !strings.Contains(got.text, "It is 4129.0 km."):
		t.Errorf("it said %q", got.text)
	case len(got.calls) > 0 || !slices.Contains([]string{"stop", "completed", "end_turn"}, got.reason):
		t.Errorf("it ended with %q and the calls %+v, which are not the client's", got.reason, got.calls)
	case got.usage != want:
		t.Errorf("usage %+v, want the sum %+v", got.usage, want)
	}
}

// listedModel is a model as GET /v1/models shows it.
type listedModel struct {
	ID, Status, Error string
	Tools             struct {
		Mode, Reason   string
		Count          int
		Advertised     []string
		EmbeddingModel string `json:"embedding_model"`
	}
}

// listed are the models by their names, as GET /v1/models shows them.
func (c *chatting) listed() map[string]listedModel {
	c.t.Helper()
	var list struct{ Data []listedModel }
	if err := json.Unmarshal([]byte(c.do("GET", "/v1/models?status=true", "").body), &list); err != nil {
		c.t.Fatal(err)
	}
	all := map[string]listedModel{}
	for _, m := range list.Data {
		all[m.ID] = m
	}
	return all
}
