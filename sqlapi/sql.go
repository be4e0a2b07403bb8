package sqlapi

import (
	"io"
	"log/slog"
	"net/http"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/fingerprint"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/internal/sql/query"
	"github.com/spiced-sql/spiced/spicepod"
)

// headerGeneration names the generation that answered: after a reload another
// one may have other tables and functions. headerQueryID names the statement
// for /v1/sql/{id}/cancel.
const (
	headerGeneration = "X-Spiced-Generation"
	headerQueryID    = "X-Spiced-Query-Id"
)

// sqlHandler runs statements.
type sqlHandler struct {
	queries  *query.Service
	cache    *resultCache
	settings func() spicepod.ResultCache // of the cache
	bodies   bodyReader
	maxBody  int64
	log      *slog.Logger
}

// run runs one statement and streams its rows, or answers with those of an
// equal one a moment ago.
func (s *sqlHandler) run(w http.ResponseWriter, r *http.Request, who caller.Caller) error {
	req, err := s.readSQL(w, r)
	if err != nil {
		return err
	}
	q := query.Request{Request: req, Caller: who, Protocol: query.HTTP, Remote: r.RemoteAddr}
	return s.cached(w, r, q, outputOf(format.Negotiate(accept(r))))
}

// output is how rows are written.
type output struct {
	contentType string
	newWriter   func(io.Writer) format.Writer
}

func outputOf(f format.Form) output { return output{f.ContentType, f.NewWriter} }

// statement runs a statement and streams its rows; also, if it is not nil,
// records them.
func (s *sqlHandler) statement(w http.ResponseWriter, r *http.Request, req query.Request, out output,
	also *recording,
) error {
	s.noteStatement(w, r, req.SQL)
	rows, err := s.queries.Query(r.Context(), req)
	if err != nil {
		return err
	}
	defer rows.Close()
	h := w.Header()
	h.Set("Content-Type", out.contentType)
	h.Add("Vary", "Accept")
	h.Set(headerQueryID, rows.ID())
	setGeneration(w, rows.Generation())
	to := io.Writer(w)
	if also != nil {
		if more := also.begin(w, rows); more != nil {
			to = io.MultiWriter(w, more)
		}
	}
	if err := send(w, rows, out.newWriter(to)); err != nil {
		return err
	}
	if also != nil {
		also.end(rows)
	}
	return nil
}

func send(w http.ResponseWriter, rows *query.Rows, form format.Writer) error {
	s := &stream{w: w, form: form}
	defer s.stop()
	n, err := format.Copy(s, rows)
	s.stop() // or a late flush would write what is counted now
	note(w, slog.Int64("rows", n))
	bytes, stalled := sent(w)
	rows.Sent(bytes)
	if stalled {
		rows.Failed(&engine.Error{Code: codeNotSent, Message: "the client does not read", Offset: -1})
	} else if err != nil {
		rows.Failed(err)
	}
	return err
}

// noteStatement adds the statement's fingerprint to the request's line in the
// log.
func (s *sqlHandler) noteStatement(w http.ResponseWriter, r *http.Request, sql string) {
	if s.log.Enabled(r.Context(), slog.LevelDebug) {
		f := fingerprint.Of(sql)
		note(w, slog.String("sql", f.Text), slog.String("fingerprint", f.ID))
	}
}
