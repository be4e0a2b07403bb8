package https

import (
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/data/source/fileformat"
)

// Kind is the connector.
var Kind = source.Kind{
	Names: []string{"http", "https"}, Params: knownParams, URL: true,
	Draft: draft,
	From:  "`https://example.com/trips.parquet`, `https://api.example.com/v1/trips`",
	About: "a file that is fetched, and again when it has changed; or the rows of a JSON API, page by page; or the " +
		"answers of an API to requests that statements choose",
	Note: fileformat.Note +
		" Set an acceleration with `refresh_check_interval` for an API whose rows change: without one, " +
		"the rows are those of the last reload. " +
		"With `allowed_request_paths`, `request_query_filters` or `request_body_filters`, statements choose the requests " +
		"below the URL: [acceleration.md](acceleration.md#answers-of-apis). " +
		"Everyone who may read the dataset sends them with its credentials; a path must match a pattern as it is written " +
		"and when it is decoded. " +
		"With `auth_token_url`, requests have an access token of OAuth 2.0, which is renewed a minute before it expires " +
		"and once when the server answers 401; datasets with equal params share it. " +
		"A refresh token that the endpoint replaces is kept in memory only: if it may be used once, use " +
		"`client_credentials`, or write the newest one before a restart.",
	Open: func(h source.Host) source.Connector { return &Connector{Host: h} },
}
