package engine

import "sync/atomic"

// commits counts the commits of statements that change rows. A plan embeds the
// statistics of the tables at planning time and skips the data they rule out.
// DuckDB does not invalidate it, so it is valid only until the next such commit
// begins.
type commits struct{ began, ended atomic.Uint64 }

// run runs a commit.
func (c *commits) run(commit func() error) error {
	c.began.Add(1)
	defer c.ended.Add(1)
	return commit()
}

// noRevision is the revision of a plan that no later statement may use, and of
// one that reads nothing that statements can change.
const noRevision = 0

// revision numbers the state of the data for plans made from now on; it is
// noRevision during a commit.
func (c *commits) revision() uint64 {
	ended := c.ended.Load() // read first: a commit that ended by now began earlier
	began := c.began.Load()
	if began != ended {
		return noRevision
	}
	return began + 1
}

// holds reports whether no commit has begun since revision was taken.
func (c *commits) holds(revision uint64) bool { return c.began.Load()+1 == revision }
