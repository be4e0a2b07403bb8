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

// helpers are the threads that execute the tasks of DuckDB's statements in addition to the thread
// that waits for the result. DuckDB has none itself: it would wake one for each task of a
// short statement, which costs more than the task. Helpers run while a statement runs
// that has not ended after helpAfter and that leaves processors unused.
type helpers struct {
	database unsafe.Pointer
	most     int

	mu      sync.Mutex
	left    sync.Cond      // no helper runs
	busy    int            // statements that run on their own thread
	wanted  int            // statements that want helpers
	state   unsafe.Pointer // DuckDB's, of the running helpers
	running int
	ending  bool // the running helpers will return

	// One timer is for all watched statements. It runs on for a period after the last of
	// them: most end soon, and to start a timer for each wakes a thread.
	watched map[*work]struct{}
	timer   *time.Timer // nil: it does not run
	used    bool        // a statement was watched in this period
}

// helpAfter is the time after which a statement gets helpers. It is also the period in
// which watched statements are looked at, so that they get them after up to twice the time.
const helpAfter = 2 * time.Millisecond

func newHelpers(database unsafe.Pointer, most int) *helpers {
	h := &helpers{database: database, most: most, watched: map[*work]struct{}{}}
	h.left.L = &h.mu
	return h
}

// work is the execution of a statement, for which helpers may run. Its fields are guarded
// by the helpers.
type work struct {
	helpers *helpers
	began   time.Time
	paused  bool
	wants   bool // helpers
}

// begin begins the execution of a statement. Its thread calls check between the tasks that
// it executes, or watch before it does something else.
func (h *helpers) begin() *work {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.busy++
	return &work{helpers: h, began: time.Now()}
}

// check asks for helpers if it is time to.
func (w *work) check() {
	if time.Since(w.began) < helpAfter {
		return
	}
	w.helpers.mu.Lock()
	defer w.helpers.mu.Unlock()
	w.ask()
}

// ask asks for helpers unless statements use all processors.
func (w *work) ask() {
	if h := w.helpers; !w.wants && h.busy <= h.most {
		w.wants = true
		h.wanted++
		h.adjust()
	}
}

// watch asks for helpers when it is time to.
func (w *work) watch() {
	h := w.helpers
	h.mu.Lock()
	defer h.mu.Unlock()
	if w.wants {
		return
	}
	h.watched[w], h.used = struct{}{}, true
	if h.timer == nil {
		h.timer = time.AfterFunc(helpAfter, h.look)
	}
}

// look asks for helpers for the watched statements.
func (h *helpers) look() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watched {
		if !w.paused && time.Since(w.began) >= helpAfter {
			w.ask()
		}
		if w.wants {
			delete(h.watched, w)
		}
	}
	if !h.used && len(h.watched) == 0 {
		h.timer = nil
		return
	}
	h.used = false
	h.timer.Reset(helpAfter)
}

// pause says that the statement waits for its reader.
func (w *work) pause() {
	w.helpers.mu.Lock()
	defer w.helpers.mu.Unlock()
	w.paused = true
	w.helpers.busy--
}

// resume says that the statement runs again.
func (w *work) resume() {
	w.helpers.mu.Lock()
	defer w.helpers.mu.Unlock()
	w.paused = false
	w.helpers.busy++
}

// end ends the execution, if there is one.
func (w *work) end() {
	if w == nil {
		return
	}
	h := w.helpers
	h.mu.Lock()
	defer h.mu.Unlock()
	h.busy--
	delete(h.watched, w)
	if w.wants {
		h.wanted--
		h.adjust()
	}
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
