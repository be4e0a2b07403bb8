package results

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
)

// Limits of what is returned instead of a large result.
const (
	previewRows  = 10
	previewBytes = 2 << 10 // of the whole reference, unless two rows are larger
	leastPreview = 2       // rows
	cellBytes    = 80      // of a value in the preview, as JSON
	typeBytes    = 80      // of the name of a type
	statsColumns = 20      // wider results have no statistics
	statsText    = 40      // characters of the smallest and largest text
	statsTimeout = 5 * time.Second
	// keepTimeout is how long reading the rest of a result may take, if that is not
	// more than half of the caller's remaining time. After that, only the rows read
	// so far are returned.
	keepTimeout = 20 * time.Second
)

// reference replaces a large result. It has no name if the result cannot be stored;
// then the preview is all there is.
type reference struct {
	Ref     string            `json:"ref,omitempty"`
	Rows    int64             `json:"rows,omitempty"`
	Columns []column          `json:"columns,omitempty"`
	Note    string            `json:"note"`
	Preview []json.RawMessage `json:"preview"`
	Stats   []json.RawMessage `json:"stats,omitempty"`
}

type column struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

var referenceSchema = json.RawMessage(`{"type":"object",` +
	`"description":"Instead of a result that is too large: its first rows, and the reference by which the whole can be queried.",` +
	`"properties":{` +
	`"ref":{"type":"string","description":"Query all rows by it: SELECT … FROM ref('r_…')"},` +
	`"rows":{"type":"integer"},` +
	`"columns":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"type":{"type":"string"}},"required":["name","type"]}},` +
	`"note":{"type":"string"},` +
	`"preview":{"type":"array","items":{"type":"object"}},` +
	`"stats":{"type":"array","items":{"type":"object"}}},` +
	`"required":["note","preview"]}`)

// Schema is the JSON Schema of the output of Keep.
func (s *Store) Schema() json.RawMessage { return referenceSchema }

// Summary is returned in place of a large result.
type Summary struct {
	Value json.RawMessage // an object of [Store.Schema]
	Rows  int             // in the preview
	More  *int64          // further rows; nil when unknown, because the result is not stored
}

// Save stores a result for the caller of ctx: the chunks that were read of it,
// which it destroys, and the rest, which it does not close. The summary usually
// has less than 2 KiB: the result's name, the number of its rows, its columns,
// the first ten rows and statistics of the columns.
//
// shown are the first rows as JSON objects. When the result is too large to be
// stored, or takes too long to read, the summary is these rows and a note
// with the reason. The error is the statement's own, an [*engine.Error].
func (s *Store) Save(ctx context.Context, first []*engine.Chunk, rest *engine.Rows,
	shown []json.RawMessage,
) (Summary, error) {
	r, err := s.save(ctx, first, rest)
	switch {
	case err == nil:
		return s.describe(ctx, r, shown)
	case ctx.Err() == nil && partial(err):
		return truncated(shown, engine.AsError(err))
	}
	return Summary{}, err
}

// patience is how long reading the rest of a result may take, so that the reference
// still reaches the caller.
func patience(ctx context.Context) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		return min(keepTimeout, time.Until(end)/2)
	}
	return keepTimeout
}

// errPatience is the error of a result that takes too long.
var errPatience = engine.NewError(errcode.Timeout, "", "it takes too long to read")

// save stores the rest of a result in a table.
func (s *Store) save(ctx context.Context, first []*engine.Chunk, rest *engine.Rows) (*Result, error) {
	defer func() {
		for _, chunk := range first {
			chunk.Destroy()
		}
	}()
	w, err := s.Create(ctx, caller.From(ctx).Owner(), rest.Columns())
	if err != nil {
		return nil, &unstored{err}
	}
	defer w.Abort()
	for _, chunk := range first {
		if err := w.Append(chunk); err != nil {
			return nil, &unstored{err}
		}
	}
	timer := time.AfterFunc(patience(ctx), rest.Close)
	defer timer.Stop()
	for chunk, err := range rest.Chunks() {
		if err != nil && !timer.Stop() {
			return nil, errPatience
		}
		if err != nil {
			return nil, err
		}
		if err := w.Append(chunk); err != nil {
			return nil, &unstored{err}
		}
	}
	if !timer.Stop() {
		return nil, errPatience
	}
	r, err := w.Close()
	if err != nil {
		return nil, &unstored{err}
	}
	return r, nil
}

// unstored is the error of a result that could be read but not stored.
type unstored struct{ error }

func (e *unstored) Unwrap() error { return e.error }

// partial reports whether the first rows of a result may be returned although the
// whole failed: it cannot be stored, or exceeds a limit.
func partial(err error) bool {
	var not *unstored
	code := engine.AsError(err).Code
	return errors.As(err, &not) || code == errcode.Limit || code == errcode.Timeout
}

// truncated returns the first rows of a result that cannot be stored.
func truncated(shown []json.RawMessage, why *engine.Error) (Summary, error) {
	if shown == nil {
		shown = []json.RawMessage{}
	}
	value, err := reference{
		Note: fmt.Sprintf("these are the first rows only; the result cannot be stored: %s. Aggregate, filter, "+
			"or add LIMIT.", why.Message),
		Preview: shown,
	}.encode()
	return Summary{Value: value, Rows: len(shown)}, err
}

// describe returns the reference to a stored result.
func (s *Store) describe(ctx context.Context, r *Result, shown []json.RawMessage) (Summary, error) {
	ref := reference{
		Ref: r.Name, Rows: r.Rows, Columns: make([]column, len(r.Columns)),
		Note: fmt.Sprintf("the result is large: it is stored for %s, and the preview has the first rows; query it with "+
			"SELECT … FROM ref('%s')",
			duration(s.opts.Limits.TTL), r.Name),
		Preview: make([]json.RawMessage, 0, previewRows), Stats: s.stats(ctx, r),
	}
	for i, c := range r.Columns {
		ref.Columns[i] = column{c.Name, truncate.Fit(c.Type.String(), typeBytes)}
	}
	for _, row := range shown[:min(len(shown), previewRows)] {
		ref.Preview = append(ref.Preview, shortRow(row, r.Columns))
	}
	value, err := ref.encode()
	for ; err == nil && len(value) > previewBytes && len(ref.Preview) > leastPreview; value, err = ref.encode() {
		ref.Preview = ref.Preview[:len(ref.Preview)-1]
	}
	more := r.Rows - int64(len(ref.Preview))
	return Summary{Value: value, Rows: len(ref.Preview), More: &more}, err
}

// encode renders a reference as one line of JSON.
func (r reference) encode() (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(r)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// duration formats a duration as people write it: 15m, not 15m0s.
func duration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// shortRow returns a row, a JSON object, with the column names of the table and
// long values truncated: text to a prefix, and a list or an object to a
// prefix of the JSON, as text.
func shortRow(row json.RawMessage, columns []engine.Column) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(row))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return row
	}
	out := []byte{'{'}
	for i := 0; d.More() && i < len(columns); i++ {
		var value json.RawMessage
		if _, err := d.Token(); err != nil || d.Decode(&value) != nil {
			return row
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(format.AppendString(out, columns[i].Name), ':')
		out = append(out, shortValue(value)...)
	}
	return append(out, '}')
}

func shortValue(value json.RawMessage) json.RawMessage {
	var text string
	switch {
	case len(value) <= cellBytes:
		return value
	case value[0] != '"' || json.Unmarshal(value, &text) != nil:
		text = string(value)
	}
	return format.AppendString(nil, truncate.Fit(text, cellBytes))
}
