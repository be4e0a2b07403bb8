package chattest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/spiced-sql/spiced/internal/llm/chat"
)

// created is the time of every answer, in Unix seconds.
const created = 1_700_000_000

// errCut ends an exchange whose connection must break.
var errCut = errors.New("the script cuts the connection")

// object is JSON, encoded with sorted keys.
type object = map[string]any

// exchange is a request and its answer.
type exchange struct {
	ctx     context.Context
	w       http.ResponseWriter
	request Request
	answer  Answer

	form   form
	parts  []*part
	failed bool  // a Fail step ended the stream
	sent   int   // bytes of the body
	err    error // why nothing more can be sent
}

// form encodes answers of one API.
type form interface {
	headers(http.Header)
	begin()               // a stream
	open(*part)           // a part of it
	piece(*part, string)  // more of the part
	shut(*part)           // the end of the part
	end()                 // the end of the stream
	fail(message string)  // an error in the stream
	whole() object        // an answer that is not streamed
	failure(fault) object // the body of an error
}

func (e *exchange) newForm() form {
	switch e.request.Form {
	case chat.FormAnthropic:
		return &anthropic{exchange: e}
	case chat.FormResponses:
		return &responses{exchange: e}
	default:
		return &openAI{exchange: e}
	}
}

// part is a part of an answer: text, thinking or a call.
type part struct {
	kind     stepKind // stepText, stepThinking or stepBegin
	index    int      // in the answer
	call     int      // among the calls
	id, name string   // of the call
	text     string   // so far; of a call the arguments
	shut     bool
}

// run answers the request. It returns an error if the connection must break.
func (e *exchange) run() error {
	e.form = e.newForm()
	switch a := e.answer; {
	case a.Cut < 0:
		return errCut
	case a.Hang && a.Steps == nil && a.Body == nil:
		<-e.ctx.Done()
		return errCut
	}
	e.head()
	e.body()
	if e.answer.Hang && e.err == nil {
		<-e.ctx.Done()
	}
	return e.err
}

func (e *exchange) head() {
	status, header := max(e.answer.Status, http.StatusOK), e.w.Header()
	e.form.headers(header)
	header.Set("Content-Type", "application/json")
	if f := e.answer.fault; f != nil {
		status = f.status(e.request.Form)
		maps.Copy(header, f.header)
	} else if e.request.Stream && status < http.StatusBadRequest {
		header.Set("Content-Type", "text/event-stream; charset=utf-8")
	}
	maps.Copy(header, e.answer.Header)
	e.w.WriteHeader(status)
	e.flush() // the client sees the status before the first event
}

func (e *exchange) body() {
	switch {
	case e.answer.fault != nil:
		e.write(encode(e.form.failure(*e.answer.fault)))
	case e.answer.Body != nil:
		e.write(e.answer.Body)
	case e.request.Stream:
		e.stream()
	default:
		e.play(silent{e.form})
		if !e.answer.Hang {
			e.write(encode(e.form.whole()))
		}
	}
}

// silent ignores the methods for streams.
type silent struct{ form }

func (silent) open(*part)          {}
func (silent) piece(*part, string) {}
func (silent) shut(*part)          {}

func (e *exchange) stream() {
	e.form.begin()
	e.play(e.form)
	if e.answer.Hang || e.failed {
		return
	}
	for _, p := range e.parts {
		e.shut(e.form, p)
	}
	e.form.end()
}

// play runs the steps, up to one that fails a stream.
func (e *exchange) play(f form) {
	for _, s := range e.answer.Steps {
		if e.err != nil || e.failed {
			return
		}
		e.step(f, s)
	}
}

func (e *exchange) step(f form, s Step) {
	switch s.kind {
	case stepText, stepThinking:
		e.say(f, e.prose(f, s.kind), s.pieces)
	case stepBegin:
		e.shutProse(f)
		p := e.add(f, &part{kind: stepBegin, id: s.id, name: s.name, call: len(e.calls())})
		if e.say(f, p, s.pieces); s.ends {
			e.shut(f, p)
		}
	case stepArguments:
		if p := e.call(s.id); p != nil {
			e.say(f, p, s.pieces)
		}
	case stepEnd:
		if p := e.call(s.id); p != nil {
			e.shut(f, p)
		}
	case stepFail:
		if e.failed = e.request.Stream; e.failed {
			f.fail(s.pieces[0])
		}
	case stepRaw:
		if e.request.Stream {
			e.write([]byte(s.pieces[0]))
		}
	case stepWait:
		e.wait(s)
	}
}

// prose returns the part for text or thinking: the last one, or a new one.
func (e *exchange) prose(f form, kind stepKind) *part {
	if n := len(e.parts); n > 0 && e.parts[n-1].kind == kind && !e.parts[n-1].shut {
		return e.parts[n-1]
	}
	e.shutProse(f)
	return e.add(f, &part{kind: kind})
}

func (e *exchange) add(f form, p *part) *part {
	p.index = len(e.parts)
	e.parts = append(e.parts, p)
	f.open(p)
	return p
}

func (e *exchange) say(f form, p *part, pieces []string) {
	for _, piece := range pieces {
		if p.shut || e.err != nil {
			return
		}
		p.text += piece
		f.piece(p, piece)
	}
}

func (e *exchange) shut(f form, p *part) {
	if !p.shut {
		p.shut = true
		f.shut(p)
	}
}

func (e *exchange) shutProse(f form) {
	for _, p := range e.parts {
		if p.kind != stepBegin {
			e.shut(f, p)
		}
	}
}

func (e *exchange) calls() []*part {
	var calls []*part
	for _, p := range e.parts {
		if p.kind == stepBegin {
			calls = append(calls, p)
		}
	}
	return calls
}

func (e *exchange) call(id string) *part {
	for _, p := range e.parts {
		if p.kind == stepBegin && p.id == id {
			return p
		}
	}
	return nil
}

// text returns all text in parts of that kind.
func (e *exchange) text(kind stepKind) string {
	var text string
	for _, p := range e.parts {
		if p.kind == kind {
			text += p.text
		}
	}
	return text
}

func (e *exchange) wait(s Step) {
	e.flush()
	var after <-chan time.Time
	if s.until == nil {
		timer := time.NewTimer(s.pause)
		defer timer.Stop()
		after = timer.C
	}
	select {
	case <-e.ctx.Done():
		e.err = e.ctx.Err()
	case <-after:
	case <-s.until:
	}
}

func (e *exchange) usage() chat.Usage {
	var u chat.Usage
	for _, s := range e.answer.Steps {
		if s.kind == stepUsage {
			u = s.usage
		}
	}
	return u
}

func (e *exchange) reason() chat.Reason {
	for _, s := range e.answer.Steps {
		if s.kind == stepFinish {
			return s.reason
		}
	}
	if len(e.calls()) > 0 {
		return chat.ReasonCalls
	}
	return chat.ReasonStop
}

// identifier returns an id with the request's number, such as msg_0007.
func (e *exchange) identifier(prefix string) string {
	return fmt.Sprintf("%s%04d", prefix, e.request.N)
}

// event writes a server-sent event; name may be empty.
func (e *exchange) event(name string, data object) {
	var text []byte
	if name != "" {
		text = append(text, "event: "+name+"\n"...)
	}
	text = append(text, "data: "...)
	text = append(text, encode(data)...)
	e.write(append(text, "\n\n"...))
}

// write sends text in chunks of the size that the answer sets, up to its cut.
func (e *exchange) write(text []byte) {
	size := e.answer.ChunkBytes
	if size <= 0 {
		size = len(text)
	}
	for len(text) > 0 && e.err == nil {
		n := min(size, len(text))
		if cut := e.answer.Cut; cut > 0 {
			n = min(n, cut-e.sent)
		}
		_, e.err = e.w.Write(text[:n])
		e.sent += n
		text = text[n:]
		e.flush()
		if e.err == nil && e.sent == e.answer.Cut {
			e.err = errCut
		}
	}
}

func (e *exchange) flush() {
	if err := http.NewResponseController(e.w).Flush(); err != nil && e.err == nil {
		e.err = err
	}
}

// encode encodes JSON as providers do, without escapes for HTML.
func encode(v any) []byte {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // text and numbers cannot fail
		return []byte("null")
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}
