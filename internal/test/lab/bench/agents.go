package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spiced-sql/spiced/internal/test/chattest"
	"github.com/spiced-sql/spiced/internal/test/team"
)

// orchestrations is how many run at once.
const orchestrations = 200

// benchAgents measures a planner with specialists: what they take together, what a level of
// agents adds, and many at once.
func benchAgents(ctx context.Context, e *env) ([]row, error) {
	provider, err := chattest.Start()
	if err != nil {
		return nil, err
	}
	defer provider.Close()
	s, err := e.serve(ctx, pod{name: "agents", text: team.Sections(provider.URL, time.Minute)})
	if err != nil {
		return nil, err
	}
	defer s.stop()
	var rows []row
	for _, measure := range []func(context.Context, *server, *chattest.Server) (row, error){parallelAgents, levelOfAgents, manyAgents} {
		r, err := measure(ctx, s, provider)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// taking is a specialist that takes so long for an answer.
func taking(d time.Duration) func(chattest.Request) chattest.Answer {
	return team.Script(func(string, string) chattest.Answer {
		return chattest.Say(chattest.Wait(d), chattest.Text("done"), chattest.Usage(7, 3, 0, 0))
	})
}

// plan asks the planner to delegate a task to each of the agents.
func plan(ctx context.Context, s *server, agents ...string) error {
	var tasks []team.Task
	for _, name := range agents {
		tasks = append(tasks, team.Task{Agent: name, Task: "Work."})
	}
	content, err := said(ctx, s.url, "planner", team.Arguments(tasks))
	if err == nil && strings.Count(content, `"ok":true,"result":"done"`) != len(agents) {
		err = fmt.Errorf("the planner says %s", content)
	}
	return err
}

// said asks a model.
func said(ctx context.Context, base, model, text string) (string, error) {
	body, err := json.Marshal(map[string]any{"model": model, "messages": []any{map[string]string{"role": "user", "content": text}}})
	if err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/chat/completions", strings.NewReader(string(body)))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/json")
	raw, err := answer(r)
	if err != nil {
		return "", err
	}
	var whole struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal([]byte(raw), &whole); err != nil || len(whole.Choices) != 1 {
		return "", fmt.Errorf("the answer is %s", raw)
	}
	return whole.Choices[0].Message.Content, nil
}

func parallelAgents(ctx context.Context, s *server, provider *chattest.Server) (row, error) {
	provider.Script(taking(time.Second))
	var took []float64
	for range 5 {
		began := time.Now()
		if err := plan(ctx, s, team.Specialists...); err != nil {
			return row{}, err
		}
		took = append(took, time.Since(began).Seconds())
	}
	return row{
		"agents: four specialists of 1 s each by delegate_parallel, the whole chat, median of 5",
		fmt.Sprintf("%.3f s, at most %.3f s", median(took), worst(took)), "≤ 1.15 s",
	}, nil
}

// levelOfAgents compares a task that a planner delegates to a specialist with the requests
// to the provider that it consists of.
func levelOfAgents(ctx context.Context, s *server, provider *chattest.Server) (row, error) {
	provider.Script(taking(0))
	const rounds, requests = 300, 3
	var added []float64
	for i := range rounds + 20 {
		began := time.Now()
		for range requests {
			if err := streamed(ctx, provider.URL); err != nil {
				return row{}, err
			}
		}
		alone := time.Since(began)
		began = time.Now()
		if err := plan(ctx, s, team.Specialists[0]); err != nil {
			return row{}, err
		}
		if i >= 20 { // after warm-up
			added = append(added, ms(time.Since(began)-alone))
		}
	}
	return row{
		fmt.Sprintf("agents: what a task that is delegated takes more than its %d requests to the provider, p50 of %d", requests, rounds),
		fmt.Sprintf("%.2f ms", median(added)), "≤ 3 ms",
	}, nil
}

// streamed asks the provider for an answer of a specialist.
func streamed(ctx context.Context, base string) error {
	const body = `{"model":"x","stream":true,"messages":[{"role":"system","content":"You are hawken."},{"role":"user","content":"Work."}]}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	text, err := answer(r)
	if err == nil && !strings.Contains(text, "done") {
		err = fmt.Errorf("the provider says %s", text)
	}
	return err
}

// manyAgents runs many orchestrations of four specialists, and compares what was counted.
func manyAgents(ctx context.Context, s *server, provider *chattest.Server) (row, error) {
	provider.Script(taking(500 * time.Millisecond))
	const counted = "SELECT sum(chats) AS chats, sum(input_tokens + output_tokens) AS tokens, (SELECT sum(calls) FROM spiced.tool_usage) AS calls FROM " +
		"spiced.model_usage"
	before, err := counts(ctx, s, counted)
	if err != nil {
		return row{}, err
	}
	idle, err := s.rss()
	if err != nil {
		return row{}, err
	}
	group, within := errgroup.WithContext(ctx)
	for range orchestrations {
		group.Go(func() error { return plan(within, s, team.Specialists...) })
	}
	ended := make(chan error, 1)
	go func() { ended <- group.Wait() }()
	peak := idle
	for running := true; running; {
		select {
		case err = <-ended:
			running = false
		case <-time.After(20 * time.Millisecond):
		}
		if now, err := s.rss(); err == nil {
			peak = max(peak, now)
		}
	}
	if err != nil {
		return row{}, err
	}
	after, err := counts(ctx, s, counted)
	if err != nil {
		return row{}, err
	}
	const chats, calls = 1 + 4, 1
	tokens := int64(team.PlannerTokens + 4*10)
	for i, want := range []int64{orchestrations * chats, orchestrations * tokens, orchestrations * calls} {
		if got := after[i] - before[i]; got != want {
			return row{}, fmt.Errorf("counted are %d of %d chats, tokens or calls", got, want)
		}
	}
	return row{
		fmt.Sprintf("agents: %d orchestrations of four specialists at once, every chat, call and token counted: memory over idle", orchestrations),
		fmt.Sprintf("%d MB", (peak-idle)>>20), "≤ 400 MB",
	}, nil
}

// counts are the chats, tokens and calls so far.
func counts(ctx context.Context, s *server, statement string) (n [3]int64, err error) {
	text, err := s.sql(ctx, statement)
	if err != nil {
		return n, err
	}
	var rows []struct{ Chats, Tokens, Calls int64 }
	if err := json.Unmarshal([]byte(text), &rows); err != nil || len(rows) != 1 {
		return n, fmt.Errorf("counts: %s", text)
	}
	return [3]int64{rows[0].Chats, rows[0].Tokens, rows[0].Calls}, nil
}
