package sqlapi

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/spiced-sql/spiced/engine"
	"github.com/spiced-sql/spiced/fingerprint"
	"github.com/spiced-sql/spiced/format"
)

// headerGeneration names the generation that answered: after a reload another
// one may have other tables and functions.
const headerGeneration = "X-Spiced-Generation"

// sql runs one statement and streams its rows.
func (a *API) sql(w http.ResponseWriter, r *http.Request) error {
	req, err := a.readSQL(w, r)
	if err != nil {
		return err
	}
	if a.log.Enabled(r.Context(), slog.LevelInfo) {
		f := fingerprint.Of(req.SQL)
		note(w, slog.String("sql", f.Text), slog.String("fingerprint", f.ID))
	}
	start := time.Now()
	rows, err := a.run(r.Context(), w, req, format.Negotiate(accept(r)))
	note(w, slog.Int64("rows", rows))
	bytes, stalled := sent(w)
	a.metrics.ObserveQuery(outcome(r.Context(), err, stalled), time.Since(start), rows, bytes)
	return err
}

// run runs a statement and returns how many rows it wrote.
func (a *API) run(ctx context.Context, w http.ResponseWriter, req engine.Request, form format.Form) (int64, error) {
	rows, err := a.opts.Querier.Query(ctx, req)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	w.Header().Set("Content-Type", form.ContentType)
	w.Header().Add("Vary", "Accept")
	w.Header().Set(headerGeneration, strconv.FormatUint(rows.Generation(), 10))
	s := newStream(w, form)
	defer s.stop()
	return format.Copy(s, rows)
}

// outcome is how a statement ended: ok or its error's code.
func outcome(ctx context.Context, err error, stalled bool) string {
	switch {
	case err == nil:
		return "ok"
	case stalled:
		return string(codeNotSent)
	case ctx.Err() != nil:
		return string(engine.CodeCancelled)
	}
	return string(asRequestError(err).Code)
}
