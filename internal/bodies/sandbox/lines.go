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
)

// A command exchanges lines: a JSON object on its standard input for each batch, and one
// on its standard output as the answer. What it prints on standard error is logged.
//
//	{"function": "slug", "id": 4711, "rows": [{"title": "A b"}, {"title": null}]}
//	{"id": 4711, "values": ["a-b", null]}
//	{"id": 4711, "error": "no title", "row": 1}
//
// An answer has the id of its request, so that a line that is late cannot be taken for the
// answer of the next request. A program that answers without ids gets one request.
//
// Dates, timestamps and decimals are text, binary values text in base64.
type lineReply struct {
	Values json.RawMessage `json:"values"`
	Error  *string         `json:"error"`
	Row    *int            `json:"row"`
	ID     *int64          `json:"id"`
}

func (w *worker) callLines(f *Function, batch arrow.RecordBatch) (arrow.Array, error) {
	rows, err := rowsJSON(batch)
	if err != nil {
		return nil, err
	}
	id := rand.Int64N(1 << 53) // every JSON parser has it exactly
	request, err := json.Marshal(map[string]any{"function": f.Name, "id": id, "rows": json.RawMessage(rows)})
	if err != nil {
		return nil, err
	}
	if _, err := w.in.Write(append(request, '\n')); err != nil {
		return nil, w.lost(err)
	}
	line, err := readLine(w.out, w.pool.o.Output)
	switch {
	case errors.Is(err, errLongLine):
		return nil, w.damaged(err.Error())
	case err != nil:
		return nil, w.lost(err)
	case w.stray():
		return nil, w.damaged("more than one line; it must answer each request with one line")
	}
	return w.lineValues(f, id, line, int(batch.NumRows()))
}

func (w *worker) lineValues(f *Function, id int64, line []byte, rows int) (values arrow.Array, err error) {
	const form = `it must answer {"id": …, "values": […]} or {"id": …, "error": "…", "row": 0} on one line`
	var reply lineReply
	switch {
	case json.Unmarshal(line, &reply) != nil:
		return nil, w.damaged("a line that is no JSON object; " + form)
	case reply.ID != nil && *reply.ID != id:
		return nil, w.damaged(fmt.Sprintf("a line with the id %d; the id of the request is %d", *reply.ID, id))
	case reply.ID == nil && w.named:
		return nil, w.damaged("a line without the id of the request; " + form)
	case reply.ID == nil:
		w.kill(endNoID) // its next line could be a late one of this request
	}
	w.named = true
	if reply.Error != nil {
		return nil, &CodeError{Kind: "refused", Message: w.pool.masked(*reply.Error), Row: reply.Row}
	}
	if reply.Values == nil {
		return nil, w.damaged("a line without values; " + form)
	}
	defer func() {
		if v := recover(); v != nil {
			values, err = nil, errReply(fmt.Sprint(v))
		}
	}()
	values, _, err = array.FromJSON(allocator, f.typ, bytes.NewReader(reply.Values))
	if err != nil {
		return nil, &CodeError{Kind: "refused", Message: w.pool.masked(fmt.Sprintf("answered a value that is no %s: %v", f.returns.Name, err))}
	}
	if n := values.Len(); n != rows {
		values.Release()
		return nil, &CodeError{Kind: "refused", Message: fmt.Sprintf("answered %d values for %d rows", n, rows)}
	}
	return values, nil
}

func rowsJSON(batch arrow.RecordBatch) ([]byte, error) {
	if batch.NumCols() == 0 {
		return append(append([]byte{'['}, bytes.TrimSuffix(bytes.Repeat([]byte("{},"), int(batch.NumRows())), []byte{','})...), ']'), nil
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
