package postgres

import (
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/source/dbproxy"
)

// joinNote is about DuckDB 1.5.5, see package extension.
const joinNote = "With a dataset from postgres, DuckDB's optimizer `join_filter_pushdown` is off: with it, recursive " +
	"CTEs that join a table of the server lose rows."

// Kind is the connector.
var Kind = source.Kind{
	Names: []string{"postgres"}, Aliases: []string{"pg", "postgresql"}, Params: knownParams, Written: true,
	Extension: extension,
	Draft:     draft,
	Drafts:    isConnectionString,
	From:      "`postgres:orders`, `postgres:shop.public.orders`",
	Catalog:   "`pg`, `postgres:shop`",
	About: "a table or view of a PostgreSQL server, by `table`, `schema.table` or `database.schema.table`, each part " +
		"quoted if it has a dot; statements send the columns and conditions that they need to the server; with `access: " +
		"read_write` a table can be written",
	Note: "For a server on this machine, `pg_sslmode` is `prefer` unless it is set: such servers often have no TLS. " +
		"Types that DuckDB does not have, such as enums, " +
		"`jsonb`, `inet` and domains, are texts, on which conditions are not sent to the server. DuckDB's extension reads " +
		"NaN and Infinity of `numeric` as 0, and `numeric` without a precision, or with one of more than " +
		"38 digits, as DOUBLE. " +
		"A view of the server with a cast to `text` keeps them. The blanks at the end of `char(n)` are left out. " +
		"A statement takes a connection of `connection_pool_size` for each table that it names, and for one of more than " +
		"160 MB one for each thread, until it ends. " +
		"A statement that needs more than there are, and statements that wait for each other, fail after 10 seconds with " +
		"`too_many_requests`: raise it. " + dbproxy.DistinctNote + " " + joinNote,
	Open: func(h source.Host) source.Connector { return &Connector{db: h.DB, log: h.Log} },
}
