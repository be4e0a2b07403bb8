package nsql

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// Request is a question.
type Request struct {
	Query          string
	Datasets       []string // that may be read; nil: all that the writer knows
	SampleData     bool     // show the model values of the columns
	PromptCacheKey string   // for providers that have one
}

// Answer is a statement that the guard has let pass.
type Answer struct {
	SQL      string
	Attempts int        // how often the model was asked
	Usage    chat.Usage // of all attempts
	// Allow is what the statement may read, for [engine.Request].
	Allow func(engine.Relation) bool
}

// Writer writes SQL. Its fields are set once; then it is safe for concurrent
// use if they are.
type Writer struct {
	// Chat asks the model, which has no tools.
	Chat func(ctx context.Context, r *chat.Request) (*chat.Response, error)
	// Check judges and binds a statement without running it. An error is an
	// [*engine.Error].
	Check func(ctx context.Context, r engine.Request) error
	// Run runs a statement that passed Check up to its first rows, to find
	// what only fails on the data. nil: it is not tried.
	Run func(ctx context.Context, r engine.Request) (*engine.Rows, error)
	// Schema says what the model may use. datasets are names as they were
	// requested, nil for all; one that there is not is a [*chat.Error].
	Schema func(ctx context.Context, datasets []string, samples bool) (Schema, error)
	// Rank names functions, the best for a question first. It is asked when
	// there are too many for the prompt; nil: they keep their order.
	Rank     func(ctx context.Context, query string) []string
	Attempts int // at most this many; 0: [DefaultAttempts]
}

// Error is a question that no attempt has answered.
type Error struct {
	SQL      string // the last statement; "" when there was none
	Attempts int
	Repeated bool  // the model wrote the same twice
	Cause    error // of the last attempt, an [*engine.Error]
}

// Error says how the last attempt failed.
func (e *Error) Error() string {
	times := fmt.Sprintf("%d attempts", e.Attempts)
	if e.Attempts == 1 {
		times = "1 attempt"
	}
	if e.Repeated {
		times += ", the last two alike"
	}
	return fmt.Sprintf("the model wrote no SQL that runs (%s): %s", times, e.Cause)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Write answers a question with a statement. An error is a [*chat.Error] for
// what is wrong with the request or the model, an [*Error] when the model could
// not do it, and an [*engine.Error] when the database could not; the answer
// then has what was used.
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
		return chat.Invalid("datasets", "no dataset is named; leave datasets out to ask about all")
	}
	return nil
}

func (w *Writer) attempts() int {
	if w.Attempts <= 0 {
		return DefaultAttempts
	}
	return min(w.Attempts, MaxAttempts)
}

// firstAsk is the request for the first attempt.
func (r Request) firstAsk(prompt string) *chat.Request {
	ask := &chat.Request{Messages: []chat.Message{
		chat.Text(chat.RoleSystem, prompt), chat.Text(chat.RoleUser, r.Query),
	}}
	if r.PromptCacheKey != "" {
		key, _ := json.Marshal(r.PromptCacheKey) // a string always has a form in JSON
		ask.Form, ask.Extra = chat.FormOpenAI, map[string]json.RawMessage{"prompt_cache_key": key}
	}
	return ask
}

// ask has the model answer and counts it.
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

// judge returns the statement of an answer, and why it cannot run.
func (w *Writer) judge(ctx context.Context, text string, allow func(engine.Relation) bool) (string, error) {
	sql, err := w.find(ctx, text, allow)
	if err != nil || w.Run == nil {
		return sql, err
	}
	return sql, w.try(ctx, engine.Request{SQL: sql, Allow: allow})
}

// find returns the first part of an answer that is SQL, whatever the guard
// says of it. When none is, it is the first part, with its error.
func (w *Writer) find(ctx context.Context, text string, allow func(engine.Relation) bool) (sql string, err error) {
	for i, part := range Candidates(text) {
		e := w.Check(ctx, engine.Request{SQL: part, Allow: allow})
		if e == nil || engine.AsError(e).Code != engine.CodeParse {
			return part, e
		}
		if i == 0 {
			sql, err = part, e
		}
	}
	if err == nil {
		err = &engine.Error{Code: engine.CodeParse, Message: "the answer is empty", Hint: "write one SELECT statement", Offset: -1}
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

// hopeless are the errors that another statement would meet as well.
var hopeless = map[engine.Code]bool{engine.CodeCancelled: true, engine.CodeBusy: true, engine.CodeInternal: true}

func repairable(ctx context.Context, err error) bool {
	return ctx.Err() == nil && !hopeless[engine.AsError(err).Code]
}

// repair is the request after a failed attempt: what came before, the
// statement, and what is wrong with it. Only the end is new, so that prompt
// caches hold.
func repair(ask *chat.Request, sql string, err error) *chat.Request {
	next := ask.Clone()
	if sql == "" {
		sql = "-- nothing"
	}
	next.Messages = append(next.Messages,
		chat.Text(chat.RoleAssistant, "```sql\n"+truncate.Ellipsis(sql, MaxRepair)+"\n```"),
		chat.Text(chat.RoleUser, "This fails: "+truncate.Ellipsis(err.Error(), MaxRepair)+"\n\nWrite the statement again so that it runs. Answer with SQL only."))
	return next
}
