package sqlapi

import (
	"reflect"
	"time"

	"github.com/spiced-sql/spiced/internal/data/rowsearch"
)

// How often states are compared: while something loads, else, and at most, so that comparing takes at most a
// fiftieth of a processor.
const (
	sampleBusy  = 250 * time.Millisecond
	sampleIdle  = time.Second
	sampleShare = 50
)

// sampler publishes changes of what has a state: datasets, search indexes, and approvals, which
// expire. The runtime pokes the feed when a state may have changed; progress, and what changes without
// telling, is found by comparing.
type sampler struct {
	*eventsHandler
	datasets map[string]*sampled[Dataset]
	indexes  map[string]*sampled[SearchIndex]
	status   map[string]*sampled[statusEvent] // one
	expired  time.Time                        // until when approvals were checked
}

// sampled is a state as it was last published.
type sampled[T any] struct {
	state T
	at    time.Time
	live  bool // it was in the last sample
}

// sample compares until stop is closed.
func (h *eventsHandler) sample(begun func(), stop <-chan struct{}) {
	s := &sampler{
		eventsHandler: h, datasets: map[string]*sampled[Dataset]{}, indexes: map[string]*sampled[SearchIndex]{},
		status: map[string]*sampled[statusEvent]{}, expired: time.Now(),
	}
	s.compare(func(any, int) {})
	begun()
	next := time.NewTimer(0)
	defer next.Stop()
	for {
		select {
		case <-stop:
			return
		case <-h.feed.Poked():
		case <-next.C:
		}
		began, every := time.Now(), sampleIdle
		if s.compare(h.feed.Publish) {
			every = sampleBusy
		}
		next.Reset(max(every, sampleShare*time.Since(began)))
	}
}

// compare publishes what has changed, and reports whether something has progress.
func (s *sampler) compare(publish func(any, int)) (busy bool) {
	for _, d := range s.inventory.Datasets() {
		busy = busy || d.Status == StatusInitializing || d.Status == StatusRefreshing
		if changed(s.datasets, d.Name, d, datasetWithoutProgress) {
			publish(d, 256+len(d.Name)+len(d.From)+len(d.Description)+len(d.Error))
		}
	}
	for _, x := range s.inventory.SearchIndexes() {
		busy = busy || x.State == string(rowsearch.Building) || x.State == string(rowsearch.Updating)
		if changed(s.indexes, x.Table, x, indexWithoutProgress) {
			publish(x, 512)
		}
	}
	now := statusEvent{s.inventory.Ready(), withProblems(s.inventory.Components(), s.inventory.Problems())}
	if changed(s.status, "", now, func(statusEvent) statusEvent { return statusEvent{} }) {
		size := 0
		for _, c := range now.Components {
			size += 128 + len(c.Name) + len(c.Problems.Error())
		}
		publish(now, size)
	}
	sweep(s.datasets)
	sweep(s.indexes)
	if s.tools != nil {
		list, until := s.tools.Approvals().Expired(s.expired)
		for _, c := range list {
			publish(c, c.Size())
		}
		s.expired = until
	}
	return busy
}

// changed records a state, and reports whether to publish it: it differs from the last one that was
// published and, if it only has other progress, that was a while ago.
func changed[T any](last map[string]*sampled[T], key string, is T, without func(T) T) bool {
	now, was := time.Now(), last[key]
	if was == nil {
		last[key] = &sampled[T]{is, now, true}
		return true
	}
	was.live = true
	recent := now.Sub(was.at) < sampleBusy && reflect.DeepEqual(without(is), without(was.state))
	if recent || reflect.DeepEqual(is, was.state) {
		return false
	}
	was.state, was.at = is, now
	return true
}

// sweep forgets what was not in the last sample.
func sweep[T any](all map[string]*sampled[T]) {
	for key, s := range all {
		if !s.live {
			delete(all, key)
			continue
		}
		s.live = false
	}
}

func datasetWithoutProgress(d Dataset) Dataset {
	d.Loaded, d.Size, d.Progress = nil, nil, nil
	return d
}

func indexWithoutProgress(x SearchIndex) SearchIndex {
	x.Rows, x.Chunks, x.Bytes, x.Progress = nil, nil, nil, nil
	return x
}
