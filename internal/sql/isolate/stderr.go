package isolate

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// Limits of what is logged from a worker's standard error.
const (
	maxLine  = 1 << 10
	maxLines = 20
	maxWait  = time.Second // for the remaining output
)

// stderr is the output of a worker outside the protocol: messages of the Go runtime
// or of C++ when it ends. It is logged, and shows whether memory was short.
type stderr struct {
	log   *slog.Logger
	pipe  io.ReadCloser
	task  sync.WaitGroup // its reader
	lines int
	short bool // memory was short; read it after wait
}

// read reads to the end.
func (s *stderr) read() {
	in := bufio.NewReaderSize(s.pipe, maxLine)
	for {
		line, err := in.ReadSlice('\n')
		s.add(strings.TrimSpace(string(line)))
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a long line
			_, err = in.ReadSlice('\n')
		}
		if err != nil {
			return
		}
	}
}

// wait waits for the remaining output of a process that is gone. A child of it may
// still have the pipe open.
func (s *stderr) wait() {
	defer time.AfterFunc(maxWait, s.close).Stop()
	s.task.Wait()
}

func (s *stderr) close() { s.pipe.Close() }

// shortage are messages of the Go runtime, C++ and the system that memory, or a
// thread's stack, could not be allocated. They end a process, which has no other way
// to report it.
var shortage = []string{"out of memory", "cannot allocate memory", "std::bad_alloc", "pthread_create failed"}

func (s *stderr) add(line string) {
	if line == "" {
		return
	}
	for _, words := range shortage {
		s.short = s.short || strings.Contains(strings.ToLower(line), words)
	}
	if s.lines++; s.lines <= maxLines {
		s.log.Warn("a worker wrote", "line", strings.ToValidUTF8(line, "\uFFFD"))
	}
}
