package sandbox

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/spiced-sql/spiced/internal/kit/arrowipc"
	"github.com/spiced-sql/spiced/internal/kit/plural"
)

// A command exchanges lines: a JSON object on its standard input for each batch, and one
// on its standard output as the answer. What it prints on standard error is logged.
//
//	{"function": "slug", "id": 4711, "rows": [{"title": "A b"}, {"title": null}]}
//	{"id": 4711, "values": ["a-b", null]}
//	{"id": 4711, "error": "no title", "row": 1}
//
// Dates, timestamps and decimals are text, binary values text in base64. With Arrow, a line
// tells how many bytes follow it: an Arrow IPC stream of the rows, or of one column of values.
//
//	{"function": "slug", "id": 4711, "bytes": 512}
//	{"id": 4711, "bytes": 384}
//
// An answer has the id of its request, so that a line that is late cannot be taken for the
// answer of the next request. A program that answers without ids gets one request.
type lineReply struct {
	Values json.RawMessage `json:"values"`
	Bytes  *int64          `json:"bytes"`
	Error  *string         `json:"error"`
	Row    *int            `json:"row"`
	ID     *int64          `json:"id"`
}

// The forms of answers, for errors.
const (
	lineForm  = `it must answer {"id": …, "values": […]} or {"id": …, "error": "…", "row": 0} on one line`
	arrowForm = `it must answer {"id": …, "bytes": …} and that many bytes, or {"id": …, "error": "…", "row": 0}, on one line`
)

// form is how an answer must be.
func (o *Options) form() string {
	if o.Arrow {
		return arrowForm
	}
	return lineForm
}

func (w *worker) callLines(f *Function, batch arrow.RecordBatch) (arrow.Array, error) {
	id := rand.Int64N(1 << 53) // every JSON parser has it exactly
	request, err := lineRequest(f, id, batch, w.pool.o.Arrow)
	if err != nil {
		return nil, err
	}
	if len(request) > maxFrame {
		return nil, fmt.Errorf("the arguments of a call take %d bytes; the limit is %d", len(request), maxFrame)
	}
	if _, err := w.in.Write(request); err != nil {
		return nil, w.lost(err)
	}
	reply, stream, err := w.readReply(id)
	switch {
	case err != nil:
		return nil, err
	case reply.Error != nil:
		return nil, &CodeError{Kind: "refused", Message: w.pool.masked(*reply.Error), Row: reply.Row}
	case w.pool.o.Arrow:
		return w.arrowValues(f, stream, int(batch.NumRows()))
	}
	return w.lineValues(f, reply.Values, int(batch.NumRows()))
}

// lineRequest is the line of a request, with the stream that follows it.
func lineRequest(f *Function, id int64, batch arrow.RecordBatch, streams bool) ([]byte, error) {
	fields := map[string]any{"function": f.Name, "id": id}
	var stream bytes.Buffer
	var err error
	if streams {
		err = arrowipc.Encode(&stream, batch)
		fields["bytes"] = stream.Len()
	} else {
		var rows []byte
		rows, err = rowsJSON(batch)
		fields["rows"] = json.RawMessage(rows)
	}
	if err != nil {
		return nil, err
	}
	line, err := json.Marshal(fields)
	return append(append(line, '\n'), stream.Bytes()...), err
}

// readReply reads the answer of a request, with the stream that follows its line.
func (w *worker) readReply(id int64) (reply lineReply, stream []byte, err error) {
	line, err := readLine(w.out, w.pool.o.Output)
	switch {
	case errors.Is(err, errLongLine):
		return reply, nil, w.damaged(err.Error())
	case err != nil:
		return reply, nil, w.lost(err)
	case json.Unmarshal(line, &reply) != nil:
		return reply, nil, w.damaged("a line that is not a JSON object; " + w.pool.o.form())
	case reply.ID != nil && *reply.ID != id:
		return reply, nil, w.damaged(fmt.Sprintf("a line with the id %d; the id of the request is %d", *reply.ID, id))
	case reply.ID == nil && w.named:
		return reply, nil, w.damaged("a line without the id of the request; " + w.pool.o.form())
	case reply.Error != nil:
	case w.pool.o.Arrow && (reply.Bytes == nil || *reply.Bytes < 0):
		return reply, nil, w.damaged("a line without bytes; " + arrowForm)
	case w.pool.o.Arrow && *reply.Bytes > w.pool.o.Output:
		return reply, nil, w.damaged(fmt.Sprintf("%d bytes; the limit is %d (limits.output)", *reply.Bytes, w.pool.o.Output))
	case w.pool.o.Arrow:
		if stream, err = readBytes(w.out, *reply.Bytes); err != nil {
			return reply, nil, w.lost(err)
		}
	case reply.Values == nil:
		return reply, nil, w.damaged("a line without values; " + lineForm)
	}
	if w.stray() {
		return reply, nil, w.damaged("more than one line; it must answer each request with one line")
	}
	if w.named = reply.ID != nil; !w.named {
		w.kill(endNoID) // its next line could be a late one of this request
	}
	return reply, stream, nil
}

func (w *worker) lineValues(f *Function, text []byte, rows int) (values arrow.Array, err error) {
	defer func() {
		if v := recover(); v != nil {
			values, err = nil, errReply(fmt.Sprint(v))
		}
	}()
	values, _, err = array.FromJSON(allocator, f.typ, bytes.NewReader(text))
	if err != nil {
		return nil, &CodeError{
			Kind:    "refused",
			Message: w.pool.masked(fmt.Sprintf("answered a value that is not of type %s: %v", f.returns.Name, err)),
		}
	}
	return counted(values, rows)
}

// counted returns the values, if there is one for each row.
func counted(values arrow.Array, rows int) (arrow.Array, error) {
	if n := values.Len(); n != rows {
		values.Release()
		return nil, &CodeError{
			Kind:    "refused",
			Message: fmt.Sprintf("answered %s for %s", plural.Of(n, "value"), plural.Of(rows, "row")),
		}
	}
	return values, nil
}

// arrowValues returns the values of a stream with one column.
func (w *worker) arrowValues(f *Function, stream []byte, rows int) (arrow.Array, error) {
	want := []arrow.Field{{Name: "value", Type: f.typ, Nullable: true}}
	columns, err := arrowipc.Read(stream, want, arrowipc.ReadOptions{Limit: int(w.pool.o.Output)})
	var fault *arrowipc.Fault
	switch {
	case err == nil:
		return counted(columns[0], rows)
	case errors.As(err, &fault) && fault.Kind == arrowipc.Damaged:
		return nil, w.damaged("no Arrow IPC stream: " + err.Error())
	}
	return nil, &CodeError{
		Kind:    "refused",
		Message: w.pool.masked("answered Arrow data that is not as declared: " + err.Error()),
	}
}

func rowsJSON(batch arrow.RecordBatch) ([]byte, error) {
	if batch.NumCols() == 0 {
		return append(append([]byte{'['},
			bytes.TrimSuffix(bytes.Repeat([]byte("{},"), int(batch.NumRows())), []byte{','})...), ']'), nil
	}
	rows := array.RecordToStructArray(batch)
	defer rows.Release()
	return rows.MarshalJSON()
}

var errLongLine = errors.New("a line beyond the limit of the results")

// readLine reads a line of at most limit bytes.
func readLine(r *bufio.Reader, limit int64) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case int64(len(line)) > limit:
			return nil, errLongLine
		case err == nil:
			return line, nil
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}
