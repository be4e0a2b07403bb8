package models_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spiced-sql/spiced/internal/llm/models"
	"github.com/spiced-sql/spiced/internal/test/podtest"
	"github.com/spiced-sql/spiced/tools"
)

// toolBytes returns the field tools of a request, byte for byte.
func toolBytes(t testing.TB, body []byte) string {
	t.Helper()
	var fields struct{ Tools json.RawMessage }
	if err := json.Unmarshal(body, &fields); err != nil {
		t.Fatal(err)
	}
	return string(fields.Tools)
}

// Two thousand requests, with a reload of other tools before every twentieth, have the
// same tool bytes.
func TestToolBytesOutliveUnrelatedReloads(t *testing.T) {
	const reloads, each = 100, 20
	server := serve(t)
	sections := at(server, "openai:gpt", "tools: 'f00, f01, f02, nsql'")
	pod := podtest.Load(t, sections)
	list := append(builtins(t), functions(t, 3)...)
	s := newStage(t, pod, list)
	set, _ := models.NewSet(pod, nil, s.options)
	want := ""
	for reload := range reloads {
		other := tool(t, tools.Definition{Name: fmt.Sprintf("other%d", reload%7), Description: fmt.Sprint("Changed ", reload), Source: tools.SourceFunction}, nil)
		changed := append(slices.Clone(list), other)
		slices.Reverse(changed)
		s.publish(t, changed, s.options.Embeddings)
		set, _ = models.NewSet(pod, set, s.options)
		chats(t, set, each)
		requests := server.Requests()
		for _, r := range requests[len(requests)-each:] {
			got := toolBytes(t, r.Body)
			if want == "" {
				want = got
			}
			if got != want || len(got) < 1000 {
				t.Fatalf("reload %d:\n%s\nwant:\n%s", reload, got, want)
			}
		}
	}
	if n := len(server.Requests()); n != reloads*each {
		t.Errorf("%d requests", n)
	}
	if lines := strings.Count(s.log.String(), "tools of a model"); lines != 1 {
		t.Errorf("the decision was logged %d times", lines)
	}
}

// chats runs n chats, a few at once.
func chats(t testing.TB, set *models.Set, n int) {
	t.Helper()
	m, err := set.Model("m")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range n / 4 {
				for _, err := range m.Chat(t.Context(), hello(), tools.Scope{}) {
					if err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	group.Wait()
}

// counted counts the connections of a client.
func counted(n *int) *http.Client {
	dial := (&net.Dialer{}).DialContext
	transport := &http.Transport{}
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		*n++
		return dial(ctx, network, address)
	}
	return &http.Client{Transport: transport}
}

func TestUnchangedModelsKeepTheirConnections(t *testing.T) {
	server := serve(t)
	sections := at(server, "openai:gpt", "tools: f00")
	pod := podtest.Load(t, sections)
	s := newStage(t, pod, functions(t, 1))
	connections := 0
	s.options.HTTP = counted(&connections)
	defer s.options.HTTP.CloseIdleConnections()
	var set *models.Set
	for range 3 {
		set, _ = models.NewSet(podtest.Load(t, sections), set, s.options)
		must(t, set, "m", hello())
	}
	if connections != 1 {
		t.Errorf("%d connections", connections)
	}
}

func TestChangesShowInTheNextGeneration(t *testing.T) {
	server := serve(t)
	s := newStage(t, podtest.Load(t, ""), functions(t, 1))
	var set *models.Set
	for i, c := range []struct{ params, want string }{
		{"tools: f00, openai_seed: 1", `"seed":1`},
		{"tools: f00, openai_seed: 2", `"seed":2`},
		{"openai_seed: 2", `"seed":2`},
	} {
		before := set
		set, _ = models.NewSet(podtest.Load(t, at(server, "openai:gpt", c.params)), before, s.options)
		must(t, set, "m", hello())
		if body := server.Requests()[i].Body; !bytes.Contains(body, []byte(c.want)) {
			t.Errorf("%s: %s", c.params, body)
		}
	}
	if n := strings.Count(s.log.String(), "tools of a model"); n != 2 {
		t.Errorf("%d decisions logged:\n%s", n, s.log)
	}
}
