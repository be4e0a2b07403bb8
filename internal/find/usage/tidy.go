package usage

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// tidy drops what is too old and makes room for new keys. It reports whether counts
// moved to other rows, which only a snapshot can record, or the files must not keep what they have.
func (s *state) tidy(now time.Time) (moved bool) {
	s.expire(now)
	erased := s.erased
	s.erased = false
	today := dayOf(now)
	if s.pruned != today {
		s.pruned = today
		s.dropBefore(today - day(s.days) + 1)
	}
	usageFull, hitsFull := len(s.usage.rows) >= s.keys, len(s.hits.rows) >= s.keys
	if s.packed == today || !usageFull && !hitsFull {
		return erased
	}
	moved = usageFull && s.foldCallers(today)
	dropped := hitsFull && s.dropOldestHits(today)
	if !moved && !dropped {
		s.packed = today
	}
	return moved || erased
}

// expire drops calls and searches beyond their retention.
func (s *state) expire(now time.Time) {
	oldest := now.Add(-s.retention)
	for c := s.calls.oldest(); c != nil && c.At.Before(oldest); c = s.calls.oldest() {
		s.calls.drop()
	}
	for x := s.searches.oldest(); x != nil && x.At.Before(oldest); x = s.searches.oldest() {
		s.forget(s.searches.drop())
	}
	for e := s.events.oldest(); e != nil && e.At.Before(oldest); e = s.events.oldest() {
		s.events.drop()
	}
}

// dropBefore drops the counts of days before first.
func (s *state) dropBefore(first day) {
	maps.DeleteFunc(s.usage.rows, func(k usageKey, _ *row[usageKey, Counts]) bool { return k.Day < first })
	maps.DeleteFunc(s.hits.rows, func(k hitKey, _ *row[hitKey, Found]) bool { return k.Day < first })
	maps.DeleteFunc(s.models.rows, func(k modelKey, _ *row[modelKey, Chats]) bool { return k.Day < first })
	s.pairs.forget(func(_ PairKey, u Uses) bool { return dayOf(u.Last) >= first })
}

// foldCallers frees a quarter of the rows: it merges the callers of the oldest days,
// then drops these days, except for today.
func (s *state) foldCallers(today day) (moved bool) {
	past := slices.DeleteFunc(slices.Collect(maps.Keys(s.usage.rows)), func(k usageKey) bool { return k.Day >= today })
	slices.SortFunc(past, func(a, b usageKey) int { return cmp.Compare(a.Day, b.Day) })
	wanted := s.keys - s.keys/4
	for _, k := range past {
		if len(s.usage.rows) > wanted && k.Caller != Other {
			s.fold(k)
			moved = true
		}
	}
	for _, k := range past {
		if len(s.usage.rows) > wanted && s.usage.has(k) {
			delete(s.usage.rows, k)
			moved = true
		}
	}
	return moved
}

// fold adds a caller's counts to those of the other callers.
func (s *state) fold(k usageKey) {
	counts := s.usage.rows[k].Value
	delete(s.usage.rows, k)
	k.Caller = Other
	s.usage.at(k, usageKey.own).Merge(&counts)
}

// dropOldestHits drops the hits of the oldest day, unless that is today.
func (s *state) dropOldestHits(today day) bool {
	oldest := today
	for k := range s.hits.rows {
		oldest = min(oldest, k.Day)
	}
	maps.DeleteFunc(s.hits.rows, func(k hitKey, _ *row[hitKey, Found]) bool { return k.Day == oldest && k.Day < today })
	return oldest < today
}
