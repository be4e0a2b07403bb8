package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
)

// A request is a frame: the number of bytes of its payload, 32 bits; its kind, one byte;
// the number of the function, 32 bits; the number of the call, 64 bits, which cannot be
// guessed; the payload. A reply is the same, with the number of its call, without a function.
// Integers are little-endian. shim.py is the other side.
//
//	load   the JSON of NewFunction                  → loaded, without payload
//	call   the number of rows, 32 bits, and columns → done, with one column
//	                                                → failed, with the JSON of a CodeError
//
// Of a function with Arrow, the payloads of call and done are Arrow IPC streams: of the rows, and
// of one column.
// The kind of a reply has replyLeft too if the call left threads, tasks or callbacks, or many
// open files.
const (
	requestLoad = 1
	requestCall = 2

	replyLoaded = 1
	replyDone   = 2
	replyFailed = 3
	replyLeft   = 128

	requestHead = 17
	replyHead   = 13
)

// CodeError is an error of the code in a sandbox.
type CodeError struct {
	// Kind is exception, syntax, refused (a result of the wrong type, or an error that the
	// code returned), load (it took too long), entrypoint or parameters.
	Kind    string   `json:"kind"`
	Class   string   `json:"class"` // of the exception
	Message string   `json:"message"`
	Line    int      `json:"line"` // of the code, from 1; 0: unknown
	Column  int      `json:"column"`
	Row     *int     `json:"row"`     // of the batch; nil: unknown
	Module  string   `json:"module"`  // that could not be imported
	Errno   int      `json:"errno"`   // of an OSError
	Defined []string `json:"defined"` // functions of the code, if the entry point is not there
}

// Error returns the message with the class before it.
func (e *CodeError) Error() string {
	text := strings.TrimSpace(e.Message)
	switch {
	case e.Kind == "exception" && e.Class == "MemoryError":
		return strings.TrimSuffix("MemoryError: the code needs more than the memory limit of the sandbox: "+text, ": ")
	case e.Kind == "exception" && text == "":
		return e.Class
	case e.Kind == "exception":
		return e.Class + ": " + text
	case e.Kind == "syntax":
		return "syntax error: " + text
	}
	return text
}

// exchange sends a request and returns the reply's payload.
func (w *worker) exchange(kind byte, f *Function, payload []byte) ([]byte, error) {
	if len(payload) > maxFrame {
		return nil, fmt.Errorf("the arguments of a call take %d bytes; the limit is %d", len(payload)-requestHead, maxFrame)
	}
	binary.LittleEndian.PutUint32(payload, uint32(len(payload)-requestHead))
	payload[4] = kind
	binary.LittleEndian.PutUint32(payload[5:], f.id)
	call := rand.Uint64()
	binary.LittleEndian.PutUint64(payload[9:], call)
	if _, err := w.in.Write(payload); err != nil {
		return nil, w.lost(err)
	}
	var head [replyHead]byte
	if _, err := io.ReadFull(w.out, head[:]); err != nil {
		return nil, w.lost(err)
	}
	answer, limit := head[4]&^replyLeft, w.pool.o.Output
	if answer == replyFailed {
		limit = maxFailure
	}
	size := int64(binary.LittleEndian.Uint32(head[:]))
	if size > limit || answer < replyLoaded || answer > replyFailed {
		return nil, w.damaged(fmt.Sprintf("a frame of kind %d with %d bytes", head[4], size))
	}
	if binary.LittleEndian.Uint64(head[5:]) != call {
		return nil, w.damaged("a frame of another call")
	}
	reply, err := readBytes(w.out, size)
	if err != nil {
		return nil, w.lost(err)
	}
	w.left = head[4]&replyLeft != 0
	if answer != replyFailed {
		return reply, nil
	}
	failure := &CodeError{}
	if err := json.Unmarshal(reply, failure); err != nil {
		return nil, w.damaged(err.Error())
	}
	failure.Message = w.pool.masked(failure.Message)
	return nil, failure
}

// readBytes reads bytes whose number is not trusted: memory grows with what arrives.
func readBytes(r io.Reader, size int64) ([]byte, error) {
	const chunk = 1 << 20
	buf := make([]byte, 0, min(size, chunk))
	for int64(len(buf)) < size {
		n := min(size-int64(len(buf)), max(chunk, int64(len(buf))))
		start := len(buf)
		buf = append(buf, make([]byte, n)...)
		if _, err := io.ReadFull(r, buf[start:]); err != nil {
			return nil, err
		}
	}
	return buf, nil
}
