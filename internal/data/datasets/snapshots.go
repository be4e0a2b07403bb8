package datasets

import (
	"context"

	"github.com/spiced-sql/spiced/internal/data/snapshots"
	"github.com/spiced-sql/spiced/internal/data/tables"
	"github.com/spiced-sql/spiced/spicepod"
)

// snapshot returns what the snapshots of an accelerated dataset are of.
func (m *Manager) snapshot(d *Dataset) snapshots.Target {
	return snapshots.Target{
		Table: &d.Table, Declaration: snapshots.Identity(d.Declared, m.kind(d).Params), Time: d.time(),
		Redact: func(err error) error { return d.redacted(err) },
	}
}

// fromSnapshot returns a version with the rows of the newest snapshot; nil if the source
// must be loaded. A reload loads the source: its rows are newer.
func (d *Dataset) fromSnapshot(ctx context.Context, m *Manager) (*tables.Version, error) {
	m.mu.Lock()
	serves := m.liveDataset(tables.Key(d.Relation)) != nil
	m.mu.Unlock()
	if d.Acceleration == nil || m.opts.InPlace || serves {
		return nil, nil
	}
	return m.snapshots.Load(ctx, m.snapshot(d), func(v *tables.Version) error {
		return m.protect(ctx, d, v)
	})
}

// snapshotEnded returns [snapshots.Options.Ended].
func snapshotEnded(o Options) func(context.Context, *tables.Table, snapshots.Outcome) {
	return func(ctx context.Context, t *tables.Table, how snapshots.Outcome) {
		if how != snapshots.Loaded && how != snapshots.NotLoaded && o.Noted != nil { // otherwise it is not served yet
			o.Noted(ctx, t)
		}
		if o.Snapshot != nil {
			o.Snapshot(t, how)
		}
	}
}

// snapshotFault returns an error about the keys of an acceleration for snapshots.
func snapshotFault(pod *spicepod.Pod, a *spicepod.Acceleration) error {
	return snapshots.Check(a, pod.Snapshots != nil)
}
