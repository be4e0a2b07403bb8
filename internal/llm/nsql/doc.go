// Package nsql turns a question into SQL: it sends the question to a model, checks the
// statement that it writes, and has the model correct a statement that fails. It owns
// the prompt, the extraction of the statement from an answer, and the limit of
// attempts.
//
//	writer, err := nsql.New(env, scope, func(ctx context.Context, r *chat.Request) (*chat.Response, error) {
//		return chat.Collect(provider.Chat(ctx, r))
//	})
//	answer, err := writer.Write(ctx, nsql.Request{Query: "Which customers ordered most?"})
//	rows, err := db.Query(ctx, engine.Request{SQL: answer.SQL, Allow: answer.Allow})
//
// Nothing that a model writes runs unless the guard accepts it, and only with the
// tables that the question may read.
package nsql

import "time"

// Limits on a question and its prompt.
const (
	// DefaultAttempts is the default number of attempts, as in Spice.
	DefaultAttempts = 10
	MaxAttempts     = 20
	// MaxQuery limits a question, in bytes.
	MaxQuery = 64 << 10
	// MaxTables and MaxFunctions limit the bytes of the prompt that describe tables and
	// functions. The others are only named.
	MaxTables    = 64 << 10
	MaxFunctions = 32 << 10
	// MaxMetrics limits the bytes of the prompt that describe metrics. The others are only named.
	MaxMetrics = 32 << 10
	// MaxNames limits the names that the prompt lists without a description.
	MaxNames = 100
	// MaxDescription limits the bytes of a function's description.
	MaxDescription = 512
	// MaxSampled limits the tables that have sample values.
	MaxSampled = 20
	// SampleValues is how many values of a column are shown, each with at most MaxValue
	// bytes.
	SampleValues = 3
	MaxValue     = 64
	// SampleTime limits the sampling of one table. A table that takes longer has no
	// sample.
	SampleTime = 2 * time.Second
	// MaxRepair limits the bytes of a failed statement and the error that are sent
	// back to the model.
	MaxRepair = 8 << 10
	// MaxCandidates limits the parts of an answer that are tried as SQL.
	MaxCandidates = 16
)
