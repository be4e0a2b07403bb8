package datasets

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/source"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/spicepod"
)

// caching are the settings of refresh_mode: caching.
type caching struct {
	ttl, stale   time.Duration
	staleIfError bool          // whatever their age
	errorTime    time.Duration // after ttl and stale, for which old rows are served after an error
	keep         time.Duration // how long rows are kept; 0: as long as there is room
	maxBytes     int64
	maxRows      int64
	resets       bool // rows of a snapshot are as new ones
}

const (
	cachingTTL   = 30 * time.Second
	cachingBytes = 256 << 20
	cachingRows  = 10_000_000
)

// cachingParams are those of an acceleration for refresh_mode: caching. Spice has them by
// these names.
var cachingParams = []string{
	"caching_ttl", "caching_item_ttl", "caching_stale_while_revalidate_ttl",
	"caching_stale_if_error", "caching_max_size", "caching_max_items",
}

// Bounds of the time between two checks for rows that are too old.
const (
	minExpiry = 30 * time.Second
	maxExpiry = time.Hour
)

// compileCaching checks the keys of an acceleration for requests, and returns those that
// are in effect.
func compileCaching(d *Dataset, s source.Source) (c caching, err error) {
	_, requests := s.(source.Requester)
	a := d.Acceleration
	on := a.RefreshMode == spicepod.RefreshCaching
	for key := range a.Params {
		switch {
		case !strings.HasPrefix(key, "caching_"):
		case !slices.Contains(cachingParams, key):
			return c, fault.OfKey("acceleration.params."+key,
				nearest.Hint(key, cachingParams, "there are "+strings.Join(cachingParams, ", ")), "unknown param %q", key)
		case !on:
			return c, fault.OfKey("acceleration.params."+key, "set acceleration.refresh_mode: caching",
				"%s has no effect with refresh_mode: %s", key, a.RefreshMode)
		}
	}
	switch {
	case on && !requests:
		return c, fault.New("acceleration.refresh_mode",
			"set params.allowed_request_paths of a dataset from http or https, or use full or append",
			"refresh_mode caching needs a dataset whose statements choose the requests")
	case !on && requests && a.RefreshSQL == "":
		return c, fault.New("acceleration.refresh_mode",
			"set refresh_mode: caching, or the requests in refresh_sql: SELECT * FROM "+d.Relation.Name+
				" WHERE request_path = '/…'", "refresh_mode %s does not know what to request", a.RefreshMode)
	case !on && a.SnapshotsResetExpiry == "enabled":
		return c, fault.OfKey("acceleration.snapshots_reset_expiry_on_load", "set refresh_mode: caching, or leave it out",
			"snapshots_reset_expiry_on_load has no effect with refresh_mode: %s", a.RefreshMode)
	case !on:
		return caching{ttl: cachingTTL, maxBytes: cachingBytes, maxRows: cachingRows}, nil
	case len(a.OnConflict) > 0:
		return c, fault.OfKey("acceleration.on_conflict",
			"leave it out: an answer replaces the rows of the last one to the request",
			"refresh_mode caching has no on_conflict")
	}
	if c, err = readCaching(a.Params); err != nil {
		return c, err
	}
	c.resets = a.SnapshotsResetExpiry == "enabled"
	if !c.staleIfError && !a.RetentionCheckEnabled {
		c.keep = c.ttl + c.stale + c.errorTime
		own := *a
		own.RetentionCheckEnabled, own.RetentionPeriod, own.RetentionCheckInterval = true, c.keep,
			min(max(c.keep, minExpiry), maxExpiry)
		d.Acceleration = &own
	}
	d.Declared.TimeColumn = cmp.Or(d.Declared.TimeColumn, source.FetchedColumn)
	return c, nil
}

// readCaching reads the params.
func readCaching(p spicepod.Params) (c caching, err error) {
	wrong := func(key string, err error) error {
		return fault.New("acceleration.params."+key, "", "%s", err)
	}
	duration := func(key string, fallback time.Duration) time.Duration {
		value, e := p.Duration(key, fallback)
		if e == nil && value < 0 {
			e = fault.New("", "", "%s must not be negative", key)
		}
		if e != nil && err == nil {
			err = wrong(key, e)
		}
		return value
	}
	c.ttl = duration("caching_ttl", duration("caching_item_ttl", cachingTTL))
	c.stale = duration("caching_stale_while_revalidate_ttl", 0)
	switch text, _ := p.String("caching_stale_if_error"); strings.ToLower(text) {
	case "enabled":
		c.staleIfError = true
	case "", "disabled":
	default:
		if c.errorTime = duration("caching_stale_if_error", 0); err != nil {
			return c, fault.New("acceleration.params.caching_stale_if_error",
				"write enabled, disabled or a duration such as 10m", "%q is not a value of caching_stale_if_error", text)
		}
	}
	c.maxBytes, c.maxRows = cachingBytes, cachingRows
	if p.Has("caching_max_size") {
		size, e := p.Value("caching_max_size", spicepod.ParamSize)
		if e != nil {
			return c, wrong("caching_max_size", e)
		}
		c.maxBytes = int64(size.(spicepod.Size))
	}
	rows, e := p.Int("caching_max_items", cachingRows)
	if e == nil && rows < 1 {
		e = fault.New("", "", "caching_max_items must be at least 1")
	}
	if e != nil && err == nil {
		err = wrong("caching_max_items", e)
	}
	c.maxRows = int64(rows)
	return c, err
}

// uncopied is the acceleration of a dataset without one whose statements choose the
// requests: answers are read for a second.
func uncopied() *spicepod.Acceleration {
	return &spicepod.Acceleration{
		Enabled: true, Engine: spicepod.EngineDuckDB, Mode: spicepod.ModeMemory, RefreshMode: spicepod.RefreshCaching,
		RefreshOnStartup: spicepod.RefreshAuto,
		Params:           spicepod.Params{"caching_ttl": json.Number("1")},
	}
}
