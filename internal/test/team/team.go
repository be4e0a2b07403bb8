// Package team runs agents of a scripted provider in one process, without a database: a
// planner, and specialists to which it delegates.
//
//	t, err := team.Start(team.Options{Specialist: func(agent, task string) chattest.Answer { … }})
//	defer t.Close()
//	answer, err := t.Ask(ctx, []team.Task{{Agent: "hawken", Task: "Who is Mara?"}})
//	// answer.Results[0].Result
package team

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spiced-sql/spiced/internal/llm/models"
	"github.com/spiced-sql/spiced/internal/test/chattest"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools"
)

// Specialists are the agents to which the planner delegates. Those of OpenAI's form come
// first.
var Specialists = []string{"hawken", "lagan", "claudia", "lorekeeper"}

// What each request of the planner uses, in tokens of input and output.
const planned = 10

// Options configures a team.
type Options struct {
	// Specialist answers a request of a specialist.
	Specialist func(agent, task string) chattest.Answer
	Timeout    time.Duration // of lagan and claudia; 0: a minute, as the others have
}

// Team is a planner with specialists.
type Team struct {
	Server   *chattest.Server
	Registry *registry.Registry
	Chats    atomic.Int64 // that have ended
	Failed   atomic.Int64 // of these
	Rounds   atomic.Int64
	Tokens   atomic.Int64
}

// Task is a task of a specialist.
type Task struct {
	Agent string `json:"agent"`
	Task  string `json:"task"`
}

// Metrics is what a task took.
type Metrics struct{ Rounds, Calls, Tokens int64 }

// Result is the result of one task.
type Result struct {
	Agent, Result string
	OK            bool
	Error         struct{ Code, Message string }
	Metrics       Metrics
}

// Answer is the results, and what the whole took.
type Answer struct {
	Results []Result
	Usage   Metrics
}

// Start starts a team. Call Close when it is not needed any more.
func Start(o Options) (*Team, error) {
	server, err := chattest.Start()
	if err != nil {
		return nil, err
	}
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	t := &Team{Server: server, Registry: registry.New(registry.Options{})}
	server.Script(Script(o.Specialist))
	if err := t.load("version: v1\nkind: Spicepod\nname: team\n" + Sections(server.URL, o.Timeout)); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// Script is that of the provider: the planner delegates the tasks that it is asked for, as
// [Arguments] writes them, and says the results.
func Script(specialist func(agent, task string) chattest.Answer) func(chattest.Request) chattest.Answer {
	return func(r chattest.Request) chattest.Answer {
		if strings.Contains(r.System, "You are planner.") {
			return plan(r)
		}
		for _, name := range Specialists {
			if strings.Contains(r.System, "You are "+name+".") {
				return specialist(name, r.User)
			}
		}
		return chattest.ServerError()
	}
}

// plan delegates the tasks, which are the text of the request, and says the results.
func plan(r chattest.Request) chattest.Answer {
	for _, result := range r.Results {
		return chattest.Say(chattest.Text(result), chattest.Usage(planned, planned, 0, 0))
	}
	return chattest.Say(chattest.Call("c1", "delegate_parallel", r.User), chattest.Usage(planned, planned, 0, 0))
}

// PlannerTokens are the tokens that the planner uses itself.
const PlannerTokens = 4 * planned

func (t *Team) load(text string) error {
	pod, err := readPod(text)
	if err != nil {
		return err
	}
	agents := &models.Agents{}
	list, err := agents.Tools(pod)
	if err != nil {
		return err
	}
	catalog, err := registry.NewCatalog(nil, registry.Contents{Tools: list, Limits: tools.Limits{Timeout: time.Hour, MaxBytes: 64 << 20}})
	if err != nil {
		return err
	}
	t.Registry.Publish(catalog)
	_, problems := models.NewSet(pod, nil, models.Options{Registry: t.Registry, Catalog: catalog, Agents: agents, Done: t.ended})
	if problems.HasErrors() {
		return problems
	}
	return nil
}

// Sections are the models and agents of a team whose provider has an address. The time
// limit is that of lagan and claudia.
func Sections(address string, timeout time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, `models:
  - { name: gpt, from: "openai:gpt-test", params: { endpoint: "%[1]s/v1", openai_api_key: sk, max_retries: 0, tool_result_max_bytes: 4MiB } }
  - { name: claude, from: "anthropic:claude-test", params: { endpoint: "%[1]s", anthropic_api_key: sk, max_retries: 0 } }
agents:
  - { name: planner, model: gpt, description: Plans., instructions: You are planner., agents: [%[2]s], limits: { concurrency: 64, timeout: 10m } }
`, address, strings.Join(Specialists, ", "))
	for i, name := range Specialists {
		model, limit := "gpt", time.Minute
		if i >= len(Specialists)/2 {
			model = "claude"
		}
		if i == 1 || i == 2 {
			limit = timeout
		}
		fmt.Fprintf(&b, "  - { name: %s, model: %s, description: The %[1]s., instructions: You are %[1]s., limits: { timeout: %[3]s } }\n", name, model, limit)
	}
	return b.String()
}

func readPod(text string) (*spicepod.Pod, error) {
	dir, err := os.MkdirTemp("", "spiced-team-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "spicepod.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return spicepod.Load(file)
}

// ended counts a chat.
func (t *Team) ended(c models.Call) {
	t.Chats.Add(1)
	if c.Err != nil {
		t.Failed.Add(1)
	}
	t.Rounds.Add(int64(c.Report.Rounds))
	t.Tokens.Add(c.Report.Usage.Input + c.Report.Usage.Output)
}

// Ask delegates tasks, at most 64.
func (t *Team) Ask(ctx context.Context, tasks []Task) (a Answer, err error) {
	arguments, err := json.Marshal(map[string]string{"task": Arguments(tasks)})
	if err != nil {
		return a, err
	}
	r := t.Registry.Invoke(ctx, registry.Call{Name: "planner", Arguments: arguments})
	if !r.OK {
		return a, r.Error
	}
	var said struct {
		Text  string
		Usage Metrics
	}
	if err := json.Unmarshal(r.Result, &said); err != nil {
		return a, err
	}
	a.Usage = said.Usage
	if err := json.Unmarshal([]byte(said.Text), &a); err != nil {
		return a, fmt.Errorf("%w: %s", err, said.Text)
	}
	return a, nil
}

// Arguments are tasks as the planner is asked for them.
func Arguments(tasks []Task) string {
	text, _ := json.Marshal(map[string]any{"tasks": tasks}) // of texts
	return string(text)
}

// Close ends the provider.
func (t *Team) Close() {
	t.Registry.Close()
	t.Server.Close()
}
