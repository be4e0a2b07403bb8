package usage

import (
	"cmp"
	"hash/fnv"
	"math/bits"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
)

// This file keeps pairs: queries of searches that ended in a successful call of a tool which
// they returned. A later search for something alike ranks the tool higher, see package learn.
//
// Invariant: where there is no room, the principal that has most of what competes for it loses one.
// So a principal that records any number of pairs takes nothing from those with less than an equal share.

// Pair is a query that ended in a successful call of a tool.
type Pair struct {
	PairKey
	Uses
}

// PairKey identifies a pair.
type PairKey struct {
	Tool      string `json:"tool"`
	Query     string `json:"query"`
	Principal string `json:"principal,omitempty"` // "" without keys
	User      string `json:"user,omitempty"`      // whose words the query is
	Space     string `json:"space,omitempty"`     // "" for callers across spaces
}

// Uses are the calls of a pair.
type Uses struct {
	Last  time.Time `json:"last"`
	Count int64     `json:"count"` // 0 in a file: the pair is forgotten
}

func (k PairKey) own() PairKey {
	return PairKey{
		strings.Clone(k.Tool), strings.Clone(k.Query),
		strings.Clone(k.Principal), strings.Clone(k.User), strings.Clone(k.Space),
	}
}

// place is where at most [MaxPairsOfTool] pairs compete for room.
type place struct{ tool, space string }

// pairs are the pairs of all tools, and those of each place.
type pairs struct {
	table[PairKey, Uses]
	places  map[place][]*row[PairKey, Uses] // in no order
	version uint64                          // changes with the pairs
}

func newPairs() pairs {
	return pairs{table: newTable[PairKey, Uses](), places: map[place][]*row[PairKey, Uses]{}}
}

// add counts a use of a pair and makes room for it.
func (p *pairs) add(k PairKey, at time.Time) {
	known := p.has(k)
	u := p.at(k, PairKey.own)
	if at.After(u.Last) {
		u.Last = at
	}
	u.Count = max(u.Count, u.Count+1) // the largest stays
	p.version++
	if known {
		return
	}
	where := place{k.Tool, k.Space}
	p.places[where] = append(p.places[where], p.rows[k])
	p.room(where, 1)
}

// room drops what is beyond some times the limits.
func (p *pairs) room(where place, times int) {
	for len(p.places[where]) > times*MaxPairsOfTool {
		p.drop(redundant(ofLargest(p.places[where])))
	}
	if len(p.rows) > times*MaxPairs {
		p.thin()
	}
}

// restore sets a row of a file. The limits apply when everything is read, see [pairs.fit]: a record may
// have new pairs before those that they replaced, up to twice the limits.
func (p *pairs) restore(k PairKey, u Uses) {
	if r := p.rows[k]; r != nil && u.Count == 0 {
		p.drop(r)
		return
	}
	if u.Count == 0 {
		return
	}
	if !p.has(k) {
		p.version++
		p.at(k, PairKey.own)
		where := place{k.Tool, k.Space}
		p.places[where] = append(p.places[where], p.rows[k])
	}
	*p.at(k, PairKey.own) = u
	p.room(place{k.Tool, k.Space}, 2)
}

// fit enforces the limits.
func (p *pairs) fit() {
	for where := range p.places {
		p.room(where, 1)
	}
}

// forget drops the pairs that keep does not keep.
func (p *pairs) forget(keep func(PairKey, Uses) bool) {
	for k, r := range p.rows {
		if !keep(k, r.Value) {
			p.drop(r)
		}
	}
}

// drop forgets a pair. The change that the files get has no uses.
func (p *pairs) drop(r *row[PairKey, Uses]) {
	*p.at(r.Key, PairKey.own) = Uses{}
	delete(p.rows, r.Key)
	where := place{r.Key.Tool, r.Key.Space}
	p.places[where] = slices.DeleteFunc(p.places[where], func(x *row[PairKey, Uses]) bool { return x == r })
	if len(p.places[where]) == 0 {
		delete(p.places, where)
	}
	p.version++
}

// thin frees a sixteenth of the room for pairs: the principal that has most loses its oldest,
// in whatever spaces.
func (p *pairs) thin() {
	all := make([]*row[PairKey, Uses], 0, len(p.rows))
	for _, r := range p.rows {
		all = append(all, r)
	}
	for len(all) > MaxPairs-MaxPairs/16 {
		most := ofLargest(all)
		slices.SortFunc(most, older)
		for _, r := range most[:min(len(most), 1+len(most)/8)] {
			p.drop(r)
		}
		all = slices.DeleteFunc(all, func(r *row[PairKey, Uses]) bool { return !p.has(r.Key) })
	}
}

// older orders pairs by their last use, and then in a fixed order.
func older(a, b *row[PairKey, Uses]) int {
	return cmp.Or(a.Value.Last.Compare(b.Value.Last), strings.Compare(a.Key.Query, b.Key.Query),
		strings.Compare(a.Key.Tool, b.Key.Tool), strings.Compare(a.Key.Principal, b.Key.Principal),
		strings.Compare(a.Key.User, b.Key.User), strings.Compare(a.Key.Space, b.Key.Space))
}

// ofLargest returns the pairs of the principal that has most of them; of several, of the one
// with the oldest pair.
func ofLargest(list []*row[PairKey, Uses]) []*row[PairKey, Uses] {
	of := map[string][]*row[PairKey, Uses]{}
	for _, r := range list {
		of[r.Key.Principal] = append(of[r.Key.Principal], r)
	}
	var most []*row[PairKey, Uses]
	for _, own := range of {
		order := len(own) - len(most)
		if order == 0 {
			order = older(slices.MinFunc(most, older), slices.MinFunc(own, older))
		}
		if order > 0 {
			most = own
		}
	}
	return most
}

// redundant returns the pair that a newer one of the list resembles most; of several, the
// oldest. What stays is new and different.
func redundant(list []*row[PairKey, Uses]) *row[PairKey, Uses] {
	slices.SortFunc(list, older)
	sketches := make([]uint64, len(list))
	for i, r := range list {
		sketches[i] = sketch(r.Key.Query)
	}
	victim, most := list[0], -1
	for i := range len(list) - 1 {
		for _, newer := range sketches[i+1:] {
			if alike := 64 - bits.OnesCount64(sketches[i]^newer); alike > most {
				victim, most = list[i], alike
			}
		}
	}
	return victim
}

// sketch returns 64 bits of a text; texts that share words share bits: SimHash (Charikar,
// "Similarity Estimation Techniques from Rounding Algorithms", STOC 2002).
func sketch(text string) uint64 {
	var sums [64]int
	between := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), between) {
		h := fnv.New64a()
		h.Write([]byte(word))
		for bit, sum := h.Sum64(), 0; sum < 64; sum++ {
			if bit>>sum&1 == 1 {
				sums[sum]++
			} else {
				sums[sum]--
			}
		}
	}
	var out uint64
	for i, sum := range sums {
		if sum > 0 {
			out |= 1 << i
		}
	}
	return out
}

// unnamedKey matches the principals of keys without a name: their numbers may be those of other
// keys in the next run.
var unnamedKey = regexp.MustCompile(`^key-[0-9]+$`)

// Learn turns the recording of pairs on or off; a new Recorder records none. Off forgets all, and
// the next write of the files leaves none in them.
func (r *Recorder) Learn(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state.learns = on; !on {
		r.state.erased = r.state.erased || len(r.state.pairs.rows) > 0
		r.state.pairs.forget(func(PairKey, Uses) bool { return false })
	}
}

// KeepPairs forgets the pairs of the tools that keep does not keep.
func (r *Recorder) KeepPairs(keep func(tool string) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state.pairs.forget(func(k PairKey, _ Uses) bool { return keep(k.Tool) })
}

// PairsVersion changes with the pairs.
func (r *Recorder) PairsVersion() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.pairs.version
}

// Pairs returns the pairs, sorted by tool, space, principal, query and user, and their version.
func (r *Recorder) Pairs() ([]Pair, uint64) {
	r.mu.Lock()
	out := make([]Pair, 0, len(r.state.pairs.rows))
	for _, x := range r.state.pairs.rows {
		out = append(out, Pair{x.Key, x.Value})
	}
	version := r.state.pairs.version
	r.mu.Unlock()
	slices.SortFunc(out, func(a, b Pair) int {
		return cmp.Or(strings.Compare(a.Tool, b.Tool), strings.Compare(a.Space, b.Space),
			strings.Compare(a.Principal, b.Principal), strings.Compare(a.Query, b.Query), strings.Compare(a.User, b.User))
	})
	return out, version
}
