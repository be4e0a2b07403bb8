package sandbox

import (
	"os"
	"sync"
	"time"
)

// meter watches what a worker uses, during calls and after them.
type meter struct {
	worker *worker
	mu     sync.Mutex
	timer  *time.Timer
	turn   int  // of begin and end
	busy   bool // a call runs
	based  bool // base is known
	base   time.Duration
	pause  time.Duration
	over   bool
}

// Pauses between looks.
const (
	firstLook = 50 * time.Millisecond
	lastLook  = 200 * time.Millisecond
	idleLook  = time.Second
)

func (m *meter) begin() { m.set(true, firstLook) }

func (m *meter) end() { m.set(false, idleLook) }

func (m *meter) set(busy bool, pause time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over || m.worker.pool.off&layerMeter != 0 {
		return
	}
	m.turn++
	m.busy, m.based, m.pause = busy, false, pause
	if m.timer == nil {
		m.timer = time.AfterFunc(pause, m.look)
		return
	}
	m.timer.Reset(pause)
}

func (m *meter) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over = true
	if m.timer != nil {
		m.timer.Stop()
	}
}

// look kills the worker if it uses too much.
func (m *meter) look() {
	m.mu.Lock()
	turn, busy, o := m.turn, m.busy, &m.worker.pool.o
	m.mu.Unlock()
	used, ok := usageOf(m.worker.cmd.Process.Pid, o.Memory)
	if !ok {
		return // it has ended, or the system does not tell
	}
	files := tooMuch(m.worker.scratch, o.Memory)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over || m.turn != turn {
		return // for another call
	}
	idle := m.based && used.cpu == m.base
	if !m.based {
		m.based, m.base = true, used.cpu
	}
	switch {
	case used.memory > o.Memory:
		m.worker.kill(endMemory)
	case files:
		m.worker.kill(endFiles)
	case used.cpu-m.base > o.CPU:
		m.worker.kill(endCPU)
	case !busy && used.processes > max(1, o.Processes/2):
		m.worker.kill(endProcesses)
	case busy:
		m.pause = min(2*m.pause, lastLook)
		m.timer.Reset(m.pause)
	case !idle:
		m.timer.Reset(idleLook)
	}
}

// usage is what a worker uses with its children.
type usage struct {
	cpu       time.Duration
	memory    int64
	processes int
}

// maxDepth is how deep folders in a scratch folder may be nested.
const maxDepth = 64

// tooMuch reports whether a folder has more than bytes, or too many files. It follows no
// links.
func tooMuch(folder string, bytes int64) bool {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return false
	}
	defer root.Close()
	left, count := bytes, 0
	return measure(root, ".", &left, &count, 0)
}

// measure walks a folder until what is left is used up.
func measure(root *os.Root, name string, left *int64, count *int, depth int) bool {
	dir, err := root.Open(name)
	if err != nil {
		return false
	}
	defer dir.Close()
	for {
		entries, err := dir.ReadDir(256)
		for _, e := range entries {
			path := name + "/" + e.Name()
			*count++
			if info, err := root.Lstat(path); err == nil && info.Mode().IsRegular() {
				*left -= info.Size()
			}
			if *left < 0 || *count > maxFileCount || depth > maxDepth {
				return true
			}
			if e.IsDir() && measure(root, path, left, count, depth+1) {
				return true
			}
		}
		if err != nil {
			return false
		}
	}
}
