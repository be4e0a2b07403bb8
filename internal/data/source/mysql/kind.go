package mysql

import (
	"log/slog"

	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/source/dbproxy"
)

// Kind is the connector.
var Kind = source.Kind{
	Names: []string{"mysql"}, Aliases: []string{"mariadb"}, Params: knownParams, Written: true, Extension: extension,
	Draft:   draft,
	From:    "`mysql:orders`, `mysql:shop.orders`",
	Catalog: "`mysql`, `mysql:shop`",
	About: "a table or view of a MySQL or MariaDB server, by `table` or `database.table`, each part quoted if it has " +
		"a dot; statements send the columns and conditions that they need to the server; with `access: " +
		"read_write` a table " +
		"can be written",
	Note: "For a server on this machine, `mysql_sslmode` is `preferred` unless it is set: such servers often have no " +
		"TLS. Enums, sets, `json` and `time` are texts, " +
		"and texts are compared by their bytes, as everywhere in DuckDB, not by the collation of their column. Dates with " +
		"a zero are NULL. " +
		"A `decimal` of more than 38 digits is a DOUBLE, and the blanks at the end of `char(n)` are left out. " +
		"INSERT … RETURNING and ON CONFLICT DO UPDATE need MariaDB, since 10.5. " + dbproxy.DistinctNote,
	Proxy: func(log *slog.Logger) (source.Proxy, error) { return NewProxy(log) },
	Open: func(h source.Host) source.Connector {
		proxy, _ := h.Proxy.(*Proxy)
		return &Connector{db: h.DB, proxy: proxy}
	},
}
