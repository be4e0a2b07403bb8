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
	"time"
)

// process is a command with its children and pipes.
type process struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	stderr *os.File
	said   *lines
	exited chan struct{} // closed when the process has ended
	fate   string        // set before exited is closed: how the process ended

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

// pipes starts the command. The pipes are files, so that Wait does not wait for
// children that hold them open.
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

// plainCause removes the path of the command from an error.
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

// wait records the end of the process, and kills the rest of the group.
func (p *process) wait() {
	_ = p.cmd.Wait()
	kill(p.cmd)
	p.fate = p.cmd.ProcessState.String()
	close(p.exited)
}

// stop ends the process in the three steps of the specification (2025-11-25,
// basic/lifecycle): close its input, terminate, kill.
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

// exits reports whether the process ends by itself within a time.
func (p *process) exits(within time.Duration) bool {
	select {
	case <-p.exited:
		return true
	case <-time.After(within):
		return false
	}
}

// readersEnd waits briefly for the last lines of stderr.
func (p *process) readersEnd(grace time.Duration) {
	_ = p.stderr.SetReadDeadline(time.Now().Add(grace))
	p.readers.Wait()
}

// lookPath finds the command on the PATH of the entry.
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

// environment is the inherited part of the runtime's environment and the
// variables of the entry.
func (t *target) environment() []string {
	env := []string{} // not nil: nil inherits the whole environment
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return append(env, t.env...) // the last value of a name applies
}
