package sandbox_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/bodies/sandbox"
)

// The isolation that is shown is what the kernel reports for a worker.
func TestIsolationIsMeasured(t *testing.T) {
	o := options(t)
	p := newPool(t, o)
	i := p.Isolation()
	if got := sandbox.Probe(o.Shim); !slices.Equal(got.On, i.On) {
		t.Errorf("the probe has %q, the pool %q", got.On, i.On)
	}
	got, err := run(t, p, "try: open('/etc/passwd'); files = 'open'\nexcept PermissionError: files = 'closed'\n"+
		"return ' '.join([files, str(ctypes.CDLL(None).prctl(21, 0, 0, 0, 0)), str(os.getpid() == 1), str(os.getuid())])")
	if err != nil {
		t.Fatal(err)
	}
	facts := strings.Fields(got)
	for _, c := range []struct {
		layer string
		holds bool
	}{
		{"Landlock", facts[0] == "closed"},
		{"seccomp", facts[1] == "2"}, // PR_GET_SECCOMP: a filter
		{"PID namespace", facts[2] == "True"},
		{"another user", os.Getuid() == 0 && facts[3] == "65534"},
	} {
		shown := slices.ContainsFunc(i.On, func(on string) bool { return strings.HasPrefix(on, c.layer) })
		if shown != c.holds {
			t.Errorf("%s: shown %t, holds %t (%s)", c.layer, shown, c.holds, got)
		}
	}
}

// A machine that lacks a part shows it as missing.
func TestIsolationWithoutALayer(t *testing.T) {
	o := options(t)
	if full := sandbox.Probe(o.Shim); len(full.Missing) > 0 {
		t.Skipf("this system lacks %q", full.Missing)
	}
	for _, c := range []struct {
		off     sandbox.Layer
		full    bool
		missing string
	}{
		{sandbox.Files, false, "Landlock (Linux 6.2 or later"},
		{sandbox.Calls, false, "seccomp filters"},
		{sandbox.Spaces, true, "user namespaces"},
		{sandbox.PIDs, true, "PID namespaces"},
	} {
		p, err := sandbox.NewWithout(o, c.off)
		if err != nil {
			t.Fatal(err)
		}
		i := p.Isolation()
		p.Close()
		if i.Full != c.full || len(i.Missing) == 0 || !strings.HasPrefix(i.Missing[0], c.missing) {
			t.Errorf("without %b: %+v", c.off, i)
		}
	}
	if i := sandbox.Probe(nil); i.Full || len(i.On) > 0 || len(i.Missing) < 4 {
		t.Errorf("without a command that confines itself: %+v", i)
	}
	if i := sandbox.Probe([]string{"/bin/false"}); i.Full || len(i.On) > 0 {
		t.Errorf("with a command that confines nothing: %+v", i)
	}
	o.Network = true
	if i := newPool(t, o).Isolation(); !i.Full || !slices.Contains(i.On, "user, IPC and UTS namespaces") {
		t.Errorf("with the network: %+v", i)
	}
}
