// Package remote has functions whose body is a service: `from: https://…`. A batch of rows is
// one POST, in the form of Spice:
//
//	scalar: {"rows":[{"x":1},{"x":2}]} → {"values":[…]}, a value for each row
//	table:  {"args":{"x":1}} → {"rows":[…]}, one request for each call
//
// A function with table inputs is called as a table function is, with
// "tables":{"t":[…]} in addition to "args"; a scalar one gets {"values":[x]}.
//
//	b, err := remote.Maker{}.New(ctx, spec)
//	values, err := b.Call(ctx, batch)
//
// Addresses that are not public are refused unless the function allows them: see [guard].
package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/internal/bodies/arrowjson"
	"github.com/spiced-sql/spiced/internal/bodies/body"
	"github.com/spiced-sql/spiced/internal/kit/httpx"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/sql/format"
	"github.com/spiced-sql/spiced/spicepod"
)

// Kind is the kind of bodies that are services.
var Kind = body.Kind{
	BodyKind: spicepod.BodyKind{Schemes: []string{"http", "https"}},
	Open:     func(body.Host) body.Maker { return Maker{} },
}

// Maker makes bodies. Its fields are for tests.
type Maker struct {
	// Lookup resolves a host; nil: the resolver of the system.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// Roots are the authorities of certificates; nil: those of the system.
	Roots *x509.CertPool
}

// Service is a function whose body is a service.
type Service struct {
	name   string
	target *url.URL
	set    settings
	client *http.Client
	redact func(string) string
	slots  chan struct{} // of requests
	replay bool          // whether a request may be sent again

	table  bool
	inputs []input // the table inputs and then the arguments
	tables int
	result *arrowjson.Form // of a value
}

// input is a column of a batch.
type input struct {
	key  []byte // "name":
	form *arrowjson.Form
}

var _ body.Body = (*Service)(nil)

// New makes the body of a function. An error about the declaration is
// [spicepod.Problems].
func (maker Maker) New(_ context.Context, spec body.Spec) (body.Body, error) {
	declared := spec.Declared
	e := &spicepod.Entry{Pod: spec.Pod, Path: spec.Path, Component: "function " + declared.Name, Params: declared.Params}
	s := &Service{
		name: declared.Name, table: spec.IsTable(), tables: len(declared.Signature.Tables),
		replay: declared.Volatility == spicepod.Immutable || declared.Volatility == spicepod.Stable,
	}
	s.target = readTarget(e, declared.From)
	s.set = readSettings(e, s.table)
	g := s.set.guard(maker.Lookup)
	if why := g.literal(s.target); why != nil {
		e.Fail(".from", "", "%s", why)
	}
	s.forms(e, spec)
	if e.Fault() != nil {
		return nil, e.Problems
	}
	s.redact = httpx.Redaction([]string{s.set.bearer})
	s.slots = make(chan struct{}, s.set.concurrency)
	s.client = &http.Client{CheckRedirect: httpx.CheckRedirect, Transport: transport(s.set, g, maker)}
	return s, nil
}

// transport returns one that ignores the proxies of the environment: a proxy would resolve
// names itself, and the guard could not see their addresses.
func transport(set settings, g guard, maker Maker) *http.Transport {
	return &http.Transport{
		DialContext:            g.dial,
		TLSClientConfig:        &tls.Config{RootCAs: maker.Roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    10 * time.Second,
		ForceAttemptHTTP2:      true,
		MaxConnsPerHost:        set.concurrency,
		MaxIdleConnsPerHost:    set.concurrency,
		IdleConnTimeout:        time.Minute,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// forms compiles the types of the signature.
func (s *Service) forms(e *spicepod.Entry, spec body.Spec) {
	signature := spec.Declared.Signature
	add := func(path, name string, t *engine.Type) {
		form := compile(e, path, t, spec.Args.Field(len(s.inputs)).Type)
		s.inputs = append(s.inputs, input{append(format.AppendString(nil, name), ':'), form})
	}
	for i, t := range signature.Tables {
		add(fmt.Sprintf(".signature.tables[%d]", i), t.Name,
			rowsOf(e, fmt.Sprintf(".signature.tables[%d].columns", i), t.Columns))
	}
	for i, a := range signature.Args {
		path := fmt.Sprintf(".signature.args[%d].type", i)
		add(path, a.Name, typeOf(e, path, a.Type))
	}
	const returns = ".signature.returns"
	if s.table {
		s.result = compile(e, returns, rowsOf(e, returns, signature.Returns.Columns), spec.Returns)
	} else {
		s.result = compile(e, returns, typeOf(e, returns, signature.Returns.Type), spec.Returns)
	}
}

func compile(e *spicepod.Entry, path string, t *engine.Type, carried arrow.DataType) *arrowjson.Form {
	form, err := arrowjson.Of(t, carried)
	if err != nil {
		e.Fail(path, "use another type", "%s, which requests to a service are", err)
	}
	return form
}

func typeOf(e *spicepod.Entry, path, declared string) *engine.Type {
	t, err := functions.ParseType(declared)
	if err != nil {
		hint := ""
		var wrong *functions.TypeError
		if errors.As(err, &wrong) {
			hint = wrong.Hint
		}
		e.Fail(path, hint, "%s", err)
		return &engine.Type{ID: engine.Boolean}
	}
	return t.Duck()
}

// rowsOf is the type of the rows of a table.
func rowsOf(e *spicepod.Entry, path string, columns []spicepod.Column) *engine.Type {
	row := &engine.Type{ID: engine.Struct}
	for i, c := range columns {
		row.Fields = append(row.Fields,
			engine.Field{Name: c.Name, Type: typeOf(e, fmt.Sprintf("%s[%d].type", path, i), c.Type)})
	}
	return &engine.Type{ID: engine.List, Elem: row}
}

// Close closes the connections to the service.
func (s *Service) Close() error {
	s.client.CloseIdleConnections()
	return nil
}

// Call sends the rows of a batch in requests, some of them at once.
func (s *Service) Call(ctx context.Context, batch arrow.RecordBatch) (arrow.Array, error) {
	if int(batch.NumCols()) != len(s.inputs) {
		return nil, fmt.Errorf("remote function '%s' expected %d args, got %d", s.name, len(s.inputs), batch.NumCols())
	}
	size := s.set.batchSize
	if s.single() {
		size = 1
	}
	parts := make([]arrow.Array, (int(batch.NumRows())+size-1)/size)
	defer release(parts)
	if err := s.each(ctx, batch, size, parts); err != nil {
		return nil, err
	}
	if len(parts) == 1 {
		parts[0].Retain()
		return parts[0], nil
	}
	return array.Concatenate(parts, memory.DefaultAllocator)
}

func release(parts []arrow.Array) {
	for _, a := range parts {
		if a != nil {
			a.Release()
		}
	}
}

// each sends the rows of a batch, a number in each request, and sets the values of each. It
// returns the first error, after the last request has ended: an error ends the others.
func (s *Service) each(ctx context.Context, batch arrow.RecordBatch, size int, parts []arrow.Array) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for i := range parts {
		from := i * size
		to := min(from+size, int(batch.NumRows()))
		text := s.appendRequest(nil, batch, from, to)
		select {
		case s.slots <- struct{}{}:
			wg.Go(func() {
				response, err := s.send(ctx, text)
				<-s.slots
				if err == nil {
					parts[i], err = s.read(response, from, to)
				}
				if err != nil {
					cancel(err)
				}
			})
			continue
		case <-ctx.Done():
		}
		break
	}
	wg.Wait()
	return context.Cause(ctx)
}

// single reports whether a request has one row.
func (s *Service) single() bool { return s.table || s.tables > 0 }

// read returns the values of some rows of a batch.
func (s *Service) read(response []byte, from, to int) (arrow.Array, error) {
	values, err := s.values(response, to-from)
	var wrong *arrowjson.ValueError
	switch {
	case errors.As(err, &wrong):
		return nil, &body.Error{
			Row: from + wrong.Index,
			Err: s.fail("response values did not match declared return type: %w", err),
		}
	case err != nil && s.single():
		return nil, &body.Error{Row: from, Err: err}
	}
	return values, err
}

// appendRequest appends the request for some rows of a batch.
func (s *Service) appendRequest(buf []byte, batch arrow.RecordBatch, from, to int) []byte {
	if s.single() {
		return s.appendCall(buf, batch, from)
	}
	return s.appendRows(buf, batch, from, to)
}

// appendRows appends the request of a scalar function.
func (s *Service) appendRows(buf []byte, batch arrow.RecordBatch, from, to int) []byte {
	buf = append(buf, `{"rows":[`...)
	for i := from; i < to; i++ {
		if i > from {
			buf = append(buf, ',')
		}
		buf = s.appendObject(buf, batch, 0, len(s.inputs), i)
	}
	return append(buf, "]}"...)
}

// appendCall appends the request of one call of a function with tables.
func (s *Service) appendCall(buf []byte, batch arrow.RecordBatch, row int) []byte {
	buf = s.appendObject(append(buf, `{"args":`...), batch, s.tables, len(s.inputs), row)
	if s.tables > 0 {
		buf = s.appendObject(append(buf, `,"tables":`...), batch, 0, s.tables, row)
	}
	return append(buf, '}')
}

// appendObject appends some columns of a row.
func (s *Service) appendObject(buf []byte, batch arrow.RecordBatch, from, to, row int) []byte {
	buf = append(buf, '{')
	for c := from; c < to; c++ {
		if c > from {
			buf = append(buf, ',')
		}
		buf = s.inputs[c].form.Append(append(buf, s.inputs[c].key...), batch.Column(c), row)
	}
	return append(buf, '}')
}

// values reads a response with the values of n rows.
func (s *Service) values(response []byte, n int) (arrow.Array, error) {
	if !json.Valid(response) {
		return nil, s.fail("response was not valid JSON: %w", whyInvalid(response))
	}
	name := "values"
	if s.table {
		name = "rows"
	}
	list, err := arrowjson.Member(response, name)
	if err != nil || list == nil {
		return nil, s.fail("response is not an object with the list %q", name)
	}
	got, err := arrowjson.Elements(list)
	switch {
	case err != nil:
		return nil, s.fail("response is not an object with the list %q", name)
	case s.table:
		return s.rows(list, got)
	case got != n:
		return nil, s.fail("returned %d values for a batch of %d rows", got, n)
	}
	return s.result.Array(list, n)
}

// rows reads the rows of a table function, which are one value.
func (s *Service) rows(list []byte, n int) (arrow.Array, error) {
	if n > s.set.maxRows {
		return nil, s.fail("returned %d rows, which is more than %d (params.max_rows)", n, s.set.maxRows)
	}
	b := s.result.NewBuilder()
	defer b.Release()
	if err := s.result.Read(list, b); err != nil {
		return nil, s.fail("response values did not match declared return type: %s",
			strings.Replace(err.Error(), "element", "row", 1))
	}
	return b.NewArray(), nil
}

// whyInvalid is the error of a text that is not JSON.
func whyInvalid(text []byte) error {
	var any json.RawMessage
	return json.Unmarshal(text, &any)
}

// fail returns an error of the function.
func (s *Service) fail(message string, args ...any) error {
	return fmt.Errorf("remote function '%s' "+message, append([]any{s.name}, args...)...)
}
