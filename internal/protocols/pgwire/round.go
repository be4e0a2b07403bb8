package pgwire

import (
	"context"

	"github.com/spiced-sql/spiced/internal/access/audit"
)

// round is what a client sends up to a Sync, or a simple query. Each costs a token of
// the rate of its principal: each statement takes its own, and a round that runs none
// pays at its end. If no token is left then, the round is owed, and the next
// statements are refused until there is one. A Sync that never comes saves nothing: a
// round ends after maxMessages, too.
type round struct {
	counted  bool // a statement took a token, was refused one, or continued
	owed     bool // an earlier round is not paid
	messages int  // of the extended protocol so far
}

// settle pays what is owed before the statement of a plan is looked at; p is nil if it
// has none. The end of a transaction block is free: the block could not end.
func (c *conn) settle(ctx context.Context, p *plan) error {
	if !c.round.owed || p != nil && c.endsBlock(p) {
		return nil
	}
	if err := c.client.renew(c.server.opts.Keys()); err != nil {
		return err
	}
	if err := c.client.principal.Spend(); err != nil {
		c.round.counted = true
		if p == nil {
			p = &plan{}
		}
		c.server.opts.Query.Denied(ctx, c.request(p, nil), audit.RateLimited)
		return err
	}
	c.round.owed = false
	return nil
}

// statement returns a prepared statement, and pays what is owed.
func (c *conn) statement(ctx context.Context, name string) (*prepared, error) {
	s, err := c.store.statement(name)
	var p *plan
	if err == nil {
		p = s.plan
	}
	if owed := c.settle(ctx, p); owed != nil {
		return nil, owed
	}
	return s, err
}

// endRound pays for a round that ran no statement.
func (c *conn) endRound() {
	if !c.round.counted && !c.round.owed {
		c.round.owed = c.client.principal.Spend() != nil
	}
	c.round.counted, c.round.messages = false, 0
}

// endsBlock reports whether a plan ends the transaction block.
func (c *conn) endsBlock(p *plan) bool {
	return p.command != nil && p.command.ends && c.session.tx != txIdle
}
