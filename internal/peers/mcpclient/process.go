package mcpclient

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// process is a command with its children, and the pipes to it.
type process struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	stderr *os.File
	said   *lines
	exited chan struct{} // closed when it has ended
	fate   string        // set before exited is closed: how it ended

	overlong atomic.Bool // it sent a message beyond [maxMessage]

	readers sync.WaitGroup
}

// start runs the command of a target.
func start(t *target, said *lines) (*process, error) {
	path, err := t.lookPath()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(path, t.args...), said: said, exited: make(chan struct{})}
	p.cmd.Dir, p.cmd.Env = t.dir, t.environment()
	ownGroup(p.cmd)
	if err := p.pipes(); err != nil {
		return nil, err
	}
	p.readers.Go(func() { said.read(p.stderr, "stderr") })
	go p.wait()
	return p, nil
}

// pipes starts the command. Its ends of the pipes are files, so that waiting
// for it does not wait for children that hold them open.
func (p *process) pipes() (err error) {
	var theirs [3]*os.File
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
		if err != nil {
			p.closePipes()
		}
	}()
	if theirs[0], p.stdin, err = os.Pipe(); err != nil {
		return err
	}
	if p.stdout, theirs[1], err = os.Pipe(); err != nil {
		return err
	}
	if p.stderr, theirs[2], err = os.Pipe(); err != nil {
		return err
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirs[0], theirs[1], theirs[2]
	if err = p.cmd.Start(); err != nil {
		return fmt.Errorf("the command cannot be started: %w", plainCause(err))
	}
	return nil
}

// plainCause leaves the path of the command out.
func plainCause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

func (p *process) closePipes() {
	p.stdin.Close()
	p.stdout.Close()
	p.stderr.Close()
}

// wait takes note of the end. What the process leaves behind in its group ends
// with it.
func (p *process) wait() {
	_ = p.cmd.Wait()
	kill(p.cmd)
	p.fate = p.cmd.ProcessState.String()
	close(p.exited)
}

// stop ends the process in the three steps of the specification (2025-11-25,
// basic/lifecycle): its input ends, it is asked to, it is killed.
func (p *process) stop(grace time.Duration) {
	p.stdin.Close()
	for _, step := range []func(*exec.Cmd){terminate, kill} {
		if !p.exits(grace) {
			step(p.cmd)
		}
	}
	<-p.exited
	p.readersEnd(grace)
	p.closePipes()
	p.readers.Wait()
}

// exits waits a moment for the process to end by itself.
func (p *process) exits(within time.Duration) bool {
	select {
	case <-p.exited:
		return true
	case <-time.After(within):
		return false
	}
}

// readersEnd gives the last lines of stderr a moment to be read.
func (p *process) readersEnd(grace time.Duration) {
	_ = p.stderr.SetReadDeadline(time.Now().Add(grace))
	p.readers.Wait()
}

// lookPath finds the command, on the PATH that it is given.
func (t *target) lookPath() (string, error) {
	if strings.ContainsRune(t.command, filepath.Separator) {
		path, err := exec.LookPath(t.command)
		if err != nil {
			return "", fmt.Errorf("there is no command at %q", t.command)
		}
		return path, nil
	}
	list := os.Getenv("PATH")
	for _, variable := range t.env {
		if own, ok := strings.CutPrefix(variable, "PATH="); ok {
			list = own
		}
	}
	for _, dir := range filepath.SplitList(list) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(dir, t.command)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no command %q on the PATH", t.command)
}

// environment is a small part of ours and what the entry declares.
func (t *target) environment() []string {
	env := []string{} // not nil, which stands for all of ours
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return append(env, t.env...) // the last of a name counts
}
