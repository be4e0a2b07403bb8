package runtime

import (
	"github.com/spiced-sql/spiced/internal/access/approval"
	"github.com/spiced-sql/spiced/internal/find/usage"
	"github.com/spiced-sql/spiced/internal/sql/activity"
	"github.com/spiced-sql/spiced/internal/sql/fingerprint"
)

// This file publishes what the services record, each record where it is made. Values are published
// as they are: who may see what of them is decided for each reader.

// called publishes a finished call of a tool or function.
func (s *services) called(c usage.Call) {
	if s.events.Active() {
		s.events.Publish(c, 256+len(c.Error)+len(c.Tool))
	}
}

// stepped publishes a step of an agent.
func (s *services) stepped(e usage.Event) {
	if s.events.Active() {
		s.events.Publish(e, 256+len(e.Text)+len(e.Arguments)+len(e.Result)+len(e.Error))
	}
}

// approvalChanged publishes an approval that was asked for, decided or used.
func (s *services) approvalChanged(c approval.Change) {
	if s.events.Active() {
		s.events.Publish(c, c.Size())
	}
}

// workChanged publishes work that has begun or ended.
func (s *services) workChanged(w activity.Work, ended bool) {
	if s.events.Active() {
		if w.SQL != "" {
			w.SQL = fingerprint.Of(w.SQL).Text // as it is listed, without literals
		}
		s.events.Publish(activity.Change{Work: w, Ended: ended}, 128+len(w.SQL))
	}
}
