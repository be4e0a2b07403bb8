package registry

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spiced-sql/spiced/internal/find/usage"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// DeadTools is the name of the table of tools from which no caller benefits, and of the
// table function that takes the period and how much use makes a judgement possible.
const DeadTools = "dead_tools"

const deadColumns = `name VARCHAR, owner VARCHAR, source VARCHAR, description VARCHAR, verdict VARCHAR, calls BIGINT,
	errors BIGINT, invalid BIGINT, searches BIGINT, chosen BIGINT, last_called_at TIMESTAMP,
	observed_days DOUBLE, total_calls BIGINT`

// The defaults of dead_tools: a tool without calls is dead after a month of use.
const (
	windowDays = 30
	// minimumCalls is how many calls of all tools it takes to judge one by calls that it
	// did not get.
	minimumCalls = 100
)

var deadFunction = &engine.Function{
	Name: DeadTools, Table: true, Random: true,
	Signature: "dead_tools(days int64 := 30, minimum int64 := 100) → table(name, owner, source, description, verdict, …)",
	Args: []engine.FunctionArg{
		{Name: "days", Type: "BIGINT", Numeric: true, Optional: true},
		{Name: "minimum", Type: "BIGINT", Numeric: true, Optional: true},
	},
}

// deadMacro is dead_tools as a table function.
func deadMacro() string {
	input := `json_object('days', "days", 'minimum', "minimum")::VARCHAR`
	return "CREATE MACRO " + engine.Qualified(engine.Prelude, DeadTools) +
		fmt.Sprintf(`("days" := %d, "minimum" := %d) AS TABLE `, windowDays, minimumCalls) +
		rowsOf(native(DeadTools, input), deadColumns)
}

// judgement is how dead_tools judges. NULL is the default.
type judgement struct {
	Days    *int64 `json:"days"`
	Minimum *int64 `json:"minimum"`
}

// withDefaults sets what is not given. Days are counted no longer than the history has them.
func (j judgement) withDefaults(u *usage.Recorder) judgement {
	if j.Days == nil {
		j.Days = new(min(int64(windowDays), int64(u.Days())))
	}
	if j.Minimum == nil {
		j.Minimum = new(int64(minimumCalls))
	}
	return j
}

func (r reader) deadToolsSQL(input string) (string, error) {
	var j judgement
	if err := json.Unmarshal([]byte(input), &j); err != nil {
		return "", fmt.Errorf("dead_tools: the arguments are days and minimum, integers: %w", err)
	}
	if r.opts.Usage == nil {
		return "[]", nil
	}
	j = j.withDefaults(r.opts.Usage)
	switch most := int64(r.opts.Usage.Days()); {
	case *j.Days < 1 || *j.Days > most:
		return "", fmt.Errorf("dead_tools: days is %d; it is 1 to %d, the days that runtime.tools.history.usage_days keeps",
			*j.Days, most)
	case *j.Minimum < 0:
		return "", fmt.Errorf("dead_tools: minimum is %d; it is at least 0", *j.Minimum)
	}
	text, err := json.Marshal(append([]row{}, r.deadRows(j)...))
	return string(text), err
}

// deadRows are the tools without a successful call in the last days, with the reason: see
// [usage.Verdict]. What was not called is judged only once callers made the minimum of calls
// of any tools: where nothing is used, nothing is learned about one tool.
func (r reader) deadRows(j judgement) []row {
	var rows []row
	now, period := r.opts.Now(), time.Duration(*j.Days)*24*time.Hour
	recent := r.opts.Usage.Window(now.Add(-period))
	var calls int64
	for _, t := range recent {
		calls += t.Calls
	}
	observed := min(now.Sub(r.opts.Usage.Since()), period)
	judged := observed
	if calls < *j.Minimum {
		judged = 0
	}
	for _, def := range r.view.Listed() {
		t := recent[def.Name]
		if t == nil {
			t = &usage.Totals{}
		}
		verdict := t.Verdict(judged)
		if verdict == usage.Alive {
			continue
		}
		rows = append(rows, row{
			"name": def.Name, "owner": def.Owner, "source": def.Source, "description": def.Description, "verdict": verdict,
			"calls": t.Calls, "errors": t.Errors(), "invalid": t.Invalid, "searches": t.Returned, "chosen": t.Chosen,
			"last_called_at": sqlTime(r.opts.Usage.Totals(def.Name).LastAt), "observed_days": observed.Hours() / 24,
			"total_calls": calls,
		})
	}
	return rows
}
