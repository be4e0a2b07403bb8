// Package sandbox runs code in worker processes that the system isolates.
//
// A [Pool] has the workers of one sandbox. A worker is this program, run again with a
// hidden command ([Main]), which confines itself and then executes the interpreter or
// the command of the sandbox. The code sees its interpreter, the system's libraries, a
// scratch folder and the environment that [Options] name: no other files, processes,
// variables or, without Network, sockets.
//
//	pool, err := sandbox.New(sandbox.Options{Name: "analytics", Command: python, Shim: shim})
//	defer pool.Close()
//	err = pool.Load(ctx, function)            // executes the code
//	values, err := pool.Call(ctx, function, batch)
//
// A worker runs one call at a time. One that exits, takes too much processor time or
// memory, or whose call is cancelled is killed with all its processes, and replaced by
// the next call.
package sandbox

import (
	"log/slog"
	"time"
)

// Options are the settings of a pool. The limits must be set, except for Load: their defaults are
// those of [spicepod.SandboxLimits].
type Options struct {
	Name     string   // of the sandbox, for messages and logs
	Command  []string // the interpreter with its arguments, or the command
	Lines    bool     // the command exchanges lines of JSON instead of frames; see lines.go
	Arrow    bool     // with Lines: rows and values are Arrow IPC streams
	Script   string   // instead of Command: a text that each worker executes as a file
	ReadOnly []string // files and folders that the code may read and execute
	Env      []string // NAME=value: all of the environment but PATH, HOME, TMPDIR and LANG
	Secrets  []string // values that errors and logs never show

	Memory    int64         // bytes of a worker with its processes
	CPU       time.Duration // processor time of a call
	Load      time.Duration // until the code of a function is loaded; 0: 10 s
	Processes int           // processes and threads of a worker
	Workers   int           // that run at once
	Output    int64         // bytes of the results of a call

	Network  bool     // the code may open connections
	Required bool     // refuse to run where the isolation is not full
	Shim     []string // the command that runs Main
	Metrics  Metrics  // nil: none
	Log      *slog.Logger
}

// Limits of the package.
const (
	maxWaiting   = 256              // calls that wait for a worker
	startTimeout = 20 * time.Second // of a worker until it answers
	maxFrame     = 1 << 30          // bytes of a request
	maxFailure   = 1 << 20          // bytes of the description of an error
	maxOpenFiles = 256              // of a worker's process
	maxFileCount = 10_000           // in the scratch folder of a worker
)

func (o Options) withDefaults() Options {
	if o.Load <= 0 {
		o.Load = 10 * time.Second
	}
	if o.Metrics == nil {
		o.Metrics = noMetrics{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}
