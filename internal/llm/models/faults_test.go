package models_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spiced-sql/spiced/internal/test/chattest"
	"github.com/spiced-sql/spiced/internal/test/full"
	"github.com/spiced-sql/spiced/internal/test/team"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

// whole is what a specialist says if nothing breaks.
const whole = "Mara, queen."

func saysWhole() chattest.Answer {
	return chattest.Say(chattest.Text("Mara, ", "queen."), chattest.Usage(7, 3, 0, 0))
}

// streamOf returns the stream in which the provider of a path says it.
func streamOf(t *testing.T, path string) []byte {
	t.Helper()
	server := serve(t)
	server.Script(chattest.Always(saysWhole()))
	r, err := http.Post(server.URL+path, "application/json",
		strings.NewReader(`{"model":"m","max_tokens":9,"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"x"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil || len(body) < 200 {
		t.Fatalf("%v: %s", err, body)
	}
	return body
}

// breakage breaks the stream of a specialist at a byte.
type breakage struct {
	name  string
	step  int // every so many bytes
	make  func(stream []byte, at int) chattest.Answer
	codes string // of the errors that it may cause
}

var breakages = []breakage{
	{"cut", 1, func(stream []byte, at int) chattest.Answer {
		if at == 0 {
			return chattest.Answer{Cut: -1}
		}
		return chattest.Answer{Body: stream, Cut: at}
	}, "stream_broken provider_error"},
	{"ends", 8, func(stream []byte, at int) chattest.Answer { return chattest.Answer{Body: stream[:at:at]} }, "stream_broken provider_error"},
	{"junk", 3, func(stream []byte, at int) chattest.Answer {
		junk := bytes.Clone(stream)
		junk[at] = "\x00\xff}{\n"[at%5]
		return chattest.Answer{Body: junk}
	}, "stream_broken provider_error"},
	{"hangs", 48, func(stream []byte, at int) chattest.Answer {
		return chattest.Answer{Body: stream[:at:at], Hang: true}
	}, "timeout"},
}

// TestFaultMatrix breaks the stream of a specialist at every byte, in both forms, while its
// sibling works: the sibling's results arrive, and everything is counted.
func TestFaultMatrix(t *testing.T) {
	streams := map[string][]byte{"lagan": streamOf(t, "/v1/chat/completions"), "claudia": streamOf(t, "/v1/messages")}
	for _, b := range breakages {
		t.Run(b.name, func(t *testing.T) {
			timeout := time.Minute
			if b.name == "hangs" {
				timeout = time.Second
			}
			group, err := team.Start(team.Options{Timeout: timeout, Specialist: func(agent, task string) chattest.Answer {
				if at, err := strconv.Atoi(task); err == nil {
					return b.make(streams[agent], at)
				}
				return saysWhole()
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer group.Close()
			step := b.step
			if !full.Test() {
				step *= 16
			}
			for agent, stream := range streams {
				var tasks []team.Task
				for at := 0; at < len(stream); at += step {
					tasks = append(tasks, team.Task{Agent: agent, Task: strconv.Itoa(at)}, team.Task{Agent: "hawken", Task: "x"})
				}
				for len(tasks) > 0 {
					n := min(len(tasks), 64)
					checkFaults(t, group, b, tasks[:n])
					tasks = tasks[n:]
				}
			}
		})
	}
}

// checkFaults delegates tasks; the first attempt of each breaks.
func checkFaults(t *testing.T, group *team.Team, b breakage, tasks []team.Task) {
	t.Helper()
	chats, tokens, rounds := group.Chats.Load(), group.Tokens.Load(), group.Rounds.Load()
	answer, err := group.Ask(t.Context(), tasks)
	if err != nil || len(answer.Results) != len(tasks) {
		t.Fatalf("%d of %d results: %v", len(answer.Results), len(tasks), err)
	}
	var sum team.Metrics
	failed := 0
	for i, r := range answer.Results {
		sum.Tokens += r.Metrics.Tokens
		sum.Rounds += r.Metrics.Rounds
		switch {
		case r.Agent != tasks[i].Agent || r.Metrics.Rounds != 1 || r.Metrics.Calls != 0:
			t.Errorf("result %d: %+v", i, r)
		case r.OK && r.Result != whole && b.name != "junk": // which may be in the text
			t.Errorf("%s at %s: it is right, with %+v", b.name, tasks[i].Task, r)
		case i%2 == 1 && r.Metrics.Tokens != 10:
			t.Errorf("%s at %s: the sibling has used %+v", b.name, tasks[i-1].Task, r.Metrics)
		case !r.OK && (i%2 == 1 || !strings.Contains(b.codes, r.Error.Code)):
			t.Errorf("%s at %s: %+v", b.name, tasks[i].Task, r)
		case !r.OK:
			failed++
		}
	}
	if failed < len(tasks)/2-len(tasks)/4 && b.name != "junk" {
		t.Errorf("%d of %d broken streams fail", failed, len(tasks)/2)
	}
	if answer.Usage.Tokens != sum.Tokens+team.PlannerTokens || answer.Usage.Calls != 1 {
		t.Errorf("the planner has used %+v, its tasks %+v", answer.Usage, sum)
	}
	if c, n, r := group.Chats.Load()-chats, group.Tokens.Load()-tokens, group.Rounds.Load()-rounds; c != int64(len(tasks))+1 || n != answer.Usage.Tokens ||
		r != sum.Rounds+2 {
		t.Errorf("%d chats, %d tokens and %d rounds are counted, for %d tasks with %+v", c, n, r, len(tasks), answer.Usage)
	}
}

// TestManyOrchestrations runs orchestrations of four specialists at once: every chat, token
// and goroutine is accounted for. The bench measures the memory.
func TestManyOrchestrations(t *testing.T) {
	const many = 200
	before := runtime.NumGoroutine()
	group, err := team.Start(team.Options{Specialist: func(string, string) chattest.Answer { return saysWhole() }})
	if err != nil {
		t.Fatal(err)
	}
	errs := make(chan error, many)
	for i := range many {
		go func() { errs <- orchestrate(t, group, i) }()
	}
	for range many {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if c, n, failed := group.Chats.Load(), group.Tokens.Load(), group.Failed.Load(); c != 5*many || n != many*(40+team.PlannerTokens) || failed != 0 {
		t.Errorf("%d chats, %d failed, %d tokens", c, failed, n)
	}
	group.Close()
	wait.Until(t, "the goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
}

func orchestrate(t *testing.T, group *team.Team, i int) error {
	var tasks []team.Task
	for _, name := range team.Specialists {
		tasks = append(tasks, team.Task{Agent: name, Task: fmt.Sprint("task ", i)})
	}
	answer, err := group.Ask(t.Context(), tasks)
	if err != nil {
		return err
	}
	for k, r := range answer.Results {
		if !r.OK || r.Result != whole || r.Agent != tasks[k].Agent {
			return fmt.Errorf("result %d: %+v", k, r)
		}
	}
	return nil
}
