package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/access/caller"
	"github.com/spiced-sql/spiced/internal/data/datasets"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/query"
	"github.com/spiced-sql/spiced/spicepod"
	"github.com/spiced-sql/spiced/tools/builtin"
)

// ToolEnv returns what the built-in tools read: always the current state.
func (s *services) ToolEnv() builtin.Env {
	return builtin.Env{
		SQL: query.ToolDB{DB: s.DB()}, Datasets: s.toolDatasets, Readiness: s.readiness, Search: s.searchRows,
		Results: s.results,
		Functions: func() *functions.Set {
			g := s.Current()
			if g == nil {
				return nil
			}
			set := g.Functions
			for _, f := range g.Waiting() {
				set = set.With(f)
			}
			return set
		},
		Unserved: func(o engine.Object, r engine.Relation) *engine.Error {
			return s.db.Current().Unserved(o, r)
		},
		Loading: func() *engine.Error {
			if g := s.Current(); g != nil {
				return g.waiting.first()
			}
			return nil
		},
		Hides:   s.tools.registry.Hides,
		Used:    s.tools.registry.Statement,
		Metrics: s.toolMetrics,
	}
}

// toolDatasets returns the datasets and views in service.
func (s *services) toolDatasets() []builtin.Dataset {
	g := s.Current()
	if g == nil {
		return nil
	}
	var list []builtin.Dataset
	for _, s := range g.Datasets {
		t := builtin.FromDataset(s.Relation, s.Declared, toolColumns(s.Columns()))
		t.Description = s.About()
		list = append(list, t)
	}
	for _, v := range g.Views {
		if v.LoadFault() == nil {
			list = append(list, builtin.FromView(v.Relation, v.Declared, toolColumns(v.Columns())))
		}
	}
	return list
}

func toolColumns(columns []tables.Column) []builtin.Column {
	list := make([]builtin.Column, len(columns))
	for i, c := range columns {
		list[i] = builtin.Column{Name: c.Name, Type: c.Type, Description: c.Description}
	}
	return list
}

// stateNames are the states of components as tools show them, like the HTTP API.
var stateNames = map[datasets.State]string{
	datasets.Ready: "Ready", datasets.Loading: "Initializing", datasets.Refreshing: "Refreshing", datasets.Failed: "Error",
}

// readiness returns the state of each component.
func (s *services) readiness() map[string]string {
	states := map[string]string{}
	for _, s := range s.data.Status() {
		states[s.Kind+":"+s.Declared] = stateNames[s.State]
	}
	for _, s := range s.tools.servers.Status() {
		states["tool:"+s.Name] = string(s.State)
	}
	if g := s.Current(); g != nil {
		for _, f := range g.Functions.All() {
			states["function:"+f.Name] = stateNames[datasets.Ready]
		}
		for _, f := range g.Waiting() {
			states["function:"+f.Name] = stateNames[datasets.Loading]
		}
	}
	if r := s.LastReport(); r != nil {
		for _, p := range r.Problems {
			kind, name, ok := strings.Cut(p.Component, " ")
			if ok && p.Severity != spicepod.Warning && states[kind+":"+name] == "" {
				states[kind+":"+name] = stateNames[datasets.Failed]
			}
		}
	}
	return states
}

// callerValue answers ctx('user_id') and the like: what the protocols know about
// the caller of a statement.
func callerValue(ctx context.Context, name string) (string, error) {
	s := caller.From(ctx)
	value, ok := map[string]string{
		"user_id": s.UserID, "space_id": s.SpaceID, "session_id": s.SessionID, "agent": s.Agent,
		"model": s.Model, "principal": s.Principal, "request_id": s.RequestID,
	}[name]
	switch {
	case !ok:
		return "", fmt.Errorf("ctx has no name %q", name)
	case value == "":
		return "null", nil
	}
	text, err := json.Marshal(value)
	return string(text), err
}
