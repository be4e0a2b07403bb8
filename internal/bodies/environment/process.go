package environment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// inherited are the variables of the runtime's environment that interpreters and installers
// see, in addition to those that begin with inheritedPrefixes. Others may be secrets.
var inherited = []string{
	"HOME", "LANG", "LC_ALL", "PATH", "TMPDIR", "USER", "LOGNAME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME",
	"APPDATA", "LOCALAPPDATA", "SYSTEMROOT", "TEMP", "TMP", "USERPROFILE",
}

// installerVariables are those that only installers see, which use the network.
var (
	installerVariables = []string{
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
		"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NETRC",
	}
	installerPrefixes = []string{"PIP_", "UV_", "SSL_"}
)

// environ returns the variables of a process; those of installers if it is one. withheld are
// the names of secrets of the Spicepod.
func environ(installer bool, withheld []string) []string {
	var list []string
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		passed := slices.Contains(inherited, name) || installer &&
			(slices.Contains(installerVariables, name) ||
				slices.ContainsFunc(installerPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }))
		if passed && !slices.Contains(withheld, name) && !slices.Contains(redirecting, name) {
			list = append(list, pair)
		}
	}
	return list
}

// command is a process of an interpreter or an installer.
type command struct {
	args     []string
	dir      string
	environ  []string
	stdin    []byte
	most     int  // bytes of the standard output
	keepTail bool // of the standard output, if it has more; else that is an error
}

// maxErrors is how many bytes of the standard error are kept: the last ones.
const maxErrors = 64 << 10

// errTooLong means that a process wrote more than it should.
var errTooLong = errors.New("its output is too long")

// processError is the error of a process, with what it wrote.
type processError struct {
	err    error
	output string // of both streams
}

func (e *processError) Error() string { return e.err.Error() }
func (e *processError) Unwrap() error { return e.err }

// run runs a process to its end, and returns its standard output. The error is a
// [*processError], or the cause of the end of ctx.
func (c command) run(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
	out := &bounded{most: c.most, tail: c.keepTail, over: func() { cancel(errTooLong) }}
	complaints := &bounded{most: maxErrors, tail: true}
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = c.dir, c.environ, bytes.NewReader(c.stdin),
		out, complaints, time.Second
	ownGroup(cmd)
	err := cmd.Run()
	if ctx.Err() != nil {
		if cause := context.Cause(ctx); !errors.Is(cause, errTooLong) {
			return nil, cause
		}
		err = errTooLong
	}
	if err != nil {
		return nil, &processError{fmt.Errorf("%s: %w", c.args[0], err), string(complaints.data) + "\n" + string(out.data)}
	}
	return out.data, nil
}

// bounded is a writer with a limit. Over it, the first bytes are dropped or over is called.
type bounded struct {
	data []byte
	most int
	tail bool
	over func()
}

// Write never fails, so that the process does not end because of it.
func (b *bounded) Write(p []byte) (int, error) {
	switch n := len(b.data) + len(p) - b.most; {
	case n <= 0:
		b.data = append(b.data, p...)
	case b.tail:
		b.data = append(b.data, p...)
		b.data = append(b.data[:0], b.data[n:]...)
	default:
		b.over()
	}
	return len(p), nil
}
