package environment

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/disk"
	"github.com/spiced-sql/spiced/internal/kit/scratch"
)

// How long packages that no process uses are kept: in the state directory, which belongs to one
// Spicepod, and in the folder of the user, which several share.
const (
	keepInState  = time.Hour
	keepOfUser   = 30 * 24 * time.Hour
	touchEvery   = time.Hour
	folderOfUser = "spiced"
	folder       = "environments"
)

// Store installs packages, each set of them once, and remembers what is known of code. It is
// safe for concurrent use, also by several processes.
//
// The packages of an environment are in a folder with the name of its key, in which they were
// installed: scripts in it have its path. The file KEY.json is written last: without it the
// folder is left over from a build that was interrupted.
type Store struct {
	dir     string // "": there is none
	ofState bool   // dir is in the state directory
	keep    time.Duration
	salt    string // of versions: no one can guess secrets by them

	closed  chan struct{} // ends the builds; see [Store.Close]
	running sync.WaitGroup

	mu     sync.Mutex
	python *Python
	facts  map[string]checked // by interpreter and source
	builds map[string]*building
	used   map[string]*os.File // folders, locked so that no process removes them
}

// building is a build that runs.
type building struct {
	done chan struct{}
	err  error // once done is closed
}

// NewStore returns the store in a state directory, or with "" that of the user, which is in their
// cache folder. Nothing is created before the first build.
func NewStore(stateDir string) *Store {
	s := &Store{
		salt: rand.Text(), closed: make(chan struct{}), facts: map[string]checked{},
		builds: map[string]*building{}, used: map[string]*os.File{},
	}
	if stateDir != "" {
		s.dir, s.ofState, s.keep = filepath.Join(stateDir, folder), true, keepInState
	} else if cache, err := os.UserCacheDir(); err == nil {
		s.dir, s.keep = filepath.Join(cache, folderOfUser, folder), keepOfUser
	}
	return s
}

// Close ends the builds that run, waits for them, and ends the use of packages. Only the first
// call has an effect.
func (s *Store) Close() {
	s.mu.Lock()
	if !s.isClosed() {
		close(s.closed)
	}
	s.mu.Unlock()
	s.running.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, folder := range s.used {
		folder.Close()
		delete(s.used, key)
	}
}

func (s *Store) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

// Record is what is known of installed packages.
type Record struct {
	Requirements []string  `json:"requirements"`
	Python       string    `json:"python"`
	Installer    string    `json:"installer"`
	Packages     []Package `json:"packages"`
	Modules      []string  `json:"modules"`
	Built        time.Time `json:"built"`
}

// Package is a package of a lock.
type Package struct {
	Name    string   `json:"name"`
	Version string   `json:"version"`
	SHA256  []string `json:"sha256"` // of the wheels that are accepted
}

// Record returns what is known of the installed packages.
func (e *Environment) Record() (Record, bool) {
	if e.buildKey == "" {
		return Record{}, false
	}
	return e.store.record(e.buildKey)
}

func (s *Store) record(key string) (r Record, found bool) {
	err := disk.ReadJSON(s.recordFile(key), &r)
	return r, err == nil
}

func (s *Store) folder(key string) string     { return filepath.Join(s.dir, key) }
func (s *Store) recordFile(key string) string { return s.folder(key) + ".json" }

// interpreter returns the path of the interpreter that finds the packages.
func (s *Store) interpreter(key string) string { return interpreterIn(s.folder(key)) }

// interpreterIn returns the path of the interpreter of a virtual environment.
func interpreterIn(dir string) string {
	if runtime.GOOS == "windows" {
		return filepath.Join(dir, "Scripts", "python.exe")
	}
	return filepath.Join(dir, "bin", "python")
}

// has reports whether packages are installed.
func (s *Store) has(key string) bool {
	if s.dir == "" {
		return false
	}
	_, err := os.Stat(s.recordFile(key))
	if err == nil {
		_, err = os.Stat(s.interpreter(key))
	}
	return err == nil
}

// BuiltFile is the file that each build writes at its end, for watchers; "": there is none.
func (s *Store) BuiltFile() string {
	if s.dir == "" {
		return ""
	}
	return filepath.Join(s.dir, "built")
}

// findPython returns the interpreter. It is looked for again only if it was not found.
func (s *Store) findPython(ctx context.Context) (*Python, error) {
	s.mu.Lock()
	python := s.python
	s.mu.Unlock()
	if python != nil {
		return python, nil
	}
	python, err := findPython(ctx)
	if err == nil {
		s.mu.Lock()
		s.python = python
		s.mu.Unlock()
	}
	return python, err
}

// factsOf returns what is known of the code of functions. Only the facts of these are cached.
func (s *Store) factsOf(ctx context.Context, p *Python, list []*Function) map[*Function]checked {
	known, keys, next := map[*Function]checked{}, map[*Function]string{}, map[string]checked{}
	var fresh []*Function
	var sources []string
	s.mu.Lock()
	for _, f := range list {
		code := f.Declared.Body
		keys[f] = newSum(p.Executable, p.Version, code).hex()
		k, ok := s.facts[keys[f]]
		switch {
		case ok:
			known[f], next[keys[f]] = k, k
		case len(code) > maxSource:
			known[f] = checked{err: fmt.Errorf("it has %d bytes; the limit is %d", len(code), maxSource)}
		default:
			fresh, sources = append(fresh, f), append(sources, code)
		}
	}
	s.mu.Unlock()
	if len(fresh) > 0 {
		for i, k := range readFacts(ctx, p, sources) {
			known[fresh[i]] = k
			if k.err == nil {
				next[keys[fresh[i]]] = k
			}
		}
	}
	s.mu.Lock()
	s.facts = next
	s.mu.Unlock()
	return known
}

// use begins the use of packages, until the store is closed: versions of functions that a load
// replaces may still need them.
func (s *Store) use(key string) {
	if !s.has(key) {
		return
	}
	dir := s.folder(key)
	s.mu.Lock()
	if s.used[key] == nil {
		if folder, err := share(dir); err == nil {
			s.used[key] = folder
		}
	}
	s.mu.Unlock()
	if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > touchEvery {
		_ = os.Chtimes(dir, time.Time{}, time.Now())
	}
}

// Collect removes packages that no process uses or has used for a while, and what interrupted
// builds left. It does nothing while a build runs.
func (s *Store) Collect() (removed []string) {
	if _, err := os.Stat(s.dir); s.dir == "" || err != nil {
		return nil
	}
	lock, err := scratch.LockFile(filepath.Join(s.dir, "lock"))
	if err != nil {
		return nil
	}
	defer lock.Close()
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		key, isRecord := strings.CutSuffix(entry.Name(), ".json")
		switch {
		case len(key) != digits:
		case isRecord:
			if info, err := os.Stat(s.folder(key)); err != nil || time.Since(info.ModTime()) > s.keep {
				removed = append(removed, key)
			}
		case entry.IsDir() && !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == key+".json" }):
			removed = append(removed, key)
		}
	}
	return slices.DeleteFunc(removed, func(key string) bool {
		folder, err := claim(s.folder(key))
		if err == nil {
			defer folder.Close()
		}
		return err != nil && !errors.Is(err, os.ErrNotExist) || s.remove(key) != nil
	})
}

// remove removes the packages of a key; the record first, so that no one uses the rest.
func (s *Store) remove(key string) error {
	err := os.Remove(s.recordFile(key))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, os.RemoveAll(s.folder(key)))
}
