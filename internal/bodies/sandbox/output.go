package sandbox

import (
	"bufio"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Limits of what is logged of what the code prints.
const (
	maxLine   = 1 << 10     // bytes
	maxLines  = 50          // in a logPeriod
	logPeriod = time.Minute // of one worker
)

// output logs what the code of a worker prints, and reads on beyond the limits, so that
// the code never waits for the log.
type output struct {
	pipe *os.File
	log  *slog.Logger
	mask func(string) string
	task sync.WaitGroup

	since   time.Time
	lines   int
	dropped int64 // bytes
	added   int64 // bytes

	mu    sync.Mutex
	taken int64 // bytes of the pipe
	began bool  // a call began
	call  int64 // the byte at which the output of the current call begins
	last  string
}

// begin is called before a call: what has been printed is not of that call. What a worker
// prints before its first call, at its start, may be why that fails.
func (o *output) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.began {
		o.call, o.last = o.taken+int64(unread(o.pipe)), ""
	}
	o.began = true
}

// lastLine is the last line that the current call printed, "" if there is none.
func (o *output) lastLine() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last
}

func (o *output) read() {
	in := bufio.NewReaderSize(o, maxLine)
	for {
		line, err := in.ReadSlice('\n')
		o.add(line)
		for errors.Is(err, bufio.ErrBufferFull) {
			line, err = in.ReadSlice('\n')
			o.dropped += int64(len(line))
			o.added += int64(len(line))
		}
		if err != nil {
			o.report()
			return
		}
	}
}

func (o *output) add(line []byte) {
	start := o.added
	o.added += int64(len(line))
	if o.lines >= maxLines {
		if time.Since(o.since) < logPeriod {
			o.dropped += int64(len(line))
			return
		}
		o.report()
		o.lines = 0
	}
	text := strings.TrimSpace(strings.ToValidUTF8(string(line), "\uFFFD"))
	if text == "" {
		return
	}
	if o.lines == 0 {
		o.since = time.Now()
	}
	o.lines++
	text = o.mask(text)
	o.log.Info("the code printed", "line", text)
	o.mu.Lock()
	defer o.mu.Unlock()
	if start >= o.call {
		o.last = text
	}
}

func (o *output) report() {
	if o.dropped > 0 {
		o.log.Warn("the code printed more than is logged", "bytes", o.dropped)
		o.dropped = 0
	}
}

// masker returns what replaces secrets in texts.
func masker(secrets []string) func(string) string {
	secrets = slices.Clone(secrets)
	secrets = slices.DeleteFunc(secrets, func(s string) bool { return s == "" })
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // a secret may contain another
	var pairs []string
	for _, s := range secrets {
		pairs = append(pairs, s, "***")
		if lines := strings.Split(s, "\n"); len(lines) > 1 { // what is printed is masked line by line
			for _, line := range lines {
				if line = strings.TrimSpace(line); len(line) >= 8 {
					pairs = append(pairs, line, "***")
				}
			}
		}
	}
	return strings.NewReplacer(pairs...).Replace
}
