package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/kit/tokens"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/openai"
	"github.com/spiced-sql/spiced/internal/llm/models"
	"github.com/spiced-sql/spiced/internal/llm/toolloop"
	"github.com/spiced-sql/spiced/internal/llm/upstream"
	"github.com/spiced-sql/spiced/internal/test/chattest"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
	"github.com/spiced-sql/spiced/tools/builtin"
)

// slowInvoker makes calls that take 300 ms.
type slowInvoker struct{}

func (slowInvoker) Invoke(ctx context.Context, _ registry.Call) tools.Result {
	if err := pause(ctx, 300*time.Millisecond); err != nil {
		return tools.Result{Error: tools.AsError(err)}
	}
	return tools.Result{OK: true, Result: json.RawMessage(`42`)}
}

// benchOverlap measures a round of a stream of 1 s in which three tools of 300 ms are
// called, with their arguments complete at 0.2, 0.4 and 0.6 s: from the request to the
// request that has the results.
func benchOverlap(ctx context.Context, _ *env) ([]row, error) {
	provider, err := chattest.Start()
	if err != nil {
		return nil, err
	}
	defer provider.Close()
	fifth := chattest.Wait(200 * time.Millisecond)
	again := make(chan time.Time, 1)
	provider.Script(func(r chattest.Request) chattest.Answer {
		if len(r.Results) == 3 {
			again <- time.Now()
			return chattest.Say(chattest.Text("done"))
		}
		return chattest.Say(
			fifth, chattest.Call("a", "slow", `{"n":`, `1}`),
			fifth, chattest.Call("b", "slow", `{"n":`, `2}`),
			fifth, chattest.Call("c", "slow", `{"n":`, `3}`), fifth, fifth)
	})
	endpoint := upstream.New(upstream.Options{Model: "m", BaseURL: provider.URL + "/v1"})
	loop := toolloop.Loop{Provider: openai.NewProvider(openai.ProviderOptions{Endpoint: endpoint, Model: "x"}), Invoker: slowInvoker{}}
	slow := []toolloop.Tool{{Tool: chat.Tool{Name: "slow", Parameters: json.RawMessage(`{"type":"object"}`)}}}
	var rounds []float64
	for range 5 {
		began := time.Now()
		r := &chat.Request{Messages: []chat.Message{chat.Text(chat.RoleUser, "go")}}
		for _, err := range loop.Run(ctx, r, slow, tools.Scope{}) {
			if err != nil {
				return nil, err
			}
		}
		rounds = append(rounds, (<-again).Sub(began).Seconds())
	}
	return []row{{
		"chat: three tools of 300 ms called in a stream of 1 s, whole round (one after the other: 1.9 s)",
		fmt.Sprintf("%.2f s, at most %.2f s", median(rounds), worst(rounds)), "≤ 1.1 s",
	}}, nil
}

const turnTools = 100

// benchTurn counts the tokens of a turn with 100 tools, as the provider gets it, with
// every definition and with tool_search. The tools are those of the retrieval set
// bfcl_live if it is available, else generated.
func benchTurn(ctx context.Context, _ *env) ([]row, error) {
	provider, err := chattest.Start()
	if err != nil {
		return nil, err
	}
	defer provider.Close()
	provider.Script(chattest.Always(chattest.Say(chattest.Text("done"))))
	list, from, err := turnCatalog()
	if err != nil {
		return nil, err
	}
	var whole, definitions []int
	for _, mode := range []string{"all", "search_registry"} {
		if err := askOnce(ctx, provider.URL, mode, list); err != nil {
			return nil, err
		}
		requests := provider.Requests()
		body := requests[len(requests)-1].Body
		var sent struct {
			Tools json.RawMessage `json:"tools"`
		}
		if err := json.Unmarshal(body, &sent); err != nil {
			return nil, err
		}
		whole, definitions = append(whole, tokens.Count(string(body))), append(definitions, tokens.Count(string(sent.Tools)))
	}
	ratio := func(n []int) string { return fmt.Sprintf("1/%.1f", float64(n[0])/float64(n[1])) }
	return []row{
		{
			fmt.Sprintf("chat: definitions of a turn with %d tools of %s, registry (%d tokens) : direct (%d)", turnTools, from, definitions[1], definitions[0]),
			ratio(definitions), "≤ 1/40",
		},
		{fmt.Sprintf("chat: the whole body of that turn, registry (%d tokens) : direct (%d)", whole[1], whole[0]), ratio(whole), "≤ 1/40"},
	}, nil
}

// askOnce sends one question to a model that has the tools in a mode.
func askOnce(ctx context.Context, address, mode string, list []tools.Tool) error {
	file, err := os.CreateTemp("", "spiced-bench-*.yaml")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.WriteString(pod{name: "turn", text: "embeddings: [{name: local, from: '" + semanticModel + "'}]\n" + model(address, ", tools: "+mode)}.yaml())
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		return err
	}
	pod, err := spicepod.Load(file.Name())
	if err != nil {
		return err
	}
	vectors, problems := embeddings.NewSet(pod, embeddings.Options{})
	defer vectors.Close()
	catalog, err := registry.NewCatalog(nil, registry.Contents{Tools: list, Embeddings: vectors, Search: search.Default()})
	if err != nil {
		return err
	}
	r := registry.New(registry.Options{})
	r.Publish(catalog)
	set, more := models.NewSet(pod, nil, models.Options{Registry: r, Catalog: catalog, Embeddings: vectors})
	if problems = append(problems, more...); problems.HasErrors() {
		return problems
	}
	m, err := set.Model("m")
	if err != nil {
		return err
	}
	request := &chat.Request{Model: "m", Messages: []chat.Message{chat.Text(chat.RoleUser, "how far is it?")}}
	for _, err := range m.Chat(ctx, request, tools.Scope{}) {
		if err != nil {
			return err
		}
	}
	return nil
}

// turnCatalog returns the built-in tools of `tools: all`, including list_datasets, and
// the first tools of bfcl_live, or generated ones.
func turnCatalog() (list []tools.Tool, from string, err error) {
	all, err := builtin.Load(builtin.Env{}, []string{"core"})
	if err != nil {
		return nil, "", err
	}
	for _, t := range all {
		if slices.Contains(builtin.All, t.Definition().Name) {
			list = append(list, t)
		}
	}
	raw, err := os.ReadFile("../shared/retrieval/dev/bfcl_live/tools.jsonl")
	if err != nil {
		random := rand.New(rand.NewPCG(1, 2))
		for i := range turnTools - len(list) {
			list = append(list, madeUp(random, i))
		}
		return list, "made-up texts", nil
	}
	for line := range strings.Lines(string(raw)) {
		var d tools.Definition
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			return nil, "", err
		}
		d.Source, d.Name = tools.SourceFunction, strings.ReplaceAll(d.Name, ".", "_") // to satisfy the providers' rules for names
		t, err := tools.New(d, nothing)
		if err != nil {
			return nil, "", err
		}
		if list = append(list, t); len(list) == turnTools {
			break
		}
	}
	return list, "bfcl_live", nil
}

// madeUp returns a generated tool that does nothing.
func madeUp(random *rand.Rand, i int) tools.Tool {
	d := madeUpTool(random, i)
	return registry.Must(tools.New(tools.Definition{Name: d.Name, Description: d.Description, Parameters: d.Parameters, Source: tools.SourceFunction}, nothing))
}

func nothing(context.Context, tools.Input) (tools.Output, error) { return tools.JSON(nil) }
