package repl

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
)

// errPagerLeft means that the user left the pager before the end.
var errPagerLeft = errors.New("the pager was left")

// pager writes a result to the terminal, or to a program as soon as it has more lines
// than the terminal.
type pager struct {
	command string
	height  int // lines that need no program
	out     io.Writer

	first bytes.Buffer
	lines int
	run   *exec.Cmd // nil: not started
	in    io.WriteCloser
	plain bool // the program could not be started
}

func (p *pager) Write(text []byte) (int, error) {
	switch {
	case p.plain:
		return p.out.Write(text)
	case p.run == nil:
		p.first.Write(text)
		if p.lines += bytes.Count(text, []byte{'\n'}); p.lines > p.height {
			return len(text), p.start()
		}
		return len(text), nil
	}
	if _, err := p.in.Write(text); err != nil {
		return 0, errPagerLeft
	}
	return len(text), nil
}

// start runs the program with what was collected.
func (p *pager) start() error {
	run := exec.Command("sh", "-c", p.command)
	run.Stdout, run.Stderr = p.out, os.Stderr
	in, err := run.StdinPipe()
	if err == nil {
		err = run.Start()
	}
	if err != nil {
		p.plain = true
		_, err := p.first.WriteTo(p.out)
		return err
	}
	p.run, p.in = run, in
	if _, err := p.first.WriteTo(in); err != nil {
		return errPagerLeft
	}
	return nil
}

// Close writes what is left, or waits until the user leaves the program.
func (p *pager) Close() error {
	if p.run == nil {
		_, err := p.first.WriteTo(p.out)
		return err
	}
	_ = p.in.Close()
	_ = p.run.Wait() // its status says nothing about the result
	return nil
}
