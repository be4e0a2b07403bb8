package main

import (
	"cmp"
	"slices"

	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/internal/kit/listen"
	"github.com/spiced-sql/spiced/internal/protocols/flightsql"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire/pgcatalog"
	"github.com/spiced-sql/spiced/internal/runtime"
	"github.com/spiced-sql/spiced/spicepod"
)

// openPostgres opens the endpoint of the PostgreSQL protocol.
func (s *server) openPostgres() error {
	settings := spicepod.Postgres{}
	if declared := s.Settings().Postgres; declared != nil {
		settings = *declared
	}
	address := s.flags.postgres
	if address == "" && settings.Enabled {
		address = settings.Address
	}
	if address == "" {
		return nil
	}
	listener, err := s.listener("--postgres", address)
	if err != nil {
		return err
	}
	p := pgwire.New(pgwire.Options{
		Query: s.queries, Keys: s.Keys, TLS: s.tls.config(), RequireTLS: s.tls != nil,
		HasRelation: func(schema, name string) bool { return s.DB().Current().Declares(schema, name) },
		Rewrite:     pgcatalog.RewriteFor, Catalog: pgcatalog.OfCatalog,
		Version:    pgcatalog.ServerVersion + " (spiced " + version + ")",
		Generation: func() uint64 { return s.DB().Current().Serial() },
		Log:        s.log, Audit: s.Audit(),
		IdleTimeout: settings.IdleTimeout,
		Connections: listen.Limits{
			Connections: settings.Connections, PerCaller: settings.PerCaller, Pending: settings.Pending,
			Settings: "runtime.postgres",
		},
		Cleartext: settings.Authentication == spicepod.PostgresPassword,
		Memory:    s.memory,
	})
	s.endpoints = append(s.endpoints, endpoint{
		name: "postgres", scheme: "postgresql", listener: listener, serve: p.Serve, shutdown: p.Shutdown, close: func() {
			p.Close()
		},
	})
	return nil
}

// openFlight opens the endpoint of Arrow Flight SQL.
func (s *server) openFlight() error {
	settings := spicepod.Flight{}
	if declared := s.Settings().Flight; declared != nil {
		settings = *declared
	}
	address := s.flags.flight
	if address == "" && settings.Enabled {
		address = settings.Address
	}
	if address == "" {
		return nil
	}
	listener, err := s.listener("--flight", address)
	if err != nil {
		return err
	}
	f := flightsql.New(flightsql.Options{
		Query: s.queries, Keys: s.Keys, TLS: s.tls.config(), Tables: s.tables, Version: version,
		Log: s.log, Audit: s.Audit(),
		Connections: listen.Limits{
			Connections: settings.Connections, PerCaller: settings.PerCaller, Pending: settings.Pending,
			Settings: "runtime.flight",
		},
	})
	scheme := "grpc"
	if s.tls != nil {
		scheme = "grpc+tls"
	}
	s.endpoints = append(s.endpoints, endpoint{
		name: "flight", scheme: scheme, listener: listener, serve: f.Serve, shutdown: f.Shutdown, close: func() { f.Close() },
	})
	return nil
}

// remarks returns the descriptions of the columns of a table.
func remarks(t *tables.Table) map[string]string {
	all := map[string]string{}
	if v := t.Current(); v != nil {
		for _, c := range v.Columns {
			all[c.Name] = c.Description
		}
	}
	return all
}

// tables returns the current tables, for clients that list them.
func (s *server) tables() []flightsql.Table {
	g := s.Current()
	if g == nil {
		return nil
	}
	var list []flightsql.Table
	for _, d := range g.Datasets {
		list = append(list, flightsql.Table{Schema: d.Relation.Schema, Name: d.Relation.Name, Remarks: remarks(&d.Table)})
	}
	for _, v := range g.Views {
		list = append(list, flightsql.Table{
			Schema: v.Relation.Schema, Name: v.Relation.Name, View: true,
			Remarks: remarks(&v.Table),
		})
	}
	for _, r := range runtime.SystemRelations() {
		list = append(list, flightsql.Table{Schema: r.Schema, Name: r.Name, View: true})
	}
	slices.SortFunc(list, func(a, b flightsql.Table) int {
		return cmp.Or(cmp.Compare(a.Schema, b.Schema), cmp.Compare(a.Name, b.Name))
	})
	return list
}
