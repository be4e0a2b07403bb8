// Package nsql turns a question into SQL: it asks a model, has the guard judge
// what comes back, and has the model repair what fails. It owns the prompt,
// what of an answer is the statement, and when to give up.
//
//	writer, err := nsql.New(env, scope, func(ctx context.Context, r *chat.Request) (*chat.Response, error) {
//		return chat.Collect(provider.Chat(ctx, r))
//	})
//	answer, err := writer.Write(ctx, nsql.Request{Query: "Which customers ordered most?"})
//	rows, err := db.Query(ctx, engine.Request{SQL: answer.SQL, Allow: answer.Allow})
//
// Nothing that a model writes runs before the guard has let it pass, with the
// tables that the question may read.
package nsql

import "time"

// Limits on a question and its prompt.
const (
	// DefaultAttempts is how often a model is asked, as in Spice.
	DefaultAttempts = 10
	MaxAttempts     = 20
	// MaxQuery is the size of a question in bytes.
	MaxQuery = 64 << 10
	// MaxTables and MaxFunctions are how many bytes of the prompt describe
	// tables and functions. Those beyond are named.
	MaxTables    = 64 << 10
	MaxFunctions = 32 << 10
	// MaxNames is how many names the prompt lists of what it does not
	// describe.
	MaxNames = 100
	// MaxDescription is how many bytes of a function's description are told.
	MaxDescription = 512
	// MaxSampled is how many tables have sample values.
	MaxSampled = 20
	// SampleValues is how many values of a column are shown, each with at most
	// MaxValue bytes.
	SampleValues = 3
	MaxValue     = 64
	// SampleTime is how long sampling one table may take. What takes longer
	// has no sample.
	SampleTime = 2 * time.Second
	// MaxRepair is how many bytes of a failed statement, and of its error, the
	// model sees again.
	MaxRepair = 8 << 10
	// MaxCandidates is how many parts of an answer are tried as SQL.
	MaxCandidates = 16
)
