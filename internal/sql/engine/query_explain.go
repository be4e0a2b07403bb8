package engine

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/plural"
)

// EXPLAIN ends with a row on the calls of functions whose bodies are not SQL, where the
// statement has some: each call may be a request of a service or of a model, and DuckDB's plan
// shows neither that nor how many there are.
//
// The rows that reach a call are those that DuckDB estimates for its operator. Its physical plan
// has the estimates, but shows an expression with an alias by the alias alone; its serialized
// logical plan has the expressions, and no estimates. So calls are found in the second, and
// their operators in the first: by the ID of the function, which is an argument of the call, or
// by the alias. Where several operators have the alias, those with the most rows are taken, so
// that the estimate is rather too high: an operator that only passes a value on is above the one
// that computes it.

// callsKey is the explain_key of the row.
const callsKey = "function_calls"

// Counted is a state of a [Statement] that EXPLAIN ANALYZE shows.
type Counted interface {
	// Counts returns the ID of a function ([BatchFunction]), the number of rows that it was
	// called for, and the number of different ones that it computed.
	Counts() (id string, rows, calls int)
}

// functionCalls is what is known of the calls of one function.
type functionCalls struct {
	Function  string `json:"function"`
	Estimated *int64 `json:"estimated_calls"` // nil: it is unknown
	Missing   string `json:"no_estimate,omitempty"`
	Rows      *int   `json:"rows,omitempty"` // of EXPLAIN ANALYZE, as are Calls
	Calls     *int   `json:"calls,omitempty"`
}

// explainCalls sends the row on the calls of an EXPLAIN.
func (p *producer) explainCalls() error {
	if p.verdict == nil || p.verdict.explain == "" || p.verdict.dependencies == nil || p.rows.described != nil {
		return nil
	}
	needs, err := p.verdict.dependencies()
	if err != nil {
		return nil // the plan was made here; what it calls cannot be named
	}
	var ids []string
	for _, d := range needs {
		if d.Batch != nil {
			ids = append(ids, d.Batch.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	estimates, missing := p.estimateCalls(needs, ids)
	if p.rows.ctx.Err() != nil {
		return stopped(p.rows.ctx, p.rows.limits)
	}
	counts := map[string]functionCalls{}
	analyze := strings.Contains(p.verdict.explain, "ANALYZE")
	if analyze {
		counts = StatementOf(p.rows.ctx).counts()
	}
	list := make([]functionCalls, 0, len(ids))
	for _, id := range ids {
		c := counts[id]
		if c.Calls == nil && analyze {
			c.Rows, c.Calls = new(int), new(int)
		}
		c.Function, _, _ = strings.Cut(id, "@")
		if n, ok := estimates[id]; ok {
			c.Estimated = &n
		} else {
			c.Missing = missing
		}
		list = append(list, c)
	}
	text := callsText(list)
	if strings.Contains(p.verdict.explain, "FORMAT json") {
		all, err := json.MarshalIndent(list, "", "    ")
		if err != nil {
			return err
		}
		text = string(all)
	}
	chunk := textRow(p.rows.columns, callsKey, text)
	return p.send(chunk, p.size(chunk))
}

// counts returns the calls of a statement that has run, by the ID of the function.
func (s *Statement) counts() map[string]functionCalls {
	all := map[string]functionCalls{}
	s.state.Range(func(_, state any) bool {
		if c, ok := state.(Counted); ok {
			id, rows, calls := c.Counts()
			all[id] = functionCalls{Rows: &rows, Calls: &calls}
		}
		return true
	})
	return all
}

// callsText renders the calls for people, in the manner of DuckDB's "~1,000 rows".
func callsText(list []functionCalls) string {
	var b strings.Builder
	for _, c := range list {
		estimate := "no estimate: " + c.Missing
		if c.Estimated != nil {
			estimate = "~" + counted(*c.Estimated, "call")
		}
		if c.Calls == nil {
			fmt.Fprintf(&b, "%s: %s\n", c.Function, estimate)
			continue
		}
		fmt.Fprintf(&b, "%s: %s for %s (%s)\n", c.Function, counted(int64(*c.Calls), "call"),
			counted(int64(*c.Rows), "row"), estimate)
	}
	return b.String()
}

// counted renders a number of things, with commas between thousands.
func counted(n int64, noun string) string {
	text, rest, _ := strings.Cut(plural.Of(int(n), noun), " ")
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text + " " + rest
}

// textRow returns a chunk of one row of texts.
func textRow(columns []Column, values ...string) *Chunk {
	cols := make([]Vector, len(columns))
	for i, c := range columns {
		cols[i].Type = c.Type
		cols[i].SetTexts([]byte(values[i]), binary.LittleEndian.AppendUint32(nil, uint32(len(values[i]))))
	}
	return NewChunk(1, cols, nil)
}

// Why there is no estimate.
const (
	hasParameters = "the statement has parameters; write their values"
	readsInPlace  = "CSV and JSON files are read in place; accelerate their datasets"
	notInPlan     = "DuckDB estimates no rows there"
)

// estimateCalls returns how often the statement calls the functions with these IDs, and why that
// is not known for the others. The plan is made again, twice, where the statement was planned.
func (p *producer) estimateCalls(needs []*Dependency, ids []string) (estimates map[string]int64, missing string) {
	if len(p.req.Params.Positional)+len(p.req.Params.Named) > 0 {
		return nil, hasParameters // DuckDB cannot serialize it
	}
	text := p.verdict.text[len(p.verdict.explain):]
	logical, err := p.planText(needs, "SELECT json_serialize_plan("+Literal(text)+
		", optimize := true, skip_null := true, skip_empty := true)::VARCHAR")
	if err != nil {
		return nil, notInPlan
	}
	physical, err := p.planText(needs, "EXPLAIN (FORMAT json) "+text)
	if err != nil {
		return nil, notInPlan
	}
	return estimateCalls(logical, physical, ids)
}

// planText returns the last column of the first row of a statement about the judged text.
func (p *producer) planText(needs []*Dependency, sql string) (text []byte, err error) {
	read := func(c *Chunk) error {
		if text == nil && c.Len() > 0 {
			text = slices.Clone(c.cols[len(c.cols)-1].Bytes(0))
		}
		return nil
	}
	if p.c != nil {
		err = p.c.each(sql, read)
		return text, err
	}
	job := Job{
		SQL: sql, Dependencies: needs, Tables: p.held.tables, Limits: p.rows.limits, Native: p.db.Native,
		Batch: p.db.Batch,
	}
	if tables := p.tables(); len(tables) > 0 {
		var reads *Snapshot
		defer func() {
			if reads != nil {
				reads.Close()
			}
		}()
		job.Snapshot = func() (_ *Snapshot, err error) {
			reads, err = p.snapshot(tables)
			return reads, err
		}
	}
	rows, err := p.db.opts.Isolator.Run(p.rows.ctx, job)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for {
		chunk, err := rows.Next()
		if chunk == nil || err != nil {
			return text, err
		}
		err = read(chunk)
		chunk.Destroy()
		if err != nil {
			return nil, err
		}
	}
}
