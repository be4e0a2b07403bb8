package isolate

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// kind is the kind of a frame.
type kind byte

// The frames to a worker.
const (
	kindSetup  kind = 'S' // setup, the first frame
	kindQuery  kind = 'Q' // query; the next one only after kindEnd
	kindCancel kind = 'X' // nothing: ends the statement that runs, if any
	kindAnswer kind = 'A' // answer
	kindValues kind = 'V' // answer to kindBatch, and a column of values; or to kindScan, and rows
)

// The frames of a worker.
const (
	kindReady   kind = 'R' // nothing: the setup is done
	kindFailed  kind = 'F' // failure; instead of kindReady
	kindColumns kind = 'C' // []engine.Column: the statement has begun
	kindAbout   kind = 'B' // engine.Description, instead of columns and rows
	kindRows    kind = 'D' // rows, see encoder
	kindCall    kind = 'N' // call; may come at any time until kindEnd
	kindBatch   kind = 'M' // batch and its rows; as kindCall
	kindScan    kind = 'T' // scan; as kindCall
	kindEnd     kind = 'E' // end: the statement is over
)

// A frame is the length of the payload (4 bytes, little-endian), the kind (1 byte)
// and the payload.
type frame struct {
	kind    kind
	payload []byte
}

// Limits of the frames.
const (
	headerBytes = 5
	maxFrame    = 512 << 20 // of any frame; rows are split into frames of about 1 MiB, but a single row may be large
	maxControl  = 16 << 20  // of a worker's frame other than rows and batches
	maxBatch    = 160 << 20 // of a batch: the engine splits large ones, and bounds the arguments of a row
	atOnce      = 1 << 20   // of a payload that is allocated before it has arrived
)

// tooLargeError is the largest payload of a frame that would be larger.
type tooLargeError int

func (most tooLargeError) Error() string {
	return fmt.Sprintf("more than %d MiB do not fit in a frame", int(most)>>20)
}

var errFrame = errors.New("protocol violation")

// readFrame reads a frame. At the end of the stream, between frames, the error is
// io.EOF.
func readFrame(r io.Reader, limit func(kind) int) (frame, error) {
	var header [headerBytes]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return frame{}, err
	}
	f := frame{kind: kind(header[4])}
	n := int64(binary.LittleEndian.Uint32(header[:]))
	if most := limit(f.kind); n > int64(most) {
		return frame{}, fmt.Errorf("%w: frame %q of %d bytes, at most %d", errFrame, byte(f.kind), n, most)
	}
	var err error
	if f.payload, err = readPayload(r, n); errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return f, err
}

// readPayload reads n bytes. A large payload is allocated as it arrives, not when it
// is announced.
func readPayload(r io.Reader, n int64) ([]byte, error) {
	if n <= atOnce {
		payload := newPayload(n)
		_, err := io.ReadFull(r, payload)
		return payload, err
	}
	var buf bytes.Buffer
	buf.Grow(atOnce)
	if _, err := io.CopyN(&buf, r, n); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// fromParent and fromWorker are the largest payloads in each direction.
func fromParent(kind) int { return maxFrame }

func fromWorker(k kind) int {
	switch k {
	case kindRows:
		return maxFrame
	case kindBatch:
		return maxBatch
	case kindReady, kindFailed, kindColumns, kindAbout, kindCall, kindScan, kindEnd:
		return maxControl
	}
	return 0
}

// writeFrame writes a frame, whose payload may be in parts.
func writeFrame(w io.Writer, k kind, payload ...[]byte) error {
	most := fromWorker(k)
	if most == 0 {
		most = fromParent(k)
	}
	n := 0
	for _, part := range payload {
		n += len(part)
	}
	if n > most {
		return tooLargeError(most)
	}
	var header [headerBytes]byte
	binary.LittleEndian.PutUint32(header[:], uint32(n))
	header[4] = byte(k)
	if _, err := w.Write(header[:]); err != nil {
		return err
	}
	for _, part := range payload {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// decodeJSON reads the payload of a frame.
func decodeJSON[T any](f frame) (v T, err error) {
	if err = json.Unmarshal(f.payload, &v); err != nil {
		err = fmt.Errorf("%w: frame %q: %w", errFrame, byte(f.kind), err)
	}
	return v, err
}

// frameWriter writes frames, from several goroutines.
type frameWriter struct {
	mu  sync.Mutex
	buf *bufio.Writer
}

func newFrameWriter(w io.Writer) *frameWriter {
	return &frameWriter{buf: bufio.NewWriterSize(w, 64<<10)}
}

// write adds a frame, which is sent with the next flush or earlier.
func (w *frameWriter) write(k kind, payload ...[]byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return writeFrame(w.buf, k, payload...)
}

// writeJSON is write for a frame with v as JSON, or without a payload for nil.
func (w *frameWriter) writeJSON(k kind, v any) error {
	var payload []byte
	if v != nil {
		var err error
		if payload, err = json.Marshal(v); err != nil {
			return err
		}
	}
	return w.write(k, payload)
}

func (w *frameWriter) flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.Flush()
}

// send is writeJSON and flush.
func (w *frameWriter) send(k kind, v any) error {
	if err := w.writeJSON(k, v); err != nil {
		return err
	}
	return w.flush()
}
