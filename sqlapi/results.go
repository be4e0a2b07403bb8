package sqlapi

import (
	"errors"
	"net/http"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/internal/sql/query"
)

type storedResult struct {
	Ref       string         `json:"ref"`
	Rows      int64          `json:"rows"`
	Bytes     int64          `json:"bytes"`
	Columns   []storedColumn `json:"columns"`
	CreatedAt time.Time      `json:"created_at"`
	ExpiresAt time.Time      `json:"expires_at"`
}

type storedColumn struct {
	Name string `json:"name"`
	Type string `json:"type"` // DuckDB's
}

type storedResults struct {
	Results []storedResult `json:"results"`
}

func (q *queriesHandler) listResults(w http.ResponseWriter, _ *http.Request, who caller.Caller) error {
	list := storedResults{Results: []storedResult{}}
	for _, r := range q.results.List(who.Owner()) {
		k := storedResult{Ref: r.Name, Rows: r.Rows, Bytes: r.Bytes, Columns: []storedColumn{}, CreatedAt: r.Created.UTC(), ExpiresAt: r.Expires.UTC()}
		for _, c := range r.Columns {
			k.Columns = append(k.Columns, storedColumn{c.Name, c.Type.String()})
		}
		list.Results = append(list.Results, k)
	}
	return writeJSON(w, http.StatusOK, list)
}

// result sends the rows of a stored result.
func (q *queriesHandler) result(w http.ResponseWriter, r *http.Request, who caller.Caller) error {
	name := r.PathValue("ref")
	if _, err := q.results.Get(who.Owner(), name); err != nil {
		return noResult(err)
	}
	req := query.Request{
		Request: engine.Request{SQL: "FROM " + engine.Ref + "(" + engine.Literal(name) + ")"},
		Caller:  who, Door: query.HTTP, Remote: r.RemoteAddr,
	}
	return q.sql.statement(w, r, req, outputOf(format.Negotiate(accept(r))), nil)
}

func (q *queriesHandler) deleteResult(w http.ResponseWriter, r *http.Request, who caller.Caller) error {
	if err := q.results.Delete(who.Owner(), r.PathValue("ref")); err != nil {
		return noResult(err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// noResult makes an unknown name 404: the address is wrong, not a statement.
func noResult(err error) error {
	var e *engine.Error
	if errors.As(err, &e) && e.Code == engine.CodeNotFound {
		return newError(codeNoResult, e.Hint, "%s", e.Message)
	}
	return err
}
