package snapshots

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spiced-sql/spiced/internal/data/copies"
	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/resource"
	"github.com/spiced-sql/spiced/internal/data/source/objectstore"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/spicepod"
)

// Load returns a version with the rows of the newest snapshot, or nil if the source must be
// loaded: there is none, or it cannot be used and a warning was logged. The error says that
// a later attempt may succeed. complete may change or reject the version.
func (s *Snapshots) Load(ctx context.Context, t Target, complete func(*tables.Version) error) (*tables.Version, error) {
	l, folder, ok := s.place(t.Table)
	if !ok || t.Acceleration == nil || !t.Acceleration.Snapshots.Loads() {
		return nil, nil
	}
	names, err := list(ctx, folder)
	if err != nil {
		return nil, s.failed(ctx, t, l.on, "", err)
	}
	for _, name := range names {
		v, err := s.load(ctx, t, folder, name)
		if err == nil {
			if err = complete(v); err == nil {
				s.Log.Info("loaded a snapshot", t.Kind, t.Name, "snapshot", name, "rows", v.Stats.Rows, "refreshed",
					v.Stats.Refreshed)
				s.Ended(ctx, t.Table, Loaded)
				return v, nil
			}
			resource.Release(v.Resources...)
		}
		if err = s.failed(ctx, t, l.on, name, err); err != nil || l.on != spicepod.SnapshotFallback {
			return nil, err
		}
	}
	if len(names) == 0 {
		s.Log.Info("there is no snapshot yet; the source is loaded", t.Kind, t.Name)
	}
	return nil, nil
}

// failed logs why a snapshot cannot be loaded. It returns an error if the load of the
// dataset must fail.
func (s *Snapshots) failed(ctx context.Context, t Target, on spicepod.SnapshotFailure, name string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var unusable *unusableError
	errors.As(err, &unusable)
	retry := on == spicepod.SnapshotRetry && unusable == nil
	next := "the source is loaded"
	switch {
	case retry:
		next = "it is tried again"
	case on == spicepod.SnapshotFallback && name != "":
		next = "an older one is tried, then the source is loaded"
	}
	if unusable != nil {
		err = unusable
	} else {
		err = t.Redact(ofStore(s.withoutDir(err)))
	}
	s.Log.Warn("cannot load a snapshot; "+next, t.Kind, t.Name, "snapshot", name, "error", err)
	s.Ended(ctx, t.Table, NotLoaded)
	if !retry {
		return nil
	}
	return fault.New("acceleration.snapshots",
		"set snapshots.bootstrap_on_failure_behavior to warn or fallback to load the source instead",
		"the newest snapshot cannot be loaded: %s", err).Retryable()
}

// list returns the names of the snapshots of a folder, the newest first.
func list(ctx context.Context, folder objectstore.Area) ([]string, error) {
	objects, err := folder.List(ctx, maxObjects)
	if err != nil {
		return nil, err
	}
	if len(objects) > maxObjects {
		return nil, damaged("the folder has more than %d objects; remove those that are not snapshots", maxObjects)
	}
	return finished(objects), nil
}

func (s *Snapshots) load(ctx context.Context, t Target, folder objectstore.Area, name string) (*tables.Version, error) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	var text bytes.Buffer
	if err := folder.Get(ctx, name+manifestEnd, &text, maxManifest); err != nil {
		return nil, err
	}
	m, err := parseManifest(text.Bytes())
	switch {
	case err != nil:
		return nil, err
	case m.Declaration != t.Declaration:
		return nil, &unusableError{fmt.Sprintf("the snapshot belongs to another declaration, of dataset %q", m.Dataset)}
	case m.Bytes > s.MaxBytes:
		return nil, &unusableError{fmt.Sprintf("it has %d bytes, and at most %d are loaded", m.Bytes, s.MaxBytes)}
	}
	file, err := s.temporary()
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if err := s.download(ctx, t, folder, name, m, file); err != nil {
		return nil, err
	}
	return s.restore(ctx, t, m, file.Name())
}

// download copies the rows of a snapshot to a file, and compares them with the checksum.
func (s *Snapshots) download(ctx context.Context, t Target, folder objectstore.Area, name string, m *manifest,
	file *os.File,
) error {
	step := s.Progress.Start(t.Name, "fetch", m.Bytes)
	defer step.End()
	sum := sha256.New()
	if err := folder.Get(ctx, name+rowsEnd, io.MultiWriter(file, sum, step), m.Bytes); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != m.SHA256 {
		return damaged("its rows are not those of its manifest: the checksum differs")
	}
	return file.Close()
}

// restore makes a version of the rows in a file.
func (s *Snapshots) restore(ctx context.Context, t Target, m *manifest, path string) (*tables.Version, error) {
	rows, err := m.readQuery(scan(path))
	if err != nil {
		return nil, err
	}
	l := copies.Load{Table: t.Table, Rows: rows}
	l.Step = s.Progress.Start(t.Name, "load", m.Bytes)
	var v *tables.Version
	if err := l.Step.Watch(func() error { v, err = s.Copies.Load(ctx, l); return err }); err != nil {
		return nil, err
	}
	if v.Stats.Rows != m.Rows {
		resource.Release(v.Resources...)
		return nil, damaged("it has %d rows, and its manifest says %d", v.Stats.Rows, m.Rows)
	}
	v.Stats.Refreshed, v.Changed = m.Refreshed, m.Changed
	if now := s.Clock.Now(); v.Stats.Refreshed.After(now) { // by another clock
		v.Stats.Refreshed, v.Changed = now, now
	} else if v.Changed.After(now) || v.Changed.Before(v.Stats.Refreshed) {
		v.Changed = v.Stats.Refreshed
	}
	v.Format, v.Restored = m.Source, true
	return v, nil
}
