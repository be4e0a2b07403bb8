package sqlapi

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/spiced-sql/spiced/engine"
	"github.com/spiced-sql/spiced/fingerprint"
	"github.com/spiced-sql/spiced/format"
	"github.com/spiced-sql/spiced/registry"
	"github.com/spiced-sql/spiced/tools"
)

// headerGeneration names the generation that answered: after a reload another
// one may have other tables and functions.
const headerGeneration = "X-Spiced-Generation"

// sql runs one statement and streams its rows.
func (a *API) sql(w http.ResponseWriter, r *http.Request) error {
	scope, err := scopeOf(w, r, tools.SurfaceSQL)
	if err != nil {
		return err
	}
	req, err := a.readSQL(w, r)
	if err != nil {
		return err
	}
	return a.statement(w, r, scope, req, outputOf(format.Negotiate(accept(r))))
}

// statement runs a statement and records what became of it.
func (a *API) statement(w http.ResponseWriter, r *http.Request, scope tools.Scope, req engine.Request, out output) error {
	if a.log.Enabled(r.Context(), slog.LevelInfo) {
		f := fingerprint.Of(req.SQL)
		note(w, slog.String("sql", f.Text), slog.String("fingerprint", f.ID))
	}
	start := time.Now()
	functions, rows, err := a.run(registry.WithScope(r.Context(), scope), w, req, out)
	note(w, slog.Int64("rows", rows))
	bytes, stalled := sent(w)
	ended := outcome(r.Context(), err, stalled)
	a.metrics.ObserveQuery(ended, time.Since(start), rows, bytes)
	if a.opts.Tools != nil {
		code := ended
		if err == nil {
			code = ""
		}
		a.opts.Tools.Statement(functions, scope, start, err == nil, code, rows)
	}
	return err
}

// output is how rows are written.
type output struct {
	contentType string
	newWriter   func(io.Writer) format.Writer
}

func outputOf(f format.Form) output { return output{f.ContentType, f.NewWriter} }

// run runs a statement and returns the declared functions it used and how many
// rows it wrote.
func (a *API) run(ctx context.Context, w http.ResponseWriter, req engine.Request, out output) (functions []string, n int64, err error) {
	rows, err := a.opts.Querier.Query(ctx, req)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	w.Header().Set("Content-Type", out.contentType)
	w.Header().Add("Vary", "Accept")
	setGeneration(w, rows.Generation())
	s := newStream(w, out.newWriter(w))
	defer s.stop()
	n, err = format.Copy(s, rows)
	return rows.Functions(), n, err
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
