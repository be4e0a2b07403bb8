package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/find/embeddings"
	"github.com/spiced-sql/spiced/internal/kit/memory"
	"github.com/spiced-sql/spiced/internal/protocols/mcpserver"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire/pgcatalog"
	"github.com/spiced-sql/spiced/internal/runtime"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/query"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/sqlapi"
)

// options choose what a command needs of a Spicepod.
type options struct {
	runtime.Options
	queries bool // the query service, with workers for isolated statements
	mcp     bool // the MCP server, with workers
	pg      bool // PostgreSQL's protocol, even if the Spicepod does not serve it
}

// app is a Spicepod's runtime and what listeners serve of it. Every command
// that loads a Spicepod gets one from [assemble].
type app struct {
	*runtime.Runtime
	log     *slog.Logger
	opts    options
	queries *query.Service    // nil without options.queries
	jobs    *query.Jobs       // likewise
	mcp     *mcpserver.Server // nil without options.mcp
	api     *sqlapi.API       // nil before newAPI
	memory  *memory.Budget    // of large requests over all protocols
}

// assemble opens what o asks for. Nothing is loaded yet.
func assemble(ctx context.Context, o options) (_ *app, err error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	a := &app{log: o.Log, memory: memory.NewBudget(0)}
	o.Version = version
	o.Loaded = a.reloaded
	if o.Worker, err = worker(); err != nil {
		return nil, err
	}
	if o.Sandbox, err = sandboxWorker(); err != nil {
		return nil, err
	}
	if o.Reader, err = documentWorker(); err != nil {
		return nil, err
	}
	o.Clients = func(r spicepod.Runtime) *engine.ClientCatalog {
		if !o.pg && (r.Postgres == nil || !r.Postgres.Enabled) {
			return nil
		}
		return pgcatalog.Catalog()
	}
	a.opts = o
	if a.Runtime, err = runtime.New(ctx, o.Options); err != nil {
		return nil, err
	}
	if o.mcp {
		if a.mcp, err = newMCPServer(a.Runtime, a.log); err != nil {
			a.close()
			return nil, err
		}
	}
	if o.queries {
		a.queries = query.New(query.Options{
			DB: a.DB(), Usage: a.Tools(), Metrics: o.Metrics, Audit: a.Audit(), Activity: a.Activity(), Isolate: a.Isolates,
			Refuse: a.refuse,
			Memory: a.memory, Catalog: a.catalog(),
		})
		a.jobs = query.NewJobs(query.JobsOptions{Service: a.queries, Results: a.Results(), KeepFor: a.Settings().Results.TTL})
	}
	if o.Metrics != nil {
		o.Metrics.WatchEngine(func() (running, waiting, abandoned int) {
			s := a.DB().Stats()
			return s.Running, s.Waiting, s.Abandoned
		})
	}
	return a, nil
}

// assembleLoaded is assemble for commands that load the Spicepod once. It prints
// faults of components; the other components are served.
func assembleLoaded(ctx context.Context, std streams, o options) (*app, error) {
	o.Progress = progress(std.err, nil)
	a, err := assemble(ctx, o)
	if err != nil {
		return nil, err
	}
	report := a.Load(ctx, "start")
	if ctx.Err() != nil {
		a.close()
		return nil, ctx.Err()
	}
	report.Problems.WriteText(std.err)
	if !report.Accepted {
		a.close()
		return nil, shownError{errors.New("the Spicepod was refused")}
	}
	return a, nil
}

// reloaded tells those who follow of a load.
func (a *app) reloaded(r *runtime.Report) {
	if r.Accepted && a.mcp != nil {
		a.mcp.Published()
	}
	if !a.Events().Active() {
		return
	}
	outcome := inventory{runtime: a.Runtime}.outcome(r)
	a.Events().Publish(sqlapi.Reloaded{
		Reload: outcome, Trigger: r.Trigger, At: r.Time.UTC(), Ready: a.Ready(),
		TookMS: float64(r.Duration.Microseconds()) / 1000,
	}, sizeOf(outcome))
}

// sizeOf is about how many bytes the outcome of a load has.
func sizeOf(r sqlapi.Reload) int {
	size := 256
	for _, c := range r.Changed {
		size += len(c) + 16
	}
	for _, p := range r.Problems {
		size += len(p.Message) + len(p.Hint) + len(p.Component) + len(p.Path) + len(p.Source) + 128
	}
	return size
}

// newAPI returns the HTTP API. addresses are those of the listeners, by name.
func (a *app) newAPI(guard sqlapi.Guard, encrypted bool, addresses func() map[string]string) *sqlapi.API {
	shown := inventory{a.Runtime, addresses}
	guard.Memory = a.memory
	o := sqlapi.Options{
		Queries: a.queries, Jobs: a.jobs, Results: a.Results(), Guard: guard, TLS: encrypted,
		Cache: func() spicepod.ResultCache { return a.Settings().Caching.SQLResults },
		Runtime: sqlapi.Runtime{
			Inventory: shown, Refresher: shown, Reloader: shown, Sandboxes: shown, Tester: shown, Files: shown,
		},
		Events: a.Events(),
		Tools:  a.Tools(), Embeddings: a.embeddings, Chats: chats{a.Runtime}, Search: a.SearchRows,
		Metrics: a.opts.Metrics, Log: a.log, Version: version,
	}
	if a.mcp != nil {
		o.MCP = a.mcp
	}
	a.api = sqlapi.New(o)
	return a.api
}

// close releases everything. Listeners must be closed and Run must have
// returned.
func (a *app) close() {
	if a.mcp != nil {
		a.mcp.Close()
	}
	if a.api != nil {
		a.api.Close()
	}
	if a.jobs != nil {
		a.jobs.Close()
	}
	a.Close()
}

// refuse returns why no statement is accepted, or nil.
func (a *app) refuse() error {
	if a.Draining() {
		return engine.ErrClosing
	}
	return nil
}

// embeddings returns the current embedding models.
func (a *app) embeddings() *embeddings.Set {
	if g := a.Current(); g != nil {
		return g.Embeddings
	}
	return nil
}

// catalog writes statements on PostgreSQL's catalog for the other protocols, where the runtime
// has that catalog; else nil.
func (a *app) catalog() func(sql string, who caller.Caller) (string, bool) {
	if a.Clients() == nil {
		return nil
	}
	return func(sql string, who caller.Caller) (string, bool) {
		if !pgcatalog.OfCatalog(sql) {
			return sql, false
		}
		return pgcatalog.RewriteFor(sql, pgcatalog.Session{User: cmp.Or(who.UserID, who.Principal)})
	}
}
