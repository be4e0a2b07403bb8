package sandbox

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
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
	log  *slog.Logger
	mask func(string) string
	task sync.WaitGroup

	since   time.Time
	lines   int
	dropped int64 // bytes
	last    string
}

func (o *output) read(pipe io.Reader) {
	in := bufio.NewReaderSize(pipe, maxLine)
	for {
		line, err := in.ReadSlice('\n')
		o.add(line)
		for errors.Is(err, bufio.ErrBufferFull) {
			line, err = in.ReadSlice('\n')
			o.dropped += int64(len(line))
		}
		if err != nil {
			o.report()
			return
		}
	}
}

func (o *output) add(line []byte) {
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
	o.last = o.mask(text)
	o.log.Info("the code printed", "line", o.last)
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
