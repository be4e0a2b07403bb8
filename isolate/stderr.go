package isolate

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"strings"
)

// Bounds of what is logged of a worker's standard error.
const (
	maxLine  = 1 << 10
	maxLines = 20
)

// stderr is what a worker says outside of the protocol: the Go runtime, or
// C++, at its end. It is logged, and tells whether memory was short.
type stderr struct {
	log   *slog.Logger
	lines int
	short bool
}

func newStderr(log *slog.Logger) *stderr { return &stderr{log: log} }

// read reads to the end.
func (s *stderr) read(r io.Reader) {
	in := bufio.NewReaderSize(r, maxLine)
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

// noMemory reports whether memory was short. Ask after read has returned.
func (s *stderr) noMemory() bool { return s.short }
