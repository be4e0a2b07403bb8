package isolate

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Limits of the rows that a worker has sent and the reader has not taken.
const (
	maxQueued = 8 << 20 // bytes in memory, of more than framesAhead frames
	// of the reader, or of the worker while others wait for it, after which rows move to a file
	readerPause = time.Second
	checkEvery  = 100 * time.Millisecond // while the worker waits for the reader
)

// errSlowReader ends a statement whose rows find no room while others wait for its
// worker.
var errSlowReader = errors.New("its rows were read too slowly while other statements waited")

// budget limits the bytes in the files of all spools.
type budget struct {
	limit int64
	used  atomic.Int64
}

// reserve takes n bytes, if they are left.
func (b *budget) reserve(n int64) bool {
	if b.used.Add(n) <= b.limit {
		return true
	}
	b.used.Add(-n)
	return false
}

// spool has the rows of a statement, as payloads of frames, between its worker and
// their reader: in memory and, after those, in a file. One goroutine puts and one
// takes.
type spool struct {
	dir    string
	budget *budget
	rivals

	waited time.Duration // for room, in earlier calls of put

	mu         sync.Mutex
	queue      [][]byte
	queued     int
	file       *os.File // nil until the reader was slow; removed already
	extent              // of the payloads in file
	taken      time.Time
	done       bool
	closed     bool
	err        error // after the last payload
	more, room chan struct{}
}

// rivals are those who wait until the rows have been put.
type rivals struct {
	contended func() bool // whether there are any: statements for the worker, or scans for the snapshot
	eager     bool        // rows move to the file as soon as there are
}

// extent is the bytes of a file from start to end.
type extent struct{ start, end int64 }

func newSpool(dir string, b *budget, contended func() bool) *spool {
	return &spool{
		dir: dir, budget: b, rivals: rivals{contended: contended}, taken: time.Now(),
		more: make(chan struct{}, 1), room: make(chan struct{}, 1),
	}
}

func notify(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// put adds a payload. It waits for the reader while there is no room.
func (s *spool) put(ctx context.Context, payload []byte) error {
	if added, err := s.add(payload); added || err != nil {
		return err
	}
	ticker := time.NewTicker(checkEvery)
	defer ticker.Stop()
	waited := time.Now()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.room:
		case <-ticker.C:
			if err := s.relieve(time.Since(waited)); err != nil {
				return err
			}
		}
		if added, err := s.add(payload); added || err != nil {
			s.waited += time.Since(waited)
			return err
		}
	}
}

// add adds a payload if there is room.
func (s *spool) add(payload []byte) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return true, nil
	case s.file != nil:
		return s.write(payload)
	case len(s.queue) >= framesAhead && s.queued+len(payload) > maxQueued:
		return false, nil
	}
	s.queue, s.queued = append(s.queue, payload), s.queued+len(payload)
	notify(s.more)
	return true, nil
}

// write adds a payload to the file, with its length before it.
func (s *spool) write(payload []byte) (bool, error) {
	size := int64(4 + len(payload))
	if !s.budget.reserve(size) {
		return false, nil
	}
	var header [4]byte
	binary.LittleEndian.PutUint32(header[:], uint32(len(payload)))
	_, err1 := s.file.WriteAt(header[:], s.end)
	_, err2 := s.file.WriteAt(payload, s.end+4)
	if err := errors.Join(err1, err2); err != nil {
		s.budget.used.Add(-size)
		return false, fmt.Errorf("store rows that are not read yet: %w", err)
	}
	s.end += size
	notify(s.more)
	return true, nil
}

// relieve opens the file for a reader that is slow. If there is one and it is full,
// the statement fails when others wait for its worker.
func (s *spool) relieve(waited time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.file != nil && waited >= readerPause && s.contended():
		return errSlowReader
	case s.file == nil && s.eager && s.contended():
	case s.file != nil, time.Since(s.taken) < readerPause && (s.waited+waited < readerPause || !s.contended()):
		return nil
	}
	file, err := os.CreateTemp(s.dir, "rows-")
	if err != nil {
		return fmt.Errorf("store rows that are not read yet: %w", err)
	}
	os.Remove(file.Name()) // it lives as long as it is open
	s.file = file
	return nil
}

// finish says that err, which may be nil, comes after the last payload.
func (s *spool) finish(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done, s.err = true, err
	notify(s.more)
}

// take returns the next payload. After the last one it returns nil and the error of
// finish.
func (s *spool) take(ctx context.Context) ([]byte, error) {
	for {
		payload, end, err := s.next()
		if payload != nil || end || err != nil {
			return payload, err
		}
		select {
		case <-s.more:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// next returns the next payload, if there is one, or whether all were taken.
func (s *spool) next() (payload []byte, end bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = time.Now()
	switch {
	case s.closed:
		return nil, true, errCancelled()
	case len(s.queue) > 0:
		payload = s.queue[0]
		s.queue[0] = nil
		s.queue, s.queued = s.queue[1:], s.queued-len(payload)
	case s.start < s.end:
		if payload, err = s.read(); err != nil {
			return nil, true, err
		}
	default:
		return nil, s.done, s.err
	}
	notify(s.room)
	return payload, false, nil
}

// read reads the first payload of the file, which starts over when it is empty.
func (s *spool) read() ([]byte, error) {
	var header [4]byte
	if _, err := s.file.ReadAt(header[:], s.start); err != nil {
		return nil, err
	}
	payload := make([]byte, binary.LittleEndian.Uint32(header[:]))
	if _, err := s.file.ReadAt(payload, s.start+4); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if s.start += int64(4 + len(payload)); s.start == s.end {
		s.budget.used.Add(-s.end)
		s.start, s.end = 0, 0
		return payload, s.file.Truncate(0)
	}
	return payload, nil
}

// close frees what was not taken.
func (s *spool) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.queue = true, nil
	if s.file != nil {
		s.budget.used.Add(-s.end)
		s.start, s.end = 0, 0
		s.file.Close()
		s.file = nil
	}
	notify(s.room)
	notify(s.more)
}
