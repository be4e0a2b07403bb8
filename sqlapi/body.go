package sqlapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"math"
	"mime"
	"net/http"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/memory"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/tools"
)

// readSQL reads the statement and its parameters.
func (s *sqlHandler) readSQL(w http.ResponseWriter, r *http.Request) (engine.Request, error) {
	body, err := s.bodies.read(w, r, s.maxBody)
	if err != nil {
		return engine.Request{}, err
	}
	req := engine.Request{SQL: string(body)}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil && media == "application/json" {
		if req, err = decodeSQL(body); err != nil {
			return engine.Request{}, err
		}
	}
	if strings.TrimSpace(req.SQL) == "" {
		return engine.Request{},
			newError(errcode.InvalidRequest, "send a statement, such as SELECT 1", "there is no SQL in the body")
	}
	return req, nil
}

var byteOrderMark = []byte("\uFEFF")

// bodyReader reads the bodies of requests.
type bodyReader struct{ timeout time.Duration }

// read reads a body of UTF-8 text within its limits of size and time.
func (b bodyReader) read(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, newError(codeMediaType, "send the body as it is", "the content encoding %q is not read", encoding)
	}
	control := http.NewResponseController(w)
	// A ResponseWriter without deadlines, as in tests, has no slow sender.
	_ = control.SetReadDeadline(time.Now().Add(b.timeout))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		return nil, readError(err)
	}
	_ = control.SetReadDeadline(time.Time{})
	body = bytes.TrimPrefix(body, byteOrderMark)
	if !utf8.Valid(body) {
		return nil, newError(errcode.InvalidRequest, "", "the body is not UTF-8")
	}
	return body, nil
}

func readError(err error) error {
	var size *http.MaxBytesError
	switch {
	case errors.As(err, &size):
		return err
	case errors.Is(err, memory.ErrShort):
		e := newError(errcode.RateLimited, "send fewer large requests at once", "%s", memory.ErrShort)
		e.header = http.Header{headerRetryAfter: {"1"}}
		return e
	case errors.Is(err, os.ErrDeadlineExceeded):
		return newError(codeSlowBody, "", "the body took too long to arrive")
	}
	return newError(errcode.InvalidRequest, "", "the body cannot be read: %v", err)
}

// sqlBody is a statement as JSON.
type sqlBody struct {
	SQL        sqlText    `json:"sql" type:"string" doc:"One statement."`
	Parameters parameters `json:"parameters,omitzero" type:"array|object|null" doc:"An array for ? and $1, an object for $name and :name. A number that a DOUBLE would change is refused: an integer beyond HUGEINT, or one without an exact DOUBLE where the statement needs that, such as 9007199254740993, and one that would become 0. Fractions are rounded, as everywhere."`
}

// sqlText is a text that was given, and not null.
type sqlText struct {
	text  string
	given bool
}

// UnmarshalJSON refuses null.
func (s *sqlText) UnmarshalJSON(raw []byte) error {
	if s.given = true; string(raw) == "null" {
		return errors.New("sql is null")
	}
	return json.Unmarshal(raw, &s.text)
}

type parameters struct{ engine.Params }

// UnmarshalJSON reads a list, an object or null. Numbers keep their digits.
func (p *parameters) UnmarshalJSON(raw []byte) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return err
	}
	switch value := value.(type) {
	case nil:
	case []any:
		p.Positional = value
	case map[string]any:
		p.Named = value
	default:
		return errors.New("parameters is neither an array nor an object")
	}
	return nil
}

func decodeSQL(body []byte) (engine.Request, error) {
	var b sqlBody
	err := decodeObject(body, &b)
	if err == nil {
		err = checkLosses(body)
	}
	if err == nil && !b.SQL.given {
		err = newError(errcode.InvalidRequest, `send {"sql": "SELECT …"}`, `Invalid JSON: there is no "sql"`)
	}
	return engine.Request{SQL: b.SQL.text, Params: b.Parameters.Params}, err
}

// checkLosses refuses a JSON text if a decoder would drop a part of it in silence.
func checkLosses(body []byte) error {
	if lost := tools.Losses(body); lost != "" {
		return newError(errcode.InvalidRequest, "", "Invalid JSON: it %s", lost)
	}
	return nil
}

// decodeObject decodes a JSON object into the struct that to points to. Keys
// must be known and occur once, and nothing may follow the object; so for
// structs within it that do not decode themselves.
func decodeObject(body []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return invalidJSON(err, "not an object")
	}
	fields := fieldsOf(reflect.TypeOf(to).Elem())
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return invalidJSON(err, "")
		}
		key, _ := token.(string)
		f, err := findField(key, fields, seen)
		if err != nil {
			return err
		}
		if err := decodeField(d, reflect.ValueOf(to).Elem().FieldByIndex(f.Index).Addr().Interface()); err != nil {
			return invalidJSON(within(key, err), "")
		}
	}
	if _, err := d.Token(); err != nil {
		return invalidJSON(err, "")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return invalidJSON(nil, "there is something after the object")
	}
	return nil
}

// visibleFields are the fields of the structs that were decoded, by type: to list them
// takes longer than to decode most bodies.
var visibleFields sync.Map

func fieldsOf(t reflect.Type) []reflect.StructField {
	fields, ok := visibleFields.Load(t)
	if !ok {
		fields, _ = visibleFields.LoadOrStore(t, reflect.VisibleFields(t))
	}
	return fields.([]reflect.StructField)
}

// decodeField decodes the next value into the variable that to points to.
func decodeField(d *json.Decoder, to any) error {
	_, decodes := to.(json.Unmarshaler)
	if texts, ok := to.(*[]string); ok {
		return decodeTexts(d, texts)
	}
	if isInteger(reflect.TypeOf(to).Elem()) {
		return decodeInteger(d, to)
	}
	if decodes || reflect.TypeOf(to).Elem().Kind() != reflect.Struct {
		return d.Decode(to)
	}
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil || string(raw) == "null" {
		return err
	}
	return decodeObject(raw, to)
}

func isInteger(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64
}

// decodeInteger takes 3.0 and 3e0 for 3, as JSON Schema does (draft 2020-12, 4.2.3).
func decodeInteger(d *json.Decoder, to any) error {
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return err
	}
	if n, err := strconv.ParseFloat(string(raw), 64); err == nil && bytes.ContainsAny(raw, ".eE") && n == math.Trunc(n) &&
		math.Abs(n) < 1<<53 {
		raw = strconv.AppendInt(nil, int64(n), 10)
	}
	return json.Unmarshal(raw, to)
}

// decodeTexts reads null, or a list of texts without a null.
func decodeTexts(d *json.Decoder, to *[]string) error {
	var texts []*string
	if err := d.Decode(&texts); err != nil || texts == nil {
		return err
	}
	*to = make([]string, 0, len(texts))
	for i, text := range texts {
		if text == nil {
			return &json.UnmarshalTypeError{Value: "null", Type: reflect.TypeFor[string](), Field: strconv.Itoa(i)}
		}
		*to = append(*to, *text)
	}
	return nil
}

func findField(key string, fields []reflect.StructField, seen map[string]bool) (reflect.StructField, error) {
	if seen[key] {
		return reflect.StructField{}, newError(errcode.InvalidRequest, "", "Invalid JSON: %q is there twice", key)
	}
	seen[key] = true
	var keys []string
	for _, f := range fields {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch name {
		case "", "-":
			continue
		case key:
			return f, nil
		}
		keys = append(keys, name)
	}
	hint := nearest.Hint(key, keys, "known keys are "+strings.Join(keys, ", "))
	return reflect.StructField{}, newError(errcode.InvalidRequest, hint, "Invalid JSON: unknown key %q", key)
}

// within adds a key to where a value has a wrong type.
func within(key string, err error) error {
	var wrongType *json.UnmarshalTypeError
	if !errors.As(err, &wrongType) {
		return err
	}
	at := *wrongType
	at.Field = strings.TrimSuffix(key+"."+at.Field, ".")
	return &at
}

// jsonType is the JSON type of a Go type.
func jsonType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "a boolean"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "an integer"
}

func invalidJSON(err error, otherwise string) error {
	var own *requestError
	var wrongType *json.UnmarshalTypeError
	switch {
	case errors.As(err, &own):
		return own
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		otherwise = "the body ends too early"
	case errors.As(err, &wrongType):
		value := "a JSON " + wrongType.Value
		if number, ok := strings.CutPrefix(wrongType.Value, "number "); ok {
			value = truncate.Ellipsis(number, maxShown)
		}
		otherwise = cmp.Or(wrongType.Field, "the body") + " is " + value + ", not " + jsonType(wrongType.Type)
	case err != nil:
		otherwise = err.Error()
	}
	return newError(errcode.InvalidRequest, "", "Invalid JSON: %s", otherwise)
}
