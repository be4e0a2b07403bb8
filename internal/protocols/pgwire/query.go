package pgwire

import (
	"context"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/spiced-sql/spiced/internal/protocols/pgwire/sqlstate"
)

// extended answers a message of the extended query protocol.
func (c *conn) extended(ctx context.Context, m pgproto3.FrontendMessage) error {
	if c.round.messages++; c.round.messages >= maxMessages {
		c.endRound()
	}
	switch m := m.(type) {
	case *pgproto3.Parse:
		return c.parseMessage(ctx, m)
	case *pgproto3.Bind:
		return c.bindMessage(ctx, m)
	case *pgproto3.Describe:
		return c.describeMessage(ctx, m)
	case *pgproto3.Execute:
		p, err := c.store.portal(m.Portal)
		if err == nil {
			err = c.session.allows(p.plan)
		}
		if err != nil {
			return err
		}
		return c.execute(ctx, p, int64(m.MaxRows))
	case *pgproto3.Close:
		if m.ObjectType == 'P' {
			c.store.closePortal(c.store.portals[m.Name])
		} else {
			c.store.forgetStatement(m.Name)
		}
		c.out.empty('3') // CloseComplete
		return nil
	}
	return fatal(sqlstate.Errorf(sqlstate.Protocol, "", "a message of type %T was not expected", m))
}

func (c *conn) parseMessage(ctx context.Context, m *pgproto3.Parse) error {
	switch {
	case m.Name == "":
		c.store.forgetStatement("")
	case c.store.statements[m.Name] != nil:
		return sqlstate.Errorf(sqlstate.DuplicatePrepare, "close it first", "prepared statement %q already exists", m.Name)
	case len(c.store.statements) >= maxStatements:
		return sqlstate.Errorf(sqlstate.Limit, "close some", "a connection can have %d prepared statements", maxStatements)
	}
	w := newWords(m.Query)
	if w.several() {
		return sqlstate.Errorf(sqlstate.Syntax, "send them one by one",
			"cannot insert multiple commands into a prepared statement")
	}
	plan, err := c.parse(w, m.ParameterOIDs)
	if owed := c.settle(ctx, plan); owed != nil {
		return owed
	}
	if err == nil {
		err = c.session.allows(plan)
	}
	if err != nil {
		return err
	}
	plan.outdate()
	// A FETCH may be prepared before its cursor exists.
	if plan.command == nil || plan.command.fetch == nil {
		if err := c.describe(ctx, plan); err != nil {
			return err
		}
	}
	s := &prepared{plan: plan, size: len(m.Name) + len(m.Query) + 4*len(m.ParameterOIDs)}
	s.describe()
	if err := c.store.add(s.size); err != nil {
		return err
	}
	c.store.statements[m.Name] = s
	c.out.empty('1') // ParseComplete
	return nil
}

func (c *conn) bindMessage(ctx context.Context, m *pgproto3.Bind) error {
	s, err := c.statement(ctx, m.PreparedStatement)
	if err != nil {
		return err
	}
	if m.DestinationPortal == "" {
		c.store.closePortal(c.store.portals[""])
	} else if err := c.store.free(m.DestinationPortal); err != nil {
		return err
	}
	if err := c.bind(ctx, s, m); err != nil {
		return err
	}
	c.out.empty('2') // BindComplete
	return nil
}

func (c *conn) describeMessage(ctx context.Context, m *pgproto3.Describe) error {
	if m.ObjectType == 'P' {
		p, err := c.store.portal(m.Name)
		if err == nil {
			c.out.describe(p.columns, p.formats)
		}
		return err
	}
	s, err := c.statement(ctx, m.Name)
	if err == nil {
		err = c.session.allows(s.plan)
	}
	if err == nil {
		err = c.describe(ctx, s.plan)
	}
	if err != nil {
		return err
	}
	s.describe()
	c.out.send(&pgproto3.ParameterDescription{ParameterOIDs: s.params})
	c.out.describe(s.columns, nil)
	return nil
}

// simple runs the statements of a simple query in order, up to the first that
// fails. What several of them change is committed or undone together.
func (c *conn) simple(ctx context.Context, sql string) error {
	c.store.closePortal(c.store.portals[""])
	c.store.forgetStatement("")
	if len(sql) > maxScript {
		return sqlstate.Errorf(sqlstate.Program, "send less at once", "a simple query of %d bytes; the limit is %d",
			len(sql), maxScript)
	}
	statements := newWords(sql).split()
	if len(statements) == 0 {
		leave, err := c.count(ctx, &plan{sql: sql})
		if err != nil {
			return err
		}
		defer leave()
		c.out.empty('I') // EmptyQueryResponse
	}
	for i, w := range statements {
		if i < len(statements)-1 {
			c.block.inScript(w)
		}
		if err := c.simpleStatement(ctx, w); err != nil {
			return c.block.endScript(ctx, moved(err, sql[:w.start]))
		}
		if c.out.ease(); c.out.err != nil {
			return nil // talk ends with it
		}
	}
	return c.block.endScript(ctx, nil)
}

// simpleStatement takes a statement from its text to its last row. The engine
// describes its columns when it runs.
func (c *conn) simpleStatement(ctx context.Context, w *words) error {
	p, err := c.parse(w, nil)
	if owed := c.settle(ctx, p); owed != nil {
		return owed
	}
	if err == nil {
		err = c.session.allows(p)
	}
	if err != nil {
		return err
	}
	if p.command != nil {
		if err := c.describe(ctx, p); err != nil {
			return err
		}
		if len(p.columns) > 0 {
			c.out.describe(p.columns, nil)
		}
	}
	portal := &portal{plan: p, simple: true}
	defer c.store.closePortal(portal)
	return c.execute(ctx, portal, 0)
}
