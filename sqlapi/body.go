package sqlapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/sql/engine"
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
		return engine.Request{}, newError(errcode.InvalidRequest, "send a statement, such as SELECT 1", "there is no SQL in the body")
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
	case errors.Is(err, os.ErrDeadlineExceeded):
		return newError(codeSlowBody, "", "the body took too long to arrive")
	}
	return newError(errcode.InvalidRequest, "", "the body cannot be read: %v", err)
}

// decodeSQL decodes {"sql": …, "parameters": […] or {…}}. Numbers keep their
// digits.
func decodeSQL(body []byte) (engine.Request, error) {
	var req engine.Request
	var seenSQL bool
	err := decodeObject(body, field{"sql", func(d *json.Decoder) error {
		seenSQL = true
		var sql *string
		if err := d.Decode(&sql); err != nil {
			return err
		}
		if sql == nil {
			return errors.New("sql is null")
		}
		req.SQL = *sql
		return nil
	}}, field{"parameters", func(d *json.Decoder) error { return decodeParameters(d, &req.Params) }})
	if err == nil && !seenSQL {
		err = newError(errcode.InvalidRequest, `send {"sql": "SELECT …"}`, `Invalid JSON: there is no "sql"`)
	}
	return req, err
}

func decodeParameters(d *json.Decoder, p *engine.Params) error {
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

// field is a key of a JSON object with where its value goes: a pointer, or a
// func(*json.Decoder) error that decodes it.
type field struct {
	key string
	to  any
}

// decodeObject decodes a JSON object of known keys, each at most once, with
// nothing after it.
func decodeObject(body []byte, fields ...field) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return invalidJSON(err, "not an object")
	}
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
		if decode, ok := f.to.(func(*json.Decoder) error); ok {
			err = decode(d)
		} else {
			err = d.Decode(f.to)
		}
		if err != nil {
			return invalidJSON(err, "")
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

func findField(key string, fields []field, seen map[string]bool) (field, error) {
	if seen[key] {
		return field{}, newError(errcode.InvalidRequest, "", "Invalid JSON: %q is there twice", key)
	}
	seen[key] = true
	keys := make([]string, len(fields))
	for i, f := range fields {
		if f.key == key {
			return f, nil
		}
		keys[i] = f.key
	}
	hint := "known keys are " + strings.Join(keys, ", ")
	if near := nearest.Name(key, keys); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return field{}, newError(errcode.InvalidRequest, hint, "Invalid JSON: unknown key %q", key)
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
		otherwise = "a value is a JSON " + wrongType.Value + ", not a " + wrongType.Type.String()
	case err != nil:
		otherwise = err.Error()
	}
	return newError(errcode.InvalidRequest, "", "Invalid JSON: %s", otherwise)
}
