package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Editors write a file in several steps and some replace it by a rename; a
// change is reported after quietPeriod without events, at the latest after
// longestDelay.
const (
	quietPeriod  = 20 * time.Millisecond
	longestDelay = 200 * time.Millisecond
)

// clockStep is how far the file system's clock may lag behind the system's.
const clockStep = 10 * time.Millisecond

// watcher reports changes of a set of files. It watches their folders, to see
// renames and files that do not exist yet.
type watcher struct {
	fs    *fsnotify.Watcher
	log   *slog.Logger
	files map[string]stamp // what was loaded
	dirs  map[string]bool
	sets  chan watchSet
}

// watchSet is a set of files to watch, which were read after since.
type watchSet struct {
	files []string
	since time.Time
}

// stamp identifies a version of a file. Links are followed, so retargeting a link
// is a change. The zero stamp means that there is no file.
type stamp struct {
	size     int64
	modified time.Time
	inode    any
}

func newWatcher(log *slog.Logger) (*watcher, error) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch files: %w", err)
	}
	return &watcher{
		fs: notify, log: log, files: map[string]stamp{}, dirs: map[string]bool{},
		sets: make(chan watchSet, 1),
	}, nil
}

// watch replaces the set of files to watch. They were read after since: a later
// write is a change.
func (w *watcher) watch(files []string, since time.Time) {
	select {
	case <-w.sets: // an older set that run has not taken yet
	default:
	}
	w.sets <- watchSet{files, since}
}

// run calls changed for every change until ctx ends.
func (w *watcher) run(ctx context.Context, changed func()) {
	defer w.fs.Close()
	quiet, late := newStoppedTimer(), newStoppedTimer()
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-w.sets:
			w.set(s)
			w.check(changed)
		case err := <-w.fs.Errors:
			w.log.Warn("file watching missed events; checking all files", "error", err)
			quiet.Reset(quietPeriod)
		case <-w.fs.Events:
			if !quiet.Stop() {
				late.Reset(longestDelay)
			}
			quiet.Reset(quietPeriod)
		case <-quiet.C:
			late.Stop()
			w.check(changed)
		case <-late.C:
			quiet.Stop()
			w.check(changed)
		}
	}
}

func newStoppedTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// set watches the folders of the files. The current state of new files counts as
// loaded, unless they were written since the load began.
func (w *watcher) set(s watchSet) {
	known := w.files
	w.files = make(map[string]stamp, len(s.files))
	dirs := map[string]bool{}
	for _, f := range s.files {
		dirs[filepath.Dir(f)] = true
		is, ok := known[f]
		if !ok {
			if is = stampOf(f); is.modified.After(s.since.Add(-clockStep)) {
				is = stamp{}
			}
		}
		w.files[f] = is
	}
	w.follow(dirs)
}

// follow watches dirs; for one that does not exist, its nearest parent.
func (w *watcher) follow(dirs map[string]bool) {
	w.dirs = dirs
	watched := map[string]bool{}
	for d := range dirs {
		err := w.fs.Add(d) // also if it is watched: a folder created again is another one
		for p := d; err != nil && p != filepath.Dir(p); {
			p = filepath.Dir(p)
			if err2 := w.fs.Add(p); err2 == nil {
				watched[p] = true
				break
			}
		}
		if err == nil {
			watched[d] = true
		} else if !errors.Is(err, fs.ErrNotExist) {
			w.log.Warn("a folder cannot be watched; edits there need a reload", "folder", d, "error", err)
		}
	}
	for _, d := range w.fs.WatchList() {
		if !watched[d] {
			_ = w.fs.Remove(d) // the folder may be gone
		}
	}
}

// check calls changed if a file differs from what was loaded.
func (w *watcher) check(changed func()) {
	w.follow(w.dirs) // first, so that later writes cause an event
	var names []string
	for f, was := range w.files {
		if is := stampOf(f); is != was {
			w.files[f] = is
			names = append(names, f)
		}
	}
	if len(names) > 0 {
		slices.Sort(names)
		w.log.Debug("files changed", "files", names)
		changed()
	}
}

func stampOf(file string) stamp {
	info, err := os.Stat(file)
	if err != nil {
		return stamp{}
	}
	return stamp{info.Size(), info.ModTime(), inodeOf(info)}
}
