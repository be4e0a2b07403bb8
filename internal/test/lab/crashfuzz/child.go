package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/measure"
)

// Limits of a child.
const (
	duckMemory = "256MB"
	dataBytes  = 3 << 30 // RLIMIT_DATA
	callTime   = 500 * time.Millisecond
	patience   = 2 * time.Second // after callTime; a statement that still runs then cannot be interrupted
	mostRows   = 20_000
)

// request asks a child to run a statement.
type request struct {
	SQL   string
	Guard bool // judge the statement first, as the runtime does with a caller's
}

// answer is what a statement did that did not end its process.
type answer struct {
	Error string `json:",omitempty"`
	Code  string `json:",omitempty"`
	Hangs bool   `json:",omitempty"`
	Slow  bool   `json:",omitempty"` // it did not end at its time limit
	Wrong string `json:",omitempty"` // class of an error after which the process is of no use
	Peak  int64  // memory in bytes, above that before the statement; 0 if unknown
}

// serve is a child process: it runs the statements that it reads and writes answers.
func serve(ctx context.Context, in io.Reader, out io.Writer) error {
	if err := limitMemory(dataBytes); err != nil {
		return err
	}
	db, err := openDB(ctx, 2)
	if err != nil {
		return err
	}
	if err := db.Lock(nil); err != nil {
		return err
	}
	requests, answers := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	for {
		var r request
		if err := requests.Decode(&r); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := answers.Encode(answerTo(ctx, db, r)); err != nil {
			return err
		}
	}
}

// corrupted are errors of statements that read memory that is not theirs.
var corrupted = regexp.MustCompile(`basic_string|_M_|detected in value construction|std::length_error|unrecognized enum value|name INVALID|Invalid PhysicalType`)

func openDB(ctx context.Context, threads int) (*engine.DB, error) {
	return engine.Open(ctx, engine.Options{
		Threads: threads, MemoryLimit: duckMemory, Connections: 1, Grace: patience,
		Limits: engine.Limits{Timeout: callTime, MaxRows: mostRows},
	})
}

func answerTo(ctx context.Context, db *engine.DB, r request) answer {
	before, began := resetPeak(), time.Now()
	err := measure.Read(ctx, db, engine.Request{SQL: r.SQL, Trusted: !r.Guard})
	if err != nil && strings.Contains(err.Error(), "cannot be returned") {
		err = measure.Read(ctx, db, engine.Request{SQL: "SELECT COLUMNS(*) IS NULL FROM (" + r.SQL + " OFFSET 0)", Trusted: !r.Guard})
	}
	a := answer{Hangs: hangs(db, began)}
	a.Slow = time.Since(began) > callTime+patience
	if err != nil {
		e := engine.AsError(err)
		a.Error, a.Code = e.Error(), string(e.Code)
		switch alive := measure.Read(ctx, db, engine.Request{SQL: "SELECT 1", Trusted: true}); {
		case corrupted.MatchString(a.Error):
			a.Wrong = crash
		case alive != nil && strings.Contains(alive.Error(), "invalidated"):
			a.Wrong = invalidates
		}
	}
	a.Peak = max(0, memory("VmHWM")-before)
	return a
}

// hangs waits for the end of a statement that began at that time, and reports whether
// there is none: it takes processor time for longer than patience after its limit. On
// a busy machine that takes longer.
func hangs(db *engine.DB, began time.Time) bool {
	before := cpuTime()
	for !db.Quiet(patience / 8) {
		if over := time.Since(began) - callTime; over > 8*patience || over > patience && cpuTime()-before > patience {
			return true
		}
	}
	return false
}

// resetPeak resets the peak of the process's memory, where the system can, and
// returns its memory now.
func resetPeak() int64 {
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	return memory("VmRSS")
}

// memory returns a field of /proc/self/status in bytes, 0 if unknown.
func memory(field string) int64 {
	n, _ := measure.Memory(os.Getpid(), field)
	return n
}
