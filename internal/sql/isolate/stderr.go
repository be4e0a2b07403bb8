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

// Bounds of what is logged of a worker's standard error.
const (
	maxLine  = 1 << 10
	maxLines = 20
	maxWait  = time.Second // for the rest of it
)

// stderr is what a worker says outside of the protocol: the Go runtime, or
// C++, at its end. It is logged, and tells whether memory was short.
type stderr struct {
	log   *slog.Logger
	pipe  io.ReadCloser
	task  sync.WaitGroup // its reader
	lines int
	short bool
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

// wait waits for the end of what a process said that is gone. A child of it may
// have the pipe, and keep it.
func (s *stderr) wait() {
	defer time.AfterFunc(maxWait, s.close).Stop()
	s.task.Wait()
}

func (s *stderr) close() { s.pipe.Close() }

// shortage are the words of who found no memory, also for the stack of a
// thread: the Go runtime, C++ and the system. They end a process and leave it
// no other way to tell.
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

// noMemory reports whether memory was short. Ask after wait.
func (s *stderr) noMemory() bool { return s.short }
