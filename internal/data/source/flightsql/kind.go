package flightsql

import (
	"strings"

	"github.com/spiced-sql/spiced/internal/data/source"
)

// Kind is the connector of Flight SQL servers.
var Kind = source.Kind{
	Names: []string{"flightsql"}, Params: knownParams, Copied: true,
	Draft:   draft,
	From:    "`flightsql:orders`, `flightsql:catalog.schema.orders`",
	Catalog: "`flightsql`, `flightsql:catalog`",
	About: "a table of a Flight SQL server, such as another spiced, InfluxDB 3 or Dremio, by its name, with each part " +
		"quoted if it has a dot, into an accelerated copy",
	Note: "The user and password are sent as the handshake of Flight and, to servers without one, with each call.",
	Open: func(h source.Host) source.Connector { return &Connector{db: h.DB} },
}

// Spice is the connector of Spice.ai and of other runtimes.
var Spice = source.Kind{
	Names: []string{"spice.ai", "spiceai"}, Params: spiceParams, Copied: true,
	Draft:   spiceDraft,
	Drafts:  func(text string) bool { return strings.HasPrefix(text, "spice.ai/") },
	From:    "`spice.ai:https://host:50051`, `spice.ai/orders`, `spice.ai/org/app/datasets/orders`",
	Catalog: "`spice.ai:https://host:50051`",
	About: "a dataset of another spiced or Spice, or of Spice.ai; where `from` has the endpoint, the one of " +
		"the dataset's " +
		"own name; into an accelerated copy",
	Open: func(h source.Host) source.Connector { return &Connector{db: h.DB, spice: true} },
}
