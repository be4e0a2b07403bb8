package sqlapi

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/internal/sql/query"
	"github.com/spiced-sql/spiced/internal/sql/results"
)

// maxChunk is how many bytes of JSON a chunk of a submitted query's rows has
// at most. Nothing of it leaves before all is there.
const maxChunk = 32 << 20

// submittedQuery describes a submitted query.
type submittedQuery struct {
	QueryID    string         `json:"query_id" doc:"A UUID."`
	Status     query.State    `json:"status" enum:"PENDING,RUNNING,SUCCEEDED,FAILED,CANCELLED"`
	SQLPreview string         `json:"sql_preview" doc:"The beginning of its text."`
	CreatedAt  time.Time      `json:"created_at"`
	Error      *queryError    `json:"error,omitempty"`
	Manifest   *queryManifest `json:"manifest,omitempty"`
	Result     *queryChunk    `json:"result,omitempty"`
}

type queryError struct {
	ErrorCode string `json:"error_code"`
	Message   string `json:"message"`
}

type queryManifest struct {
	Format          string      `json:"format" doc:"JSON_ARRAY."`
	Schema          querySchema `json:"schema"`
	TotalRowCount   int64       `json:"total_row_count"`
	TotalChunkCount int         `json:"total_chunk_count"`
	Ref             string      `json:"ref" doc:"The name of the stored result."` // FROM ref('…') reads the rows
}

type querySchema struct {
	ColumnCount int           `json:"column_count"`
	Columns     []queryColumn `json:"columns"`
}

type queryColumn struct {
	Name     string `json:"name"`
	TypeName string `json:"type_name" doc:"Arrow's."` // as of /v1/sql
	Nullable bool   `json:"nullable"`
	Position int    `json:"position" doc:"From 0."`
}

type queryChunk struct {
	ChunkIndex     int      `json:"chunk_index" doc:"From 0."`
	RowOffset      int64    `json:"row_offset"`
	RowCount       int64    `json:"row_count"`
	NextChunkIndex *int     `json:"next_chunk_index,omitempty"`
	NextChunkURL   string   `json:"next_chunk_url,omitempty"`
	DataArray      rowsJSON `json:"data_array"`
}

// queriesHandler serves submitted queries and stored results.
type queriesHandler struct {
	sql     *sqlHandler
	jobs    *query.Jobs
	results *results.Store
}

// owned is a handler for what belongs to the caller.
func (q *queriesHandler) owned(h callerHandler) handler {
	return withCaller(caller.SQL, func(w http.ResponseWriter, r *http.Request, who caller.Caller) error {
		if q.jobs == nil {
			return newError(codeNotServed, "", "queries are not submitted here")
		}
		return h(w, r, who)
	})
}

// submit takes a query, which runs by itself.
func (q *queriesHandler) submit(w http.ResponseWriter, r *http.Request, who caller.Caller) error {
	body, err := q.sql.bodies.read(w, r, q.sql.maxBody)
	if err != nil {
		return err
	}
	req, err := decodeSQL(body)
	if err != nil {
		return err
	}
	job, err := q.jobs.Submit(query.Request{Request: req, Caller: who, Protocol: query.Queries, Remote: r.RemoteAddr})
	if err != nil {
		return err
	}
	return accepted(w, job)
}

// accepted answers with a query that was just submitted.
func accepted(w http.ResponseWriter, job *query.Job) error {
	w.Header().Set(headerLocation, pathQueries+"/"+job.ID)
	return writeJSON(w, http.StatusAccepted, summary(job))
}

func summary(job *query.Job) submittedQuery {
	s := submittedQuery{QueryID: job.ID, Status: job.State, SQLPreview: job.Preview, CreatedAt: job.Created.UTC()}
	if job.Err != nil {
		s.Error = &queryError{string(job.Err.Code), job.Err.Error()}
	}
	return s
}

// job returns the query that the path names.
func (q *queriesHandler) job(r *http.Request, who caller.Caller) (*query.Job, error) {
	job, err := q.jobs.Get(who.Owner(), r.PathValue("id"))
	return job, noJob(err)
}

func noJob(err error) error {
	return notFound(err, codeNoQuery, "it may have expired, or belong to another caller")
}

// notFound makes an unknown name 404: the address is wrong, not a statement.
func notFound(err error, code errcode.Code, hint string) error {
	var e *engine.Error
	if errors.As(err, &e) && e.Code == errcode.NotFound {
		return newError(code, cmp.Or(hint, e.Hint), "%s", e.Message)
	}
	return err
}

func (q *queriesHandler) status(w http.ResponseWriter, r *http.Request, who caller.Caller) error {
	job, err := q.job(r, who)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, summary(job))
}

// query describes a query and, when it has succeeded, its result with the
// first rows.
func (q *queriesHandler) get(w http.ResponseWriter, r *http.Request, who caller.Caller) error {
	job, err := q.job(r, who)
	if err != nil {
		return err
	}
	s := summary(job)
	if job.Result != nil {
		chunks := job.Chunks()
		s.Manifest = manifest(job, len(chunks))
		if len(chunks) > 0 {
			if s.Result, err = q.chunk(r, who, job, chunks, 0); err != nil {
				return err
			}
		}
	}
	return writeJSON(w, http.StatusOK, s)
}

func manifest(job *query.Job, chunks int) *queryManifest {
	m := &queryManifest{
		Format: "JSON_ARRAY", TotalRowCount: job.Result.Rows, TotalChunkCount: chunks, Ref: job.Result.Name,
		Schema: querySchema{ColumnCount: len(job.Result.Columns), Columns: []queryColumn{}},
	}
	for i, c := range job.Result.Columns {
		name := string(format.AppendDataType(nil, format.ArrowType(c.Type)))
		if plain, err := strconv.Unquote(name); err == nil {
			name = plain
		}
		m.Schema.Columns = append(m.Schema.Columns, queryColumn{c.Name, name, true, i})
	}
	return m
}

// chunk reads the rows of a chunk.
func (q *queriesHandler) chunk(r *http.Request, who caller.Caller, job *query.Job, chunks []query.JobChunk,
	index int,
) (*queryChunk, error) {
	c := chunks[index]
	out := &queryChunk{ChunkIndex: c.Index, RowOffset: c.Offset, RowCount: c.Rows}
	if next := index + 1; next < len(chunks) {
		out.NextChunkIndex, out.NextChunkURL = &next, fmt.Sprintf("%s/%s/results/chunks/%d", pathQueries, job.ID, next)
	}
	rows, err := q.sql.queries.Query(r.Context(), query.Request{
		Request: engine.Request{SQL: c.SQL()}, Caller: who, Protocol: query.HTTP, Remote: r.RemoteAddr,
	})
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	b := bounded{limit: maxChunk}
	form, _ := format.ByName("json")
	if _, err := format.Copy(form.NewWriter(&b), rows); err != nil {
		return nil, err
	}
	if b.over {
		err := &engine.Error{
			Code: errcode.Limit, Offset: -1,
			Message: fmt.Sprintf("chunk %d is larger than %d MiB as JSON", c.Index, maxChunk>>20),
			Hint:    fmt.Sprintf("GET %s/%s streams all rows", pathResults, job.Result.Name),
		}
		rows.Failed(err)
		return nil, err
	}
	rows.Sent(int64(len(b.buf)))
	out.DataArray = rowsJSON{b.buf}
	return out, nil
}

func (q *queriesHandler) getChunk(w http.ResponseWriter, r *http.Request, who caller.Caller) error {
	job, err := q.job(r, who)
	if err != nil {
		return err
	}
	chunks := job.Chunks()
	index, err := strconv.Atoi(r.PathValue("index"))
	if err != nil || index < 0 || index >= len(chunks) {
		return newError(codeNoQuery, "", "the query has %d chunks, from 0; there is no %s", len(chunks),
			truncate.Ellipsis(r.PathValue("index"), maxShown))
	}
	chunk, err := q.chunk(r, who, job, chunks, index)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, chunk)
}

func (q *queriesHandler) cancel(w http.ResponseWriter, r *http.Request, who caller.Caller) error {
	job, err := q.jobs.Cancel(who.Owner(), r.PathValue("id"))
	if err != nil {
		return noJob(err)
	}
	s := summary(job)
	if !s.Status.Over() {
		s.Status = query.Cancelled // it ends in a moment
	}
	return writeJSON(w, http.StatusOK, s)
}

type submittedQueries struct {
	Queries    []submittedQuery `json:"queries"`
	TotalCount int              `json:"total_count"`
}

// stateNames are the states as a filter may name them: as the API answers them
// or, in lower case, as Spice's clients ask for them.
var stateNames = map[string]query.State{
	"pending": query.Pending, "queued": query.Pending, "running": query.Running, "succeeded": query.Succeeded,
	"completed": query.Succeeded, "failed": query.Failed, "cancelled": query.Cancelled,
}

// stateChoices are the names of states, in lower case and in upper case.
func stateChoices() []string {
	names := slices.Sorted(maps.Keys(stateNames))
	for _, name := range names {
		names = append(names, strings.ToUpper(name))
	}
	return names
}

func (q *queriesHandler) list(w http.ResponseWriter, r *http.Request, who caller.Caller) error {
	filter, limit := r.URL.Query().Get("status"), math.MaxInt
	state := stateNames[strings.ToLower(filter)]
	if n, err := strconv.Atoi(r.URL.Query().Get("limit")); err == nil {
		limit = n
	}
	list := submittedQueries{Queries: []submittedQuery{}}
	for _, job := range q.jobs.List(who.Owner()) {
		if filter != "" && job.State != state {
			continue
		}
		list.TotalCount++
		if len(list.Queries) < limit {
			list.Queries = append(list.Queries, summary(job))
		}
	}
	return writeJSON(w, http.StatusOK, list)
}

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
	Type string `json:"type" doc:"DuckDB's."`
}

type storedResults struct {
	Results []storedResult `json:"results"`
}

func (q *queriesHandler) listResults(w http.ResponseWriter, _ *http.Request, who caller.Caller) error {
	list := storedResults{Results: []storedResult{}}
	for _, r := range q.results.List(who.Owner()) {
		k := storedResult{
			Ref: r.Name, Rows: r.Rows, Bytes: r.Bytes, Columns: []storedColumn{}, CreatedAt: r.Created.UTC(),
			ExpiresAt: r.Expires.UTC(),
		}
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
		return notFound(err, codeNoResult, "")
	}
	req := query.Request{
		Request: engine.Request{SQL: "FROM " + engine.Ref + "(" + engine.Literal(name) + ")"},
		Caller:  who, Protocol: query.HTTP, Remote: r.RemoteAddr,
	}
	return q.sql.statement(w, r, req, outputOf(format.Negotiate(accept(r))), nil)
}

func (q *queriesHandler) deleteResult(w http.ResponseWriter, r *http.Request, who caller.Caller) error {
	if err := q.results.Delete(who.Owner(), r.PathValue("ref")); err != nil {
		return notFound(err, codeNoResult, "")
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
