package engine

/*
#include <stdint.h>

// The part of DuckDB's C API for threads of the application, which the bindings lack.
// They are weak because only the final link has DuckDB's code.
extern void *duckdb_create_task_state(void *database) __attribute__((weak));
extern void duckdb_execute_tasks_state(void *state) __attribute__((weak));
extern void duckdb_finish_execution(void *state) __attribute__((weak));
extern void duckdb_destroy_task_state(void *state) __attribute__((weak));
*/
import "C"

import (
	"sync"
	"time"
	"unsafe"
)

// helpers are the threads that execute the tasks of DuckDB's statements beside the thread
// that waits for the result. DuckDB has none itself: it would wake one for each task of a
// short statement, which costs more than the task. Helpers run while a statement runs
// that has not ended after helpAfter.
type helpers struct {
	database unsafe.Pointer
	most     int

	mu      sync.Mutex
	left    sync.Cond      // no helper runs
	wanted  int            // statements that want helpers
	state   unsafe.Pointer // DuckDB's, of the running helpers
	running int
	ending  bool // the running helpers will return
}

// helpAfter is the time after which a statement gets helpers.
const helpAfter = time.Millisecond

func newHelpers(database unsafe.Pointer, most int) *helpers {
	h := &helpers{database: database, most: most}
	h.left.L = &h.mu
	return h
}

// begin begins a statement. The caller ends it.
func (h *helpers) begin() (end func()) {
	timer := time.AfterFunc(helpAfter, func() { h.want(1) })
	return func() {
		if !timer.Stop() {
			h.want(-1) // perhaps before the other one
		}
	}
}

func (h *helpers) want(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wanted += n
	h.adjust()
}

// adjust starts or ends helpers. Those that are ending run to their end before others
// start, which would take the signals for them. It is called with the lock.
func (h *helpers) adjust() {
	switch {
	case h.wanted > 0 && h.running == 0 && h.most > 0:
		h.state, h.running, h.ending = C.duckdb_create_task_state(h.database), h.most, false
		for range h.most {
			go h.help(h.state)
		}
	case h.wanted <= 0 && h.running > 0 && !h.ending:
		h.ending = true
		C.duckdb_finish_execution(h.state)
	}
}

func (h *helpers) help(state unsafe.Pointer) {
	C.duckdb_execute_tasks_state(state)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.running--; h.running > 0 {
		return
	}
	C.duckdb_destroy_task_state(state)
	if h.adjust(); h.running == 0 {
		h.left.Broadcast()
	}
}

// wait returns when no helper runs. No statement may run.
func (h *helpers) wait() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.running > 0 {
		h.left.Wait()
	}
}
