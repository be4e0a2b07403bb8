package source

import (
	"context"
	"time"
)

// Request selects rows of a [Requester].
type Request struct{ Path, Query, Body string }

// FetchedColumn is the column of the rows of a [Requester] with the time of the request.
const FetchedColumn = "_fetched_at"

// Fetched are the rows of a request.
type Fetched struct {
	Request
	At    time.Time
	Bytes int64
	Rows  int64
}

// Requester is a source whose rows are fetched by requests. Open returns a query without
// rows.
type Requester interface {
	Source
	// Check returns why a request is refused, or nil.
	Check(Request) error
	// Fetch returns a query over the rows of a request.
	Fetch(context.Context, Request) (*Opened, Fetched, error)
}
