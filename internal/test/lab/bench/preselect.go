package main

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/find/eval"
	"github.com/spiced-sql/spiced/internal/find/search"
	"github.com/spiced-sql/spiced/internal/kit/tokens"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/models"
	"github.com/spiced-sql/spiced/internal/test/chattest"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// preselections are the values of preselect that are measured.
var preselections = []int{0, 3, 5, 10}

// perSet is how many conversations are held for each development set.
const perSet = 60

// selection sums up the conversations with a value of preselect.
type selection struct {
	held, at1st, right int // conversations; with the right call in the first answer; with a right call
	rounds, tokens     int // answers requested; tokens of all requests, as [tokens.Count] estimates them
}

// leftOut resolves every embedding to the model of a set.
type leftOut struct{ model embeddings.Model }

// Resolve implements [registry.Embeddings].
func (l leftOut) Resolve(string) (embeddings.Model, error) { return l.model, nil }

// benchPreselect holds conversations of one question each on the development sets, with a
// scripted model: it calls the first tool that it knows to be right if it was sent, else it
// searches with the question and invokes a right one that was found.
func benchPreselect(ctx context.Context, e *env) ([]row, error) {
	sets, missing, err := e.sets("preselect on the development sets")
	if err != nil || len(missing) > 0 {
		return missing, err
	}
	sums := make([]selection, len(preselections))
	for _, set := range sets {
		if err := preselectSet(ctx, set, sums); err != nil {
			return nil, fmt.Errorf("%s: %w", set.Name, err)
		}
	}
	var rows []row
	for i, s := range sums {
		of := func(n int) string { return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(s.held)) }
		rows = append(rows, row{
			fmt.Sprintf("preselect: %d, %d conversations: right call in the first answer; right calls; answers; tokens",
				preselections[i], s.held),
			fmt.Sprintf("%s; %s; %.2f; %d", of(s.at1st), of(s.right), float64(s.rounds)/float64(s.held), s.tokens/s.held),
			"reported",
		})
	}
	return rows, nil
}

// preselectSet holds the conversations of one set.
func preselectSet(ctx context.Context, set *eval.Set, sums []selection) error {
	provider, err := chattest.Start()
	if err != nil {
		return err
	}
	defer provider.Close()
	served, err := servePreselected(set, provider.URL)
	if err != nil {
		return err
	}
	queries := slices.Clone(set.Queries)
	slices.SortFunc(queries, func(a, b eval.Query) int { return int(sumOf(a.ID)) - int(sumOf(b.ID)) })
	queries = queries[:min(len(queries), perSet)]
	for i, k := range preselections {
		m, err := served.Model(fmt.Sprintf("m%d", k))
		if err != nil {
			return err
		}
		for _, q := range queries {
			if err := converse(ctx, provider, m, q, &sums[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// sumOf orders the queries of a set, so that those that are taken are of all of it.
func sumOf(id string) uint16 {
	h := fnv.New32a()
	h.Write([]byte(id)) //nolint:errcheck // a hash
	return uint16(h.Sum32())
}

// servePreselected serves a model for each value of preselect, with the tools of the set.
func servePreselected(set *eval.Set, address string) (*models.Set, error) {
	var list []tools.Tool
	for _, d := range set.Tools {
		if registry.Reserved(d.Name) {
			continue // such a tool is not searched
		}
		t, err := tools.New(tools.Definition{
			Name: toolName(d.Name), Description: d.Description, Parameters: d.Parameters, Source: tools.SourceFunction,
		}, nothing)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	text := fmt.Sprintf("embeddings: [{name: local, from: '%s'}]\nmodels:\n", semanticModel)
	for _, k := range preselections {
		text += fmt.Sprintf("- {name: m%d, from: 'openai:x', params: {endpoint: '%s/v1', tools: search_registry, preselect: %d}}\n", k, address, k)
	}
	file, err := os.CreateTemp("", "spiced-bench-*.yaml")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	if _, err = file.WriteString(pod{name: "preselect", text: text}.yaml()); err == nil {
		err = file.Close()
	}
	if err != nil {
		return nil, err
	}
	declared, err := spicepod.Load(file.Name())
	if err != nil {
		return nil, err
	}
	vectors, problems := embeddings.NewSet(declared, embeddings.Options{})
	catalog, err := registry.NewCatalog(nil, registry.Contents{Tools: list, Embeddings: leftOut{set.Model}, Search: search.Default()})
	if err != nil {
		return nil, err
	}
	r := registry.New(registry.Options{})
	r.Publish(catalog)
	served, more := models.NewSet(declared, nil, models.Options{Registry: r, Catalog: catalog, Embeddings: vectors})
	if problems = append(problems, more...); problems.HasErrors() {
		return nil, problems
	}
	return served, nil
}

// toolName is the name of a tool of a set with the characters that providers allow.
func toolName(name string) string {
	mapped := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
	return mapped[:min(len(mapped), tools.MaxName)]
}

// converse asks one question.
func converse(ctx context.Context, provider *chattest.Server, m *models.Model, q eval.Query, sum *selection) error {
	var right []string
	for _, name := range q.Relevant {
		right = append(right, toolName(name))
	}
	first, called := true, false
	right = slices.DeleteFunc(right, registry.Reserved)
	provider.Script(func(r chattest.Request) chattest.Answer {
		sum.rounds++
		sum.tokens += tokens.Count(string(r.Body))
		defer func() { first = false }()
		if called {
			return chattest.Say(chattest.Text("done"))
		}
		for _, name := range right {
			if r.Has(name) {
				called = true
				sum.at1st++
				return chattest.Say(chattest.Call("c1", name, "{}"))
			}
		}
		if first {
			query, _ := json.Marshal(map[string]string{"query": q.Text}) // of text
			return chattest.Say(chattest.Call("c1", registry.ToolSearch, string(query)))
		}
		for _, name := range right {
			if strings.Contains(r.Results["c1"], fmt.Sprintf(`"tool_id":%q`, name)) {
				called = true
				call, _ := json.Marshal(map[string]any{"tool_id": name, "arguments": map[string]any{}}) // of texts
				return chattest.Say(chattest.Call("c2", registry.ToolInvoke, string(call)))
			}
		}
		return chattest.Say(chattest.Text("no tool was found"))
	})
	request := &chat.Request{Model: m.Info().Name, Messages: []chat.Message{chat.Text(chat.RoleUser, q.Text)}}
	for _, err := range m.Chat(ctx, request, tools.Scope{}) {
		if err != nil {
			return err
		}
	}
	sum.held++
	if called {
		sum.right++
	}
	return nil
}
