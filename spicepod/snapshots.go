package spicepod

import (
	"fmt"
	"time"
)

// Snapshots is the `snapshots:` section.
type Snapshots struct {
	Enabled                    bool            `yaml:"enabled" default:"true" doc:"Write and load snapshots. If false, no dataset does."`
	Location                   Text            `yaml:"location" doc:"A folder, relative to that of the Spicepod, or s3://bucket/folder/, gs://bucket/folder/ or abfs://container@account.dfs.core.windows.net/folder/. May contain references. Whoever can read it can read all rows of the datasets, also those that row_filter and column_mask hide."`
	BootstrapOnFailureBehavior SnapshotFailure `yaml:"bootstrap_on_failure_behavior" enum:"warn,retry,fallback" default:"warn" doc:"What a start does when the newest snapshot cannot be loaded: load the source (warn), try again until it can (retry), or try older ones, and then load the source (fallback)."`
	Keep                       int             `yaml:"keep" default:"3" min:"1" doc:"How many snapshots of a dataset are kept. Older ones are removed after a new one was written."`
	Params                     Params          `yaml:"params" doc:"Settings of the store, by the names of the connectors s3, gs and abfs. Default of s3_auth: key with s3_key, else iam_role. Strings may contain secret references."`
}

// SnapshotUse says what a dataset does with snapshots.
type SnapshotUse string

// Uses of snapshots. The empty one is SnapshotsDisabled.
const (
	SnapshotsDisabled  SnapshotUse = "disabled"
	SnapshotsEnabled   SnapshotUse = "enabled"
	SnapshotsBootstrap SnapshotUse = "bootstrap_only"
	SnapshotsCreate    SnapshotUse = "create_only"
)

// Loads reports whether snapshots are loaded.
func (u SnapshotUse) Loads() bool { return u == SnapshotsEnabled || u == SnapshotsBootstrap }

// Writes reports whether snapshots are written.
func (u SnapshotUse) Writes() bool { return u == SnapshotsEnabled || u == SnapshotsCreate }

// SnapshotFailure says what a start does when it cannot load a snapshot.
type SnapshotFailure string

// What a start does.
const (
	SnapshotWarn     SnapshotFailure = "warn"
	SnapshotRetry    SnapshotFailure = "retry"
	SnapshotFallback SnapshotFailure = "fallback"
)

// SnapshotTrigger says when snapshots are written.
type SnapshotTrigger string

// Triggers that are served.
const (
	SnapshotOnRefresh  SnapshotTrigger = "refresh_complete"
	SnapshotOnInterval SnapshotTrigger = "time_interval"
)

// SnapshotPolicy says whether equal rows are written again.
type SnapshotPolicy string

// Policies.
const (
	SnapshotOnChange SnapshotPolicy = "on_change"
	SnapshotAlways   SnapshotPolicy = "always"
)

// MinSnapshotGap is the least time between two snapshots of a dataset, which
// snapshots_trigger_threshold may make longer.
const MinSnapshotGap = time.Minute

// SnapshotGap returns the least time between two snapshots.
func (a *Acceleration) SnapshotGap() time.Duration {
	if a.SnapshotsTrigger == SnapshotOnInterval {
		return max(a.SnapshotsTriggerThreshold, MinSnapshotGap)
	}
	return MinSnapshotGap
}

// checkSnapshots checks the keys of an acceleration about snapshots.
func (d *decoder) checkSnapshots(a *Acceleration) {
	interval := a.SnapshotsTrigger == SnapshotOnInterval
	switch {
	case interval && a.SnapshotsTriggerThreshold == 0:
		d.failPath("snapshots_trigger", "time_interval needs snapshots_trigger_threshold",
			"set snapshots_trigger_threshold, for example to 10m")
	case interval && a.SnapshotsTriggerThreshold < MinSnapshotGap:
		d.failPath("snapshots_trigger_threshold",
			fmt.Sprintf("the interval is %s; it must be at least %s", a.SnapshotsTriggerThreshold, MinSnapshotGap), "")
	case a.SnapshotsTriggerThreshold != 0 && a.SnapshotsTrigger == SnapshotOnRefresh:
		d.failPath("snapshots_trigger_threshold", "snapshots_trigger refresh_complete has no threshold",
			"set snapshots_trigger: time_interval, or leave it out")
	}
}
