package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/data/datasets"
	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/runtime"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/sqlapi"
	"github.com/spiced-sql/spiced/tools"
)

// inventory describes the runtime to the HTTP API, refreshes and reloads it.
type inventory struct {
	runtime   *runtime.Runtime
	addresses func() map[string]string // of the endpoints, by name
}

var _ sqlapi.Inventory = inventory{}

func (i inventory) Ready() bool { return i.runtime.Ready() }

func (i inventory) Generation() uint64 {
	if g := i.runtime.Current(); g != nil {
		return g.Number
	}
	return 0
}

func (i inventory) Problems() spicepod.Problems {
	if r := i.runtime.LastReport(); r != nil {
		return i.runtime.ForCallers(r.Problems)
	}
	return nil
}

// Components returns the endpoints, including closed ones as Spice's clients
// expect, what fails while the runtime serves, the MCP servers, and what is loading.
func (i inventory) Components() []sqlapi.Component {
	open := i.addresses()
	var list []sqlapi.Component
	for _, name := range []string{"http", "flight", "postgres", "metrics", "opentelemetry"} {
		c := sqlapi.Component{Name: name, Endpoint: "N/A", Status: sqlapi.StatusDisabled}
		if name == "http" {
			c.Version = version
		}
		address := open[name]
		if name == "metrics" {
			address = cmp.Or(address, open["http"]) // at /metrics
		}
		if address != "" {
			c.Endpoint, c.Status = address, sqlapi.StatusReady
			switch {
			case i.runtime.Draining():
				c.Status = sqlapi.StatusShuttingDown
			case !i.Ready():
				c.Status = sqlapi.StatusInitializing
			}
		}
		list = append(list, c)
	}
	for _, f := range i.runtime.Faults() {
		list = slices.DeleteFunc(list, func(c sqlapi.Component) bool { return c.Name == f.Component })
		list = append(list, faulty(f.Component, f.Err))
	}
	for _, s := range i.runtime.Servers().Status() {
		list = append(list, sqlapi.Component{Name: "tool " + s.Name, Endpoint: s.From, Status: string(s.State)})
	}
	for _, s := range i.runtime.Data().Status() {
		if s.State == datasets.Loading {
			list = append(list, sqlapi.Component{
				Name: s.Kind + " " + s.Declared, Endpoint: "N/A",
				Status: sqlapi.StatusInitializing,
			})
		}
	}
	return list
}

// faulty returns the line of something optional that fails while the runtime serves. It
// shows no path of the server.
func faulty(name string, err error) sqlapi.Component {
	message := err.Error()
	var p *fs.PathError
	if errors.As(err, &p) {
		message = strings.ReplaceAll(message, " "+p.Path, "")
	}
	return sqlapi.Component{
		Name: name, Endpoint: "N/A", Status: sqlapi.StatusError,
		Problems: spicepod.Problems{{Severity: spicepod.Warning, Component: name, Message: message}},
	}
}

var datasetStatus = map[datasets.State]string{
	datasets.Ready: sqlapi.StatusReady, datasets.Loading: sqlapi.StatusInitializing, datasets.Listed: sqlapi.StatusReady,
	datasets.Refreshing: sqlapi.StatusRefreshing, datasets.Failed: sqlapi.StatusError,
}

func (i inventory) Datasets() []sqlapi.Dataset {
	list := []sqlapi.Dataset{}
	for _, s := range i.runtime.Data().Status() {
		d := sqlapi.Dataset{
			From: s.From, Name: s.Declared, AccelerationEnabled: s.Acceleration != nil,
			Status: datasetStatus[s.State], Description: s.Description, Error: s.Error,
		}
		if s.Kind == "view" {
			d.From = "view"
		}
		if s.Rows >= 0 {
			d.Rows = &s.Rows
		}
		if p := s.Loading; p != nil {
			if p.Bytes > 0 || p.Total > 0 {
				d.Loaded = &p.Bytes
			}
			if p.Total > 0 {
				d.Size = &p.Total
			}
			if p.Percent >= 0 {
				part := float64(p.Percent) / 100
				d.Progress = &part
			}
		}
		if !s.Refreshed.IsZero() {
			d.LastRefresh = &s.Refreshed
		}
		if !s.Snapshot.IsZero() {
			d.LastSnapshot = &s.Snapshot
		}
		list = append(list, d)
	}
	return list
}

func (i inventory) SearchIndexes() []sqlapi.SearchIndex {
	var list []sqlapi.SearchIndex
	for _, r := range i.runtime.SearchIndexes() {
		x := sqlapi.SearchIndex{
			Table: r.Table, Columns: r.Columns, State: r.State, Rows: r.Rows, Chunks: r.Chunks, Progress: r.Progress,
			Bytes: r.Bytes, Models: r.Models, Message: r.Message,
		}
		if r.ReadAt != nil {
			at := time.UnixMicro(int64(*r.ReadAt * 1e6)).UTC()
			x.ReadAt = &at
		}
		list = append(list, x)
	}
	return list
}

func (i inventory) Functions(who caller.Caller) []sqlapi.Function {
	list := []sqlapi.Function{}
	hides := i.runtime.ToolEnv().Hidden(tools.Scope{Caller: who})
	g := i.runtime.Current()
	if g == nil {
		return list
	}
	for _, f := range g.Functions.Declared() {
		list = append(list, describeFunction(f, sqlapi.StatusReady))
	}
	for _, f := range g.Waiting() {
		list = append(list, describeFunction(f, sqlapi.StatusInitializing))
	}
	return slices.DeleteFunc(list, func(f sqlapi.Function) bool { return hides(f.Name) })
}

func describeFunction(f *functions.Function, status string) sqlapi.Function {
	d := sqlapi.Function{
		Name: f.Name, Kind: string(f.Kind), Volatility: string(f.Volatility), From: f.Declared.From,
		Description: f.Declared.Description, AsTool: f.Declared.AsToolEffective(), RegisteredAs: []string{"sql"},
		Signature: f.Signature(), Arguments: []sqlapi.Field{}, Columns: fields(f.Columns), Checksum: f.Checksum,
		Status: status, Tests: len(f.Declared.Tests),
	}
	if d.AsTool {
		d.RegisteredAs = append(d.RegisteredAs, "tool")
	}
	for _, a := range f.Args {
		d.Arguments = append(d.Arguments, sqlapi.Field{Name: a.Name, Type: typeOf(a.Type)})
	}
	for _, t := range f.Tables {
		d.Tables = append(d.Tables, sqlapi.Table{Name: t.Name, Columns: fields(t.Columns)})
	}
	if f.Returns != nil {
		t := typeOf(f.Returns)
		d.Returns = &t
	}
	return d
}

func fields(columns []functions.OutputColumn) []sqlapi.Field {
	var list []sqlapi.Field
	for _, c := range columns {
		list = append(list, sqlapi.Field{Name: c.Name, Type: typeOf(c.Type)})
	}
	return list
}

func typeOf(t *functions.Type) sqlapi.Type {
	return sqlapi.Type{Type: t.String(), DuckDBType: t.SQL()}
}

// TestFunction runs the tests of a function.
func (i inventory) TestFunction(ctx context.Context, name string) (list []sqlapi.FunctionTest, err error) {
	results, err := i.runtime.TestFunction(ctx, name)
	for _, r := range results {
		list = append(list, sqlapi.FunctionTest{
			Name: r.Name, Passed: r.Passed, Message: r.Message, TookMS: float64(r.Duration.Microseconds()) / 1000,
			File: r.Position.File, Line: r.Position.Line,
		})
	}
	return list, err
}

func (i inventory) Spicepods() []sqlapi.Spicepod {
	g := i.runtime.Current()
	if g == nil {
		return []sqlapi.Spicepod{}
	}
	p := g.Pod
	return []sqlapi.Spicepod{{
		Name: p.Name, Version: p.Version, DatasetsCount: len(p.Datasets), ModelsCount: len(p.Models),
		DependenciesCount: len(p.Dependencies), FunctionsCount: len(p.Functions), ViewsCount: len(p.Views),
	}}
}

// SpicepodFiles returns the files of the loaded Spicepods.
func (i inventory) SpicepodFiles() (list []sqlapi.SpicepodFile) {
	g := i.runtime.Current()
	if g == nil {
		return nil
	}
	for _, f := range g.Pod.Files() {
		list = append(list, sqlapi.SpicepodFile(f))
	}
	return list
}

// ReadSpicepodFile returns the text of one of them.
func (i inventory) ReadSpicepodFile(path string) (text string, masked int, err error) {
	g := i.runtime.Current()
	if g == nil {
		return "", 0, spicepod.ErrNoFile
	}
	return g.Pod.ReadFile(path)
}

// Refresh refreshes a dataset.
func (i inventory) Refresh(ctx context.Context, dataset string, o sqlapi.RefreshOptions) error {
	override := refresh.Override{RefreshSQL: o.SQL, RefreshMode: spicepod.RefreshMode(o.Mode)}
	if o.JitterMax != "" {
		jitter, err := spicepod.ParseDuration(o.JitterMax)
		if err != nil {
			return fmt.Errorf("%w: refresh_jitter_max: %w", refresh.ErrOverride, err)
		}
		override.JitterMax = jitter
	}
	return i.runtime.Data().Refreshes().Refresh(ctx, dataset, override)
}

// Reload reloads the Spicepod.
func (i inventory) Reload(ctx context.Context) (sqlapi.Reload, error) {
	report, err := i.runtime.Reload(ctx, "request")
	if err != nil {
		return sqlapi.Reload{}, err
	}
	return i.outcome(report), nil
}

func (i inventory) outcome(report *runtime.Report) sqlapi.Reload {
	return sqlapi.Reload{
		Accepted: report.Accepted, Generation: report.Generation, Changed: report.Changed,
		Problems: i.runtime.ForCallers(report.Problems),
	}
}
