package nsql

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Request is a question, as POST /v1/nsql takes it.
type Request struct {
	Query          string   `json:"query"`
	SampleData     bool     `json:"sample_data_enabled,omitempty" doc:"Show the model some values of the tables."`
	Datasets       []string `json:"datasets,omitempty" nullable:"true" doc:"Datasets that the statement may name; all if left out."` // of the writer
	PromptCacheKey string   `json:"prompt_cache_key,omitempty" doc:"Passed to the provider."`
}

// Answer is a statement that the guard has accepted.
type Answer struct {
	SQL      string
	Attempts int        // number of requests to the model
	Usage    chat.Usage // of all attempts
	// Allow limits what the statement may read, for [engine.Request].
	Allow func(engine.Relation) bool
}

// Writer writes SQL. It is safe for concurrent use if its functions are; its fields
// must not change.
type Writer struct {
	// Chat sends a request without tools to the model.
	Chat func(ctx context.Context, r *chat.Request) (*chat.Response, error)
	// Check checks and binds a statement without running it. An error is an
	// [*engine.Error].
	Check func(ctx context.Context, r engine.Request) error
	// Run runs a statement that passed Check up to its first rows, to find errors that
	// depend on the data. If nil, the statement is not run.
	Run func(ctx context.Context, r engine.Request) (*engine.Rows, error)
	// Schema returns what the model may use. datasets are names as requested, nil for
	// all; an unknown one is a [*chat.Error].
	Schema func(ctx context.Context, datasets []string, samples bool) (Schema, error)
	// Rank returns names of functions, the best matches of a question first. It is
	// called if there are too many for the prompt; nil preserves their order.
	Rank     func(ctx context.Context, query string) []string
	Attempts int // 0: [DefaultAttempts]
}

// Error is returned for a question that no attempt has answered.
type Error struct {
	SQL      string // the last statement; "" if there was none
	Attempts int
	Repeated bool  // the last two statements are equal
	Cause    error // of the last attempt, an [*engine.Error]
}

// Error describes the failure of the last attempt.
func (e *Error) Error() string {
	times := fmt.Sprintf("%d attempts", e.Attempts)
	if e.Attempts == 1 {
		times = "1 attempt"
	}
	if e.Repeated {
		times += ", the last two identical"
	}
	return fmt.Sprintf("the model wrote no valid SQL (%s): %s", times, e.Cause)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Write answers a question with a statement. It returns a [*chat.Error] if the request
// or the model fails, an [*Error] if the model writes no valid statement, and an
// [*engine.Error] if the database fails. With an error, the answer has the usage only.
func (w *Writer) Write(ctx context.Context, r Request) (Answer, error) {
	if err := r.check(); err != nil {
		return Answer{}, err
	}
	schema, err := w.Schema(ctx, r.Datasets, r.SampleData)
	if err != nil {
		return Answer{}, err
	}
	answer := Answer{Allow: schema.Allow}
	ask := r.firstAsk(w.prompt(ctx, schema, r.Query))
	for answer.Attempts < w.attempts() {
		text, err := w.ask(ctx, ask, &answer)
		if err != nil {
			return answer, err
		}
		last := answer.SQL
		answer.SQL, err = w.judge(ctx, text, schema.Allow)
		if err == nil || !repairable(ctx, err) {
			return answer, err
		}
		if answer.Attempts > 1 && answer.SQL == last {
			return answer, &Error{answer.SQL, answer.Attempts, true, err}
		}
		if answer.Attempts == w.attempts() {
			return answer, &Error{answer.SQL, answer.Attempts, false, err}
		}
		ask = repair(ask, answer.SQL, err)
	}
	return answer, nil
}

func (r Request) check() error {
	switch {
	case strings.TrimSpace(r.Query) == "":
		return chat.Invalid("query", "the question is empty")
	case len(r.Query) > MaxQuery:
		return chat.Invalid("query", "the question has %d bytes; the limit is %d", len(r.Query), MaxQuery)
	case r.Datasets != nil && len(r.Datasets) == 0:
		return chat.Invalid("datasets", "datasets is empty; leave it out to use all datasets")
	}
	return nil
}

func (w *Writer) attempts() int {
	if w.Attempts <= 0 {
		return DefaultAttempts
	}
	return min(w.Attempts, MaxAttempts)
}

// firstAsk returns the request of the first attempt.
func (r Request) firstAsk(prompt string) *chat.Request {
	ask := &chat.Request{Messages: []chat.Message{
		chat.Text(chat.RoleSystem, prompt), chat.Text(chat.RoleUser, r.Query),
	}}
	if r.PromptCacheKey != "" {
		key, _ := json.Marshal(r.PromptCacheKey) // a string always has a JSON form
		ask.Form, ask.Extra = chat.FormOpenAI, map[string]json.RawMessage{"prompt_cache_key": key}
	}
	return ask
}

// ask sends a request and counts it.
func (w *Writer) ask(ctx context.Context, r *chat.Request, answer *Answer) (string, error) {
	answer.Attempts++
	response, err := w.Chat(ctx, r)
	if response != nil {
		answer.Usage = answer.Usage.Plus(response.Usage)
	}
	if err != nil {
		return "", err
	}
	return response.Message().Text(), nil
}

// judge returns the statement of an answer, and the error why it cannot run.
func (w *Writer) judge(ctx context.Context, text string, allow func(engine.Relation) bool) (string, error) {
	sql, err := w.find(ctx, text, allow)
	if err != nil || w.Run == nil {
		return sql, err
	}
	return sql, w.try(ctx, engine.Request{SQL: sql, Allow: allow, Isolate: true})
}

// find returns the first part of an answer that is SQL, whether or not the guard
// accepts it. Otherwise it returns the first part and the error.
func (w *Writer) find(ctx context.Context, text string, allow func(engine.Relation) bool) (sql string, err error) {
	for i, part := range Candidates(text) {
		e := w.Check(ctx, engine.Request{SQL: part, Allow: allow, Isolate: true})
		if e == nil || engine.AsError(e).Code != errcode.Parse || engine.AsError(e).Class == engine.NotOneStatement {
			return part, e // of several statements, none is left out
		}
		if i == 0 {
			sql, err = part, e
		}
	}
	if err == nil {
		err = &engine.Error{
			Code: errcode.Parse, Message: "the answer is empty", Hint: "write one SELECT statement",
			Offset: -1,
		}
	}
	return sql, err
}

// try runs a statement up to its first rows.
func (w *Writer) try(ctx context.Context, r engine.Request) error {
	rows, err := w.Run(ctx, r)
	if err != nil {
		return err
	}
	defer rows.Close()
	for _, err := range rows.Chunks() {
		return err
	}
	return nil
}

// hopeless are the errors that any other statement would cause as well.
var hopeless = map[errcode.Code]bool{errcode.Cancelled: true, errcode.Busy: true, errcode.Internal: true}

func repairable(ctx context.Context, err error) bool {
	return ctx.Err() == nil && !hopeless[engine.AsError(err).Code]
}

// repair returns the request after a failed attempt: the previous request, the
// statement, and its error. Messages are only appended, so that prompt caches hit.
func repair(ask *chat.Request, sql string, err error) *chat.Request {
	next := ask.Clone()
	if sql == "" {
		sql = "-- nothing"
	}
	next.Messages = append(next.Messages,
		chat.Text(chat.RoleAssistant, "```sql\n"+truncate.Ellipsis(sql, MaxRepair)+"\n```"),
		chat.Text(chat.RoleUser, "This fails: "+truncate.Ellipsis(err.Error(), MaxRepair)+
			"\n\nWrite the statement again so that it runs. Answer with SQL only."))
	return next
}
