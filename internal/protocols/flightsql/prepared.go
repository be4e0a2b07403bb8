package flightsql

import (
	"context"
	"crypto/rand"
	"strconv"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spiced-sql/spiced/internal/kit/listen"
	"github.com/spiced-sql/spiced/internal/kit/plural"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
)

// prepared is a prepared statement. What is got from the table is a copy.
type prepared struct {
	handle, owner, sql string
	transaction        []byte       // that it was prepared in; none: each execution is committed alone
	conn               *listen.Conn // on which it was prepared
	description        *engine.Description
	params             engine.Params // bound last
	binding            int           // how often some were bound
	own, size          int           // bytes, without and with the parameters
	used               time.Time
}

// preparedTable holds the prepared statements. Beyond its limits, and those of
// an owner, the ones that were not used for the longest time are dropped. The
// zero value needs now.
type preparedTable struct {
	now func() time.Time

	mu       sync.Mutex
	byHandle map[string]*prepared
}

var (
	errNoPrepared = status.Error(codes.NotFound,
		"the prepared statement is not known, or was not used for long; prepare it again")
	errBoundAgain = status.Error(codes.FailedPrecondition,
		"other parameters were bound after GetFlightInfo; read a result before you bind the next")
)

// descriptionBytes is about what the description of a column takes.
const descriptionBytes = 256

// add takes a statement and returns its handle.
func (t *preparedTable) add(p prepared) []byte {
	p.handle, p.used = rand.Text(), t.now()
	p.own = len(p.sql) + descriptionBytes*(len(p.description.Columns)+len(p.description.Params))
	p.size = p.own
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byHandle == nil {
		t.byHandle = map[string]*prepared{}
	}
	t.byHandle[p.handle] = &p
	t.shrink(&p)
	return []byte(p.handle)
}

// get returns a statement of the owner's.
func (t *preparedTable) get(owner string, handle []byte) (prepared, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, err := t.find(owner, handle)
	if err != nil {
		return prepared{}, err
	}
	return *p, nil
}

// bind sets the parameters of a statement, which have size bytes.
func (t *preparedTable) bind(owner string, handle []byte, params engine.Params, size int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, err := t.find(owner, handle)
	if err != nil {
		return err
	}
	p.params, p.size = params, p.own+size
	p.binding++
	t.shrink(p)
	return nil
}

// remove drops a statement of the owner's.
func (t *preparedTable) remove(owner string, handle []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, err := t.find(owner, handle)
	if err == nil {
		delete(t.byHandle, p.handle)
	}
	return err
}

func (t *preparedTable) find(owner string, handle []byte) (*prepared, error) {
	p := t.byHandle[string(handle)]
	if p == nil || p.owner != owner || t.now().Sub(p.used) > preparedLife {
		return nil, errNoPrepared
	}
	p.used = t.now()
	return p, nil
}

// shrink keeps the limits, of all and of the owner of what has just changed,
// which is never dropped itself.
func (t *preparedTable) shrink(changed *prepared) {
	for handle, p := range t.byHandle {
		if t.now().Sub(p.used) > preparedLife {
			delete(t.byHandle, handle)
		}
	}
	own := func(p *prepared) bool { return p.owner == changed.owner }
	for t.over(changed, own, maxPreparedOwner, maxPreparedOwnerBytes) {
	}
	for t.over(changed, func(*prepared) bool { return true }, maxPrepared, maxPreparedBytes) {
	}
}

// over drops one of the statements that count, but for keep, if they are too
// many or too large, and reports whether it did.
func (t *preparedTable) over(keep *prepared, counts func(*prepared) bool, most, bytes int) bool {
	var oldest *prepared
	for _, p := range t.byHandle {
		if !counts(p) {
			continue
		}
		most, bytes = most-1, bytes-p.size
		if p != keep && (oldest == nil || p.used.Before(oldest.used)) {
			oldest = p
		}
	}
	if oldest == nil || most >= 0 && bytes >= 0 {
		return false
	}
	delete(t.byHandle, oldest.handle)
	return true
}

// prepare judges and describes a statement and keeps it.
func (s *service) prepare(ctx context.Context, sql string,
	transaction []byte,
) (*pb.ActionCreatePreparedStatementResult, error) {
	d, err := s.described(ctx, sql, transaction)
	if err != nil {
		return nil, err
	}
	return &pb.ActionCreatePreparedStatementResult{
		PreparedStatementHandle: s.prepared.add(prepared{
			owner: clientOf(ctx).Owner(), sql: sql, transaction: transaction,
			conn: connOf(ctx), description: d,
		}),
		DatasetSchema:   serialized(datasetSchema(d, clientOf(ctx).types)),
		ParameterSchema: serialized(parameterSchema(d, clientOf(ctx).types)),
		IsUpdate:        new(changes(d)),
	}, nil
}

// settled returns columns whose types the parameters settle as text. DuckDB
// describes a result that they settle as one such column.
func settled(columns []engine.Column) []engine.Column {
	out := make([]engine.Column, len(columns))
	for i, c := range columns {
		if c.Type == nil {
			c.Type = &engine.Type{ID: engine.Varchar}
		}
		out[i] = c
	}
	return out
}

// changes reports whether a statement has no rows but the number of those it changed.
func changes(d *engine.Description) bool { return d.Write && !d.Returning }

// datasetSchema describes the rows of a statement; one that changes rows has none,
// by which clients of old tell it from a query.
func datasetSchema(d *engine.Description, types format.ArrowTypes) *arrow.Schema {
	if changes(d) {
		return arrow.NewSchema(nil, nil)
	}
	return types.Schema(settled(d.Columns))
}

// parameterSchema has a field for each parameter, named $1 or $name. One of
// any type is text, which every driver can bind. Timestamps have milliseconds: JDBC's
// driver binds those, whatever the unit is.
func parameterSchema(d *engine.Description, types format.ArrowTypes) *arrow.Schema {
	columns := make([]engine.Column, len(d.Params))
	for i, p := range d.Params {
		columns[i] = engine.Column{Name: "$" + p.Name, Type: p.Type}
	}
	fields := types.Schema(settled(columns)).Fields()
	for i, f := range fields {
		if t, ok := f.Type.(*arrow.TimestampType); ok {
			fields[i].Type = &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: t.TimeZone}
		}
	}
	return arrow.NewSchema(fields, nil)
}

// preparedInfo gives a ticket for a statement as it is bound. The schema is
// left out where parameters may settle it: drivers compare it with that of the
// rows.
func (s *service) preparedInfo(ctx context.Context,
	command *pb.CommandPreparedStatementQuery,
) (*arrow.Schema, []byte, error) {
	c := clientOf(ctx)
	handle := command.GetPreparedStatementHandle()
	p, err := s.prepared.get(c.Owner(), handle)
	if err != nil {
		return nil, nil, err
	}
	if err := p.checkBound(); err != nil {
		return nil, nil, err
	}
	if len(p.description.Params) > 0 {
		t, err := s.newTicket(c, ticket{Handle: handle, Binding: p.binding})
		return nil, t, err
	}
	t, err := s.newTicket(c, ticket{Handle: handle, Binding: p.binding, Columns: digest(p.description.Columns)})
	return c.types.Schema(p.description.Columns), t, err
}

// checkBound refuses to run a statement without its parameters.
func (p *prepared) checkBound() error {
	n := len(p.description.Params)
	if n > 0 && p.binding == 0 {
		return status.Errorf(codes.FailedPrecondition, "the statement has %s and no values; send them with DoPut",
			plural.Of(n, "parameter"))
	}
	return nil
}

func (s *service) preparedSchema(ctx context.Context,
	command *pb.CommandPreparedStatementQuery,
) (*arrow.Schema, error) {
	c := clientOf(ctx)
	p, err := s.prepared.get(c.Owner(), command.GetPreparedStatementHandle())
	if err != nil {
		return nil, err
	}
	return c.types.Schema(settled(p.description.Columns)), nil
}

// named reports whether the statement has parameters with names.
func (p *prepared) named() bool {
	for _, param := range p.description.Params {
		if _, err := strconv.Atoi(param.Name); err != nil {
			return true
		}
	}
	return false
}
