package pgwire

import (
	"slices"

	"github.com/spiced-sql/spiced/internal/protocols/pgwire/sqlstate"
	"github.com/spiced-sql/spiced/internal/protocols/pgwire/wire"
)

// store has the plans, prepared statements and portals of a connection.
type store struct {
	plans      map[planKey]*plan
	statements map[string]*prepared
	portals    map[string]*portal
	open       int // portals with rows left
	size       int // bytes of the names, texts and parameters of statements and portals
}

func newStore() store {
	return store{plans: map[planKey]*plan{}, statements: map[string]*prepared{}, portals: map[string]*portal{}}
}

// planKey identifies a cached plan.
type planKey struct {
	sql, given string
}

// oidSize is about the memory that the type of a parameter takes in a key and a
// plan.
const oidSize = 16

// add counts bytes that are stored for the client.
func (s *store) add(size int) error {
	if s.size+size > wire.MaxValues {
		return sqlstate.Errorf(sqlstate.Limit, "close some",
			"the names, statements and parameters of a connection can have %d bytes", wire.MaxValues)
	}
	s.size += size
	return nil
}

// prepared is a prepared statement.
type prepared struct {
	plan    *plan
	size    int
	params  []uint32      // the types of the parameters, as the client knows them
	columns []wire.Column // and those of the result
}

// describe takes over the plan's description, which the client will rely on.
func (s *prepared) describe() {
	s.params, s.columns = slices.Clone(s.plan.params), s.plan.columns
	for i, oid := range s.plan.given {
		if i < len(s.params) && oid != 0 {
			s.params[i] = oid
		}
	}
}

func (s *store) statement(name string) (*prepared, error) {
	if p := s.statements[name]; p != nil {
		return p, nil
	}
	return nil, sqlstate.Errorf(sqlstate.NoStatement, "", "prepared statement %q does not exist", name)
}

func (s *store) forgetStatement(name string) {
	if p := s.statements[name]; p != nil {
		s.size -= p.size
		delete(s.statements, name)
	}
}

func (s *store) forgetStatements() {
	for name := range s.statements {
		s.forgetStatement(name)
	}
}

func (s *store) portal(name string) (*portal, error) {
	if p := s.portals[name]; p != nil {
		return p, nil
	}
	return nil, sqlstate.Errorf(sqlstate.NoCursor, "", "portal %q does not exist", name)
}

// free refuses the name of another portal, and one portal too many.
func (s *store) free(name string) error {
	switch {
	case s.portals[name] != nil:
		return sqlstate.Errorf(sqlstate.DuplicateCursor, "close it first", "cursor %q already exists", name)
	case len(s.portals) >= maxPortals:
		return sqlstate.Errorf(sqlstate.Limit, "close some", "a connection can have %d portals", maxPortals)
	}
	return nil
}

func (s *store) addPortal(p *portal, size int) error {
	p.size = size
	if err := s.add(size); err != nil {
		return err
	}
	s.portals[p.name] = p
	return nil
}

// endPortal ends the statement of a portal, whose parameters are needed no more.
func (s *store) endPortal(p *portal) {
	p.done = true
	s.size -= p.size
	p.params, p.size = nil, 0
	if p.result != nil {
		p.result.close()
		p.result = nil
		s.open--
	}
}

// closePortal ends a portal, if it is not nil, and removes it.
func (s *store) closePortal(p *portal) {
	if p == nil {
		return
	}
	s.endPortal(p)
	if s.portals[p.name] == p {
		delete(s.portals, p.name)
	}
}

func (s *store) closePortals(which func(*portal) bool) {
	for _, p := range s.portals {
		if which(p) {
			s.closePortal(p)
		}
	}
}
