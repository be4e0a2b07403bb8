package query

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// A PIVOT without IN has a column for each value that its rows have, which DuckDB finds with a
// statement of its own. The guard judges one SELECT, so here the values are read by a first
// statement of the same caller, under the same guard and limits, and written into the text.

// mostPivoted is how many columns the values may make, those of several ON columns multiplied.
const mostPivoted = 1000

// pivoted returns the request with values for the columns of its PIVOT, if that is why it was
// refused; else the error.
func (s *Service) pivoted(ctx context.Context, req engine.Request, refusal error) (engine.Request, error) {
	if !isCode(refusal, errcode.Refused) || len(req.Params.Positional)+len(req.Params.Named) > 0 {
		return req, refusal
	}
	p := sqltree.OpenPivot(req.SQL)
	if p == nil {
		return req, refusal
	}
	text, done, made := strings.Builder{}, 0, 1
	for _, c := range p.Columns {
		first := req
		first.SQL = fmt.Sprintf("%[1]sSELECT CAST(%[2]s AS VARCHAR) AS v FROM %[3]s WHERE %[2]s IS NOT NULL GROUP BY %[2]s "+
			"ORDER BY %[2]s LIMIT %[4]d", p.With, c.Name, p.Source, mostPivoted+1)
		values, err := s.texts(ctx, first)
		made *= len(values)
		var missing *engine.Error
		switch {
		case errors.As(err, &missing) && missing.Code == errcode.NotFound:
			return req, engine.NewError(errcode.NotFound, missing.Hint, "%s", missing.Message) // its position is in another text
		case err != nil, len(values) == 0: // the refusal says what to write
			return req, refusal
		case made > mostPivoted:
			return req, engine.NewError(errcode.Limit, "name the values that become columns: IN (…)",
				"the values of %s would make more than %d columns", c.Name, mostPivoted)
		}
		text.WriteString(req.SQL[done:c.End] + " IN (" + strings.Join(values, ", ") + ")")
		done = c.End
	}
	req.SQL = text.String() + req.SQL[done:]
	return req, nil
}

// texts returns the values of a statement with one column of texts, as literals.
func (s *Service) texts(ctx context.Context, req engine.Request) (list []string, err error) {
	rows, err := s.opts.DB.Query(ctx, req)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for chunk, err := range rows.Chunks() {
		if err != nil {
			return nil, err
		}
		for i := range chunk.Len() {
			list = append(list, engine.Literal(string(chunk.Column(0).Bytes(i))))
		}
	}
	return list, nil
}
