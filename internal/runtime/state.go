package runtime

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/spiced-sql/spiced/internal/kit/scratch"
)

// state is the folder of cached and accelerated data.
type state struct {
	dir   string
	lock  *os.File     // nil: temp is set
	temp  *scratch.Dir // nil: the folder outlives the run
	fault error        // why the folder is not used, or nil
}

// openState opens the folder, or one for this run only if path is "". If the folder
// cannot be used, the runtime serves from one for this run; a folder that another
// process uses is refused.
func openState(path string, log *slog.Logger) (s state, err error) {
	if path != "" {
		if s.dir, s.lock, err = lockState(path); err == nil {
			return s, nil
		}
		if errors.Is(err, scratch.ErrLocked) {
			return s, err
		}
		s.fault = fmt.Errorf("data and usage counts are kept for this run only: %w", err)
		log.Warn("cannot use the state directory; data and usage counts are kept for this run only", "error", err)
	}
	if s.temp, err = scratch.New("state"); err != nil {
		return s, err
	}
	s.dir = s.temp.Path
	return s, nil
}

// lockState locks the folder and makes the folders in it that DuckDB needs.
func lockState(path string) (dir string, lock *os.File, err error) {
	if dir, err = filepath.Abs(path); err != nil {
		return "", nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, fmt.Errorf("make the state directory: %w", err)
	}
	lock, err = scratch.LockFile(filepath.Join(dir, "lock"))
	if errors.Is(err, scratch.ErrLocked) {
		return "", nil, fmt.Errorf("lock state directory %q: %w", dir, err)
	}
	if err != nil {
		return "", nil, fmt.Errorf("lock the state directory: %w", err)
	}
	for _, name := range []string{"accelerated", "http", "results", "workers"} {
		folder := filepath.Join(dir, name)
		err := os.MkdirAll(folder, 0o700)
		if err == nil {
			_, err = os.ReadDir(folder)
		}
		if err != nil {
			lock.Close()
			return "", nil, fmt.Errorf("make a folder of the state directory: %w", err)
		}
	}
	return dir, lock, nil
}

// close unlocks the folder, or removes it if it is for this run only.
func (s state) close() {
	if s.lock != nil {
		s.lock.Close()
	}
	s.temp.Remove()
}

// Fault is something optional that fails while the runtime serves.
type Fault struct {
	Component string // such as: usage
	Err       error
}

// faults are the faults that last until they are reported as repaired.
type faults struct {
	mu  sync.Mutex
	all map[string]error // by component
}

// SetFault reports that something optional fails, or with nil that it works again.
func (f *faults) SetFault(component string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil {
		f.all = map[string]error{}
	}
	if f.all[component] = err; err == nil {
		delete(f.all, component)
	}
}

// Faults returns what fails now, sorted by component.
func (s *services) Faults() []Fault {
	s.SetFault("usage", s.tools.usage.Fault())
	s.SetFault("approvals", s.tools.approvals.Fault())
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	var list []Fault
	for _, component := range slices.Sorted(maps.Keys(s.faults.all)) {
		list = append(list, Fault{component, s.faults.all[component]})
	}
	models := s.tools.registry.EmbeddingFaults()
	for _, name := range slices.Sorted(maps.Keys(models)) {
		list = append(list, Fault{"embedding " + name, models[name]})
	}
	return list
}
