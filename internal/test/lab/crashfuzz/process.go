package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"
)

// childVariable makes this binary a child.
const childVariable = "SPICED_CRASHFUZZ_CHILD"

// answerTime is how long a child may take for a statement: until it reports that it
// cannot interrupt it, on a busy machine.
const answerTime = 30 * time.Second

// child is a process that runs statements.
type child struct {
	cmd      *exec.Cmd
	requests *json.Encoder
	input    io.Closer
	answers  chan answer // closed when the process ends
	errors   startOf
}

func startChild(ctx context.Context) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.CommandContext(ctx, self), answers: make(chan answer)}
	c.cmd.Env = append(os.Environ(), childVariable+"=1", "GOTRACEBACK=none")
	c.cmd.Stderr = &c.errors
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.requests, c.input = json.NewEncoder(in), in
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(c.answers)
		for answers := json.NewDecoder(out); ; {
			var a answer
			if answers.Decode(&a) != nil {
				return
			}
			c.answers <- a
		}
	}()
	return c, nil
}

// run runs a statement. If the process ends, ok is false and the class of the end is
// returned; "" if it cannot be the statement's.
func (c *child) run(r request) (a answer, class string, ok bool) {
	if c.requests.Encode(r) != nil {
		return a, c.end(), false
	}
	timer := time.NewTimer(answerTime)
	defer timer.Stop()
	select {
	case a, ok = <-c.answers:
		if !ok {
			return a, c.end(), false
		}
		switch {
		case a.Wrong != "":
			class = a.Wrong
		case a.Peak > mostMemory:
			class = memoryClass
		case a.Hangs:
			class = hang
		}
		return a, class, true
	case <-timer.C:
		c.close()
		return a, hang, false
	}
}

// outOfMemory is what a process that gets no more memory writes when it ends.
var outOfMemory = regexp.MustCompile(`(?i)out of memory|bad_alloc|cannot allocate|pthread_create failed`)

// end waits for the end of the process and returns its class.
func (c *child) end() string {
	err := c.close()
	var exit *exec.ExitError
	switch {
	case outOfMemory.Match(c.errors.text()):
		return memoryClass
	case errors.As(err, &exit):
		return crash
	}
	return ""
}

// close ends the process: by the end of its input if it reads it, else it is killed.
func (c *child) close() error {
	c.input.Close()
	timer := time.AfterFunc(time.Second, func() { _ = c.cmd.Process.Kill() })
	defer timer.Stop()
	for range c.answers {
	}
	return c.cmd.Wait()
}

// startOf keeps the begin of what is written.
type startOf struct {
	mu  sync.Mutex
	all bytes.Buffer
}

// Write implements [io.Writer].
func (t *startOf) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all.Write(p[:min(len(p), max(0, 64<<10-t.all.Len()))])
	return len(p), nil
}

func (t *startOf) text() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.all.Bytes())
}

// firstLine is the first line that a process wrote when it ended.
func (c *child) firstLine() string {
	line, _, _ := strings.Cut(string(c.errors.text()), "\n")
	return line
}
