package usage

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// day counts days since 1970-01-01 UTC.
type day int32

const daySeconds = 24 * 60 * 60

func dayOf(t time.Time) day {
	return day(min(max(t.Unix()/daySeconds, math.MinInt32), math.MaxInt32))
}

func (d day) time() time.Time { return time.Unix(int64(d)*daySeconds, 0).UTC() }

type usageKey struct {
	Tool   string `json:"tool"`
	Owner  string `json:"owner,omitempty"`
	Caller string `json:"caller,omitempty"`
	Day    day    `json:"day"`
}

type hitKey struct {
	Tool string `json:"tool"`
	Day  day    `json:"day"`
}

// own methods copy a key, so that a stored key does not retain a caller's larger text.
func (k usageKey) own() usageKey {
	return usageKey{strings.Clone(k.Tool), strings.Clone(k.Owner), strings.Clone(k.Caller), k.Day}
}

func (k hitKey) own() hitKey { return hitKey{strings.Clone(k.Tool), k.Day} }

// lastSearch is one of a client's last searches. Chosen and paired have a bit for each result:
// a call followed, and a call that succeeded.
type lastSearch struct {
	search         *Search
	chosen, paired uint64
	calls          int // of the client since
}

// state is the whole state. It does no I/O and has no lock.
type state struct {
	keys, days int
	retention  time.Duration

	since    time.Time // when counting began
	calls    ring[Call]
	searches ring[Search]
	events   ring[Event]
	clients  map[client][]*lastSearch // of searches in the ring, at most maxLastSearches, oldest first

	usage  table[usageKey, Counts]
	tools  table[string, Totals]
	hits   table[hitKey, Found]
	models table[modelKey, Chats]
	pairs  pairs
	learns bool // pairs are recorded
	erased bool // pairs are forgotten that the files still have

	pruned day // when old days were last dropped
	packed day // when nothing before today was left to drop
}

func newState(o Options, now time.Time) *state {
	return &state{
		keys: o.Keys, days: o.Days, retention: o.Retention,
		since: now, calls: newRing[Call](o.Calls), searches: newRing[Search](o.Searches), events: newRing[Event](o.Events),
		clients: map[client][]*lastSearch{},
		usage:   newTable[usageKey, Counts](), tools: newTable[string, Totals](),
		hits: newTable[hitKey, Found](), models: newTable[modelKey, Chats](), pairs: newPairs(),
	}
}

// when returns the time of a record. A time in the future, or before the retained days,
// becomes now.
func (s *state) when(at, now time.Time) time.Time {
	if at.After(now) || at.Before(now.AddDate(0, 0, 1-s.days)) {
		at = now
	}
	return at.Round(0).UTC()
}

// addCall counts and stores a tidied call.
func (s *state) addCall(c *Call) {
	today := dayOf(c.At)
	s.usageOf(usageKey{c.Tool, c.Owner, c.Caller, today}).add(c)
	totals := s.toolOf(c.Tool)
	totals.add(c)
	if s.follows(c) {
		totals.Chosen++
		s.hitsOf(hitKey{c.Tool, today}).Chosen++
	}
	if query := s.endedIn(c); query != "" && s.learns {
		s.pairs.add(PairKey{c.Tool, query, c.Principal, c.User, c.Space}, c.At)
	}
	s.calls.push(c)
}

// addSearch counts and stores a tidied search.
func (s *state) addSearch(x *Search) {
	today := dayOf(x.At)
	for i, tool := range x.Tools {
		if slices.Contains(x.Tools[:i], tool) {
			continue
		}
		s.toolOf(tool).Returned++
		s.hitsOf(hitKey{tool, today}).Returned++
	}
	if c := x.client(); c != (client{}) {
		last := append(s.clients[c], &lastSearch{search: x})
		s.clients[c] = last[max(0, len(last)-maxLastSearches):]
	}
	s.forget(s.searches.push(x))
}

// forget drops the lastSearch of a search that is dropped.
func (s *state) forget(x *Search) {
	if x == nil {
		return
	}
	c := x.client()
	last := slices.DeleteFunc(s.clients[c], func(l *lastSearch) bool { return l.search == x })
	if s.clients[c] = last; len(last) == 0 {
		delete(s.clients, c)
	}
}

// follows reports whether the call is the first of this tool since the latest of the client's
// last searches that returned it.
func (s *state) follows(c *Call) bool {
	last, i := s.returned(c)
	if last == nil || last.chosen>>i&1 == 1 {
		return false
	}
	last.chosen |= 1 << i
	return true
}

// endedIn returns the query of the search that ended in this call: the latest of the client's
// that returned the tool, if this is its first call that succeeds, among the next few calls. It
// is "" for a search that is not for learning.
func (s *state) endedIn(c *Call) string {
	last, i := s.returned(c)
	for _, l := range s.clients[c.client()] {
		l.calls++
	}
	if last == nil || !c.OK || last.paired>>i&1 == 1 || last.calls > PairedWithin || last.search.Unpaired {
		return ""
	}
	last.paired |= 1 << i
	return last.search.Query
}

// returned returns the latest of the client's last searches that returned the tool of a call,
// and the tool's index in its results, or nil.
func (s *state) returned(c *Call) (*lastSearch, int) {
	for _, last := range slices.Backward(s.clients[c.client()]) {
		after := c.At.Sub(last.search.At)
		if i := slices.Index(last.search.Tools, c.Tool); i >= 0 && after >= 0 && after <= ChosenWithin {
			return last, i
		}
	}
	return nil, 0
}

// usageOf returns the counts of a key. Beyond the limit, callers share a row, and then
// tools.
func (s *state) usageOf(k usageKey) *Counts {
	if full := len(s.usage.rows) >= s.keys; full && !s.usage.has(k) {
		k.Caller = Other
		if len(s.usage.rows) >= s.keys+s.keys/4 && !s.usage.has(k) {
			k.Tool, k.Owner = Other, Other
		}
	}
	return s.usage.at(k, usageKey.own)
}

func (s *state) toolOf(tool string) *Totals {
	if len(s.tools.rows) >= MaxTools && !s.tools.has(tool) {
		tool = Other
	}
	return s.tools.at(tool, strings.Clone)
}

func (s *state) hitsOf(k hitKey) *Found {
	if len(s.hits.rows) >= s.keys && !s.hits.has(k) {
		k.Tool = Other
	}
	return s.hits.at(k, hitKey.own)
}

// batch is the content of one record of a file. Counts are absolute.
type batch struct {
	Usage    []row[usageKey, Counts] `json:"usage,omitempty"`
	Tools    []row[string, Totals]   `json:"tools,omitempty"`
	Hits     []row[hitKey, Found]    `json:"hits,omitempty"`
	Models   []row[modelKey, Chats]  `json:"models,omitempty"`
	Pairs    []row[PairKey, Uses]    `json:"pairs,omitempty"`
	Calls    []*Call                 `json:"calls,omitempty"`
	Searches []*Search               `json:"searches,omitempty"`
}

func (b *batch) empty() bool {
	return len(b.Usage)+len(b.Tools)+len(b.Hits)+len(b.Models)+len(b.Pairs)+len(b.Calls)+len(b.Searches) == 0
}

// changedRows returns how many rows of counts changes would return.
func (s *state) changedRows() int {
	return len(s.usage.dirty) + len(s.tools.dirty) + len(s.hits.dirty) + len(s.models.dirty) + len(s.pairs.dirty)
}

// changes returns the changes since the last changes or clean.
func (s *state) changes() batch {
	b := batch{
		Usage: s.usage.changed(), Tools: s.tools.changed(), Hits: s.hits.changed(), Models: s.models.changed(),
		Pairs: s.pairs.changed(),
		Calls: s.calls.since(s.calls.written), Searches: s.searches.since(s.searches.written),
	}
	s.calls.written, s.searches.written = s.calls.next, s.searches.next
	return b
}

// clean makes changes return only later changes, and all calls and searches.
func (s *state) clean() {
	s.usage.clean()
	s.tools.clean()
	s.hits.clean()
	s.models.clean()
	s.pairs.clean()
	s.calls.written, s.searches.written = 0, 0
}

// restore applies a record of a file, or returns an error and applies nothing. It does
// not enforce limits, because a later record may have the same keys; tidy does that
// when everything is read.
func (s *state) restore(b batch, now time.Time) error {
	if err := s.check(&b); err != nil {
		return err
	}
	for _, r := range b.Usage {
		k := r.Key
		k.Tool, k.Owner, k.Caller = tidyText(k.Tool, MaxName), tidyText(k.Owner, MaxName), tidyText(k.Caller, MaxName)
		*s.usage.at(k, usageKey.own) = r.Value
	}
	for _, r := range b.Tools {
		*s.tools.at(tidyText(r.Key, MaxName), strings.Clone) = r.Value
	}
	for _, r := range b.Hits {
		*s.hits.at(hitKey{tidyText(r.Key.Tool, MaxName), r.Key.Day}, hitKey.own) = r.Value
	}
	for _, r := range b.Models {
		*s.models.at(modelKey{tidyText(r.Key.Model, MaxName), r.Key.Day}, modelKey.own) = r.Value
	}
	for _, r := range b.Pairs {
		k := r.Key
		k.Tool, k.Query = tidyText(k.Tool, MaxName), tidyText(k.Query, MaxText)
		k.Principal, k.User, k.Space = tidyText(k.Principal, MaxID), tidyText(k.User, MaxID), tidyText(k.Space, MaxID)
		if r.Value.Last.After(now) { // else it would never be forgotten
			r.Value.Last = now
		}
		s.pairs.restore(k, r.Value)
	}
	for _, c := range b.Calls {
		c.tidy()
		c.At = s.when(c.At, now)
		s.calls.push(c)
	}
	for _, x := range b.Searches {
		x.tidy()
		x.At = s.when(x.At, now)
		s.searches.push(x)
	}
	return nil
}

// check rejects a record that this package cannot have written.
func (s *state) check(b *batch) error {
	n := len(s.usage.rows) + len(s.tools.rows) + len(s.hits.rows) + len(s.models.rows) + len(s.pairs.rows)
	if n > maxRestored {
		return fmt.Errorf("%d rows of counts: want at most %d", n, maxRestored)
	}
	for i := range b.Usage {
		if err := b.Usage[i].Value.check(); err != nil {
			return fmt.Errorf("usage of %q: %w", b.Usage[i].Key.Tool, err)
		}
	}
	for i := range b.Tools {
		if err := b.Tools[i].Value.check(); err != nil {
			return fmt.Errorf("totals of %q: %w", b.Tools[i].Key, err)
		}
	}
	for i := range b.Models {
		if err := b.Models[i].Value.check(); err != nil {
			return fmt.Errorf("chats with %q: %w", b.Models[i].Key.Model, err)
		}
	}
	for _, r := range b.Pairs {
		if r.Value.Count < 0 || r.Key.Tool == "" || r.Key.Query == "" {
			return fmt.Errorf("pair of tool %q: a query of %d bytes with %d uses", r.Key.Tool, len(r.Key.Query), r.Value.Count)
		}
	}
	if slices.Contains(b.Calls, nil) || slices.Contains(b.Searches, nil) {
		return errors.New("a call or search is null")
	}
	return nil
}
