package main

import (
	"flag"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/spiced-sql/spiced/internal/test/reserve"
)

// TestMain lets scripts run this program as spiced.
func TestMain(m *testing.M) {
	workers := []string{workerCommand, sandboxCommand, documentCommand} // of a runtime in this process
	if len(os.Args) >= 2 && slices.Contains(workers, os.Args[1]) {
		main()
		return
	}
	// Most tests wait for programs: twice as many of them as there are processors run at once.
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){"spiced": main})
}

// TestScripts runs testdata/script/*.txtar: each is a folder with a Spicepod
// and the commands that a user gives. -update rewrites expected output.
func TestScripts(t *testing.T) {
	examples, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("ROOT", examples+"/../..")
			free, unlock, err := reserve.Lock()
			if err != nil {
				return err
			}
			env.Setenv("ADDRESS", free) // for spiced serve
			env.Defer(unlock)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "ready": ready, "get": get},
	})
}

// exits runs a command and checks its exit status: exits 2 spiced --nosuch.
// Its output is there for stdout and stderr.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND [ARG ...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	status := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := err.(*exec.ExitError)
		if !ok {
			ts.Fatalf("%v", err)
		}
		status = exit.ExitCode()
	}
	if status != want {
		ts.Fatalf("exit status %d, want %d", status, want)
	}
}

// ready waits until a server answers that it is: ready http://host:port.
func ready(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: ready URL")
	}
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for late := time.After(patience); ; {
		resp, err := http.Get(args[0] + "/v1/ready")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-late:
			ts.Fatalf("no server at %s: %v", args[0], err)
		case <-again.C:
		}
	}
}

// get prints what an address answers, for stdout: get http://host:port/path.
func get(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: get URL")
	}
	client := http.Client{Timeout: patience}
	resp, err := client.Get(args[0])
	ts.Check(err)
	defer resp.Body.Close()
	_, err = io.Copy(ts.Stdout(), resp.Body)
	ts.Check(err)
}
