package pgwire

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// prepared is a prepared statement.
type prepared struct {
	plan    *plan
	given   []uint32 // the types of parameters that the client gave; 0: any
	size    int
	params  []uint32 // the types of the parameters, as the client knows them
	columns []column // and those of the result
}

// settle takes over what the plan has now, which the client is to go by.
func (s *prepared) settle() {
	s.params, s.columns = slices.Clone(s.plan.params), s.plan.columns
	for i, oid := range s.given {
		if i < len(s.params) && oid != 0 {
			s.params[i] = oid
		}
	}
}

// extended answers a message of the extended query protocol.
func (c *conn) extended(ctx context.Context, m pgproto3.FrontendMessage) error {
	switch m := m.(type) {
	case *pgproto3.Parse:
		return c.parse(ctx, m)
	case *pgproto3.Bind:
		return c.bind(ctx, m)
	case *pgproto3.Describe:
		return c.describeMessage(ctx, m)
	case *pgproto3.Execute:
		p := c.portals[m.Portal]
		if p == nil {
			return failure(stateNoCursor, "", "portal %q does not exist", m.Portal)
		}
		if err := c.allowed(p.plan); err != nil {
			return err
		}
		return c.execute(ctx, p, int64(m.MaxRows))
	case *pgproto3.Close:
		c.closeMessage(m)
		return nil
	}
	return fatal(failure(stateProtocol, "", "a message of type %T was not expected", m))
}

func (c *conn) parse(ctx context.Context, m *pgproto3.Parse) error {
	switch {
	case m.Name == "":
		c.forgetStatement("")
	case c.statements[m.Name] != nil:
		return failure(stateDuplicatePrepare, "close it first", "prepared statement %q already exists", m.Name)
	case len(c.statements) >= maxStatements:
		return failure(stateLimit, "close some", "a connection can have %d prepared statements", maxStatements)
	}
	if parts := split(m.Query); len(parts) > 1 {
		return failure(stateSyntax, "send them one by one", "cannot insert multiple commands into a prepared statement")
	}
	plan, err := c.planOf(m.Query, m.ParameterOIDs...)
	if err == nil {
		err = c.allowed(plan)
	}
	if err != nil {
		return err
	}
	plan.outdate()
	// A FETCH may be prepared before its cursor is there.
	if plan.command == nil || plan.command.fetch == nil {
		if err := c.describe(ctx, plan); err != nil {
			return err
		}
	}
	s := &prepared{plan: plan, given: slices.Clone(m.ParameterOIDs), size: len(m.Name) + len(m.Query) + 4*len(m.ParameterOIDs)}
	s.settle()
	if err := c.hold(s.size); err != nil {
		return err
	}
	c.statements[m.Name] = s
	c.out.empty('1') // ParseComplete
	return nil
}

// hold counts bytes that are kept for the client.
func (c *conn) hold(size int) error {
	if c.held+size > maxHeld {
		return failure(stateLimit, "close some", "the names, statements and parameters of a connection can have %d bytes", maxHeld)
	}
	c.held += size
	return nil
}

func (c *conn) forgetStatement(name string) {
	if s := c.statements[name]; s != nil {
		c.held -= s.size
		delete(c.statements, name)
	}
}

func (c *conn) forgetStatements() {
	for name := range c.statements {
		c.forgetStatement(name)
	}
}

func (c *conn) statement(name string) (*prepared, error) {
	s := c.statements[name]
	if s == nil {
		return nil, failure(stateNoStatement, "", "prepared statement %q does not exist", name)
	}
	return s, nil
}

func (c *conn) bind(ctx context.Context, m *pgproto3.Bind) error {
	s, err := c.statement(m.PreparedStatement)
	if err != nil {
		return err
	}
	switch {
	case m.DestinationPortal == "":
		c.closePortal(c.portals[""])
	case c.portals[m.DestinationPortal] != nil:
		return failure(stateDuplicateCursor, "close it first", "cursor %q already exists", m.DestinationPortal)
	case len(c.portals) >= maxPortals:
		return failure(stateLimit, "close some", "a connection can have %d portals", maxPortals)
	}
	if err := c.allowed(s.plan); err != nil {
		return err
	}
	if err := c.describe(ctx, s.plan); err != nil {
		return err
	}
	if s.plan.command == nil && !s.plan.sameColumns(s.columns, s.plan.columns) {
		return s.plan.changed()
	}
	if err := checkFormats("columns", m.ResultFormatCodes, len(s.plan.columns)); err != nil {
		return err
	}
	params, size, err := s.decode(m)
	if err != nil {
		return err
	}
	size += len(m.DestinationPortal) + 2*len(m.ResultFormatCodes)
	if err := c.hold(size); err != nil {
		return err
	}
	c.portals[m.DestinationPortal] = &portal{
		name: m.DestinationPortal, plan: s.plan, params: params, formats: slices.Clone(m.ResultFormatCodes),
		columns: s.plan.columns, size: size,
	}
	c.out.empty('2') // BindComplete
	return nil
}

// sameColumns reports whether values of both would look the same to a client.
func (p *plan) sameColumns(a, b []column) bool {
	return slices.EqualFunc(a, b, func(a, b column) bool { return a.typ.oid == b.typ.oid && !p.renamed(a.name, b.name) })
}

// renamed reports whether a column of a file has another name than was
// announced. The names of expressions with parameters depend on the parameters.
func (p *plan) renamed(announced, name string) bool {
	return p.files && announced != name && (len(p.params) == 0 || plainName.MatchString(announced) && plainName.MatchString(name))
}

var plainName = regexp.MustCompile(`^[\pL_][\pL\pN_]*$`)

// decode reads the parameters of a Bind. size is what they take.
func (s *prepared) decode(m *pgproto3.Bind) (params []any, size int, err error) {
	if want := len(s.params); len(m.Parameters) != want {
		return nil, 0, failure(stateProtocol, "", "bind message supplies %d parameters, but prepared statement %q requires %d", len(m.Parameters), m.PreparedStatement, want)
	}
	if err := checkFormats("parameters", m.ParameterFormatCodes, len(m.Parameters)); err != nil {
		return nil, 0, err
	}
	params = make([]any, len(m.Parameters))
	for i, data := range m.Parameters {
		if params[i], err = decode(s.params[i], formatOf(m.ParameterFormatCodes, i), data); err != nil {
			e := *asState(err)
			e.message = fmt.Sprintf("parameter $%d: %s", i+1, e.message)
			return nil, 0, &e
		}
		if size += sizeOf(params[i]); size > maxHeld {
			return nil, 0, tooLarge()
		}
	}
	return params, size, nil
}

// paramSize is about what a parameter takes at least.
const paramSize = 16

// sizeOf is about what a parameter takes, which may be more than was sent.
func sizeOf(param any) int {
	size := paramSize
	switch v := param.(type) {
	case string:
		size += len(v)
	case engine.Numeric:
		size += len(v)
	case []byte:
		size += len(v)
	case []any:
		for _, item := range v {
			size += sizeOf(item)
		}
	}
	return size
}

func (c *conn) describeMessage(ctx context.Context, m *pgproto3.Describe) error {
	if m.ObjectType == 'P' {
		p := c.portals[m.Name]
		if p == nil {
			return failure(stateNoCursor, "", "portal %q does not exist", m.Name)
		}
		c.rowsOrNoData(p.columns, p.formats)
		return nil
	}
	s, err := c.statement(m.Name)
	if err != nil {
		return err
	}
	if err := c.allowed(s.plan); err != nil {
		return err
	}
	if err := c.describe(ctx, s.plan); err != nil {
		return err
	}
	s.settle()
	c.out.send(&pgproto3.ParameterDescription{ParameterOIDs: s.params})
	c.rowsOrNoData(s.columns, nil)
	return nil
}

func (c *conn) closeMessage(m *pgproto3.Close) {
	if m.ObjectType == 'P' {
		c.closePortal(c.portals[m.Name])
	} else {
		c.forgetStatement(m.Name)
	}
	c.out.empty('3') // CloseComplete
}
