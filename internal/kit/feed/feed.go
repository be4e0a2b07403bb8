// Package feed passes what happens in a process on to those who follow it, without a
// queue for each.
//
//	f := feed.New(feed.Options{})
//	defer f.Close()
//	f.Publish(value, size)         // does nothing while no one follows
//
//	s, resumed := f.Subscribe(id)  // id: of the last event that was seen; "": begin now
//	defer s.Close()
//	<-s.Ready()
//	events, lost := s.Take(100)    // lost: some are missing
//
// The feed retains the last events in one ring, which is the queue of every subscriber and
// what a subscriber that comes back resumes from. A subscriber is a position in it: publishing
// never waits for one, and one that falls behind the ring learns that it has lost events.
// While there is no subscriber, and there was none for a while, nothing is retained, and
// publishing costs the load of an atomic flag.
package feed

import (
	"cmp"
	"crypto/rand"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options configures [New]. The zero value is ready to use.
type Options struct {
	Events int           // that are retained; 0: 4096
	Bytes  int           // of their values; 0: 8 MiB
	Linger time.Duration // how long events are retained after the last subscriber has left; 0: a minute
}

// Event is something that happened.
type Event struct {
	ID    uint64 // rises from event to event; see [Feed.Token]
	Value any    // it is shared: do not change it
	size  int
}

// Feed is safe for concurrent use. Nil passes nothing on.
type Feed struct {
	opts   Options
	run    string // begins the ids: those of another process are not resumed
	began  time.Time
	active atomic.Bool   // events are retained
	poked  chan struct{} // see Sample

	mu     sync.Mutex
	events []Event // the last ones, by id
	bytes  int
	last   uint64 // the highest id that was given
	lost   uint64 // events up to this id may not be retained
	subs   map[*Subscription]struct{}
	idle   *time.Timer // ends retention; nil: it does not wait
	sample func(begun func(), stop <-chan struct{})
	begun  chan struct{}  // closed when sample has begun; nil without a sampler
	stop   chan struct{}  // ends sample; nil: it does not run
	wait   sync.WaitGroup // for sample
	closed chan struct{}
}

// New returns a feed without subscribers.
func New(o Options) *Feed {
	o.Events, o.Bytes, o.Linger = cmp.Or(o.Events, 4096), cmp.Or(o.Bytes, 8<<20), cmp.Or(o.Linger, time.Minute)
	return &Feed{
		opts: o, run: strings.ToLower(rand.Text()[:8]), began: time.Now(), poked: make(chan struct{}, 1),
		subs: map[*Subscription]struct{}{}, closed: make(chan struct{}),
	}
}

// Active reports whether events are passed on. It is for publishers whose events are expensive to make.
func (f *Feed) Active() bool { return f != nil && f.active.Load() }

// Publish passes a value on, which may not change any more. Its size, in bytes, is estimated
// by the caller. Publish never waits for a subscriber.
func (f *Feed) Publish(value any, size int) {
	if !f.Active() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.active.Load() {
		return
	}
	f.events = append(f.events, Event{f.next(), value, size})
	f.bytes += size
	drop := 0
	for ; len(f.events)-drop > f.opts.Events || f.bytes > f.opts.Bytes; drop++ {
		f.bytes -= f.events[drop].size
		f.lost = f.events[drop].ID
		f.events[drop] = Event{}
	}
	f.events = f.events[drop:]
	for s := range f.subs {
		s.wake()
	}
}

// next returns an id. It is a time and not a number of events, so that the gaps between the
// events that a client may see do not tell it how much else happens. The caller holds f.mu.
func (f *Feed) next() uint64 {
	f.last = max(f.last+1, uint64(time.Since(f.began).Microseconds()))
	return f.last
}

// Token is an id in the form that clients send to resume.
func (f *Feed) Token(id uint64) string { return f.run + "-" + strconv.FormatUint(id, 10) }

// Subscription is a reader's position in a feed. Only one goroutine may use it.
type Subscription struct {
	feed  *Feed
	at    uint64 // the id of the last event that was taken
	ready chan struct{}
}

// Subscribe follows the feed: after the event of a token, if all later ones are retained, or
// else from now on. It returns when the sampler has begun, so that a state which is read
// afterwards, with the events, is complete. It returns nil if the feed is closed.
func (f *Feed) Subscribe(token string) (s *Subscription, resumed bool) {
	s, resumed, begun := f.subscribe(token)
	if begun != nil {
		<-begun
	}
	return s, resumed
}

func (f *Feed) subscribe(token string) (s *Subscription, resumed bool, begun <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.closed:
		return nil, false, nil
	default:
	}
	f.activate()
	s = &Subscription{feed: f, ready: make(chan struct{}, 1)}
	if s.at, resumed = f.retained(token); resumed {
		s.wake()
	} else {
		s.at = f.next()
	}
	f.subs[s] = struct{}{}
	return s, resumed, f.begun
}

// retained reads a token, and reports whether all events after it are retained.
func (f *Feed) retained(token string) (id uint64, ok bool) {
	number, ok := strings.CutPrefix(token, f.run+"-")
	if !ok {
		return 0, false
	}
	id, err := strconv.ParseUint(number, 10, 64)
	return id, err == nil && id >= f.lost && id <= f.last
}

// activate begins to retain events, and to sample. The caller holds f.mu.
func (f *Feed) activate() {
	if f.idle != nil {
		f.idle.Stop()
		f.idle = nil
	}
	if !f.active.Load() {
		f.lost = f.next() // what happened before was not retained
		f.active.Store(true)
	}
	f.start()
}

// start begins to sample, if that is wanted and does not run. The caller holds f.mu.
func (f *Feed) start() {
	if f.sample == nil || f.stop != nil || len(f.subs) == 0 && !f.active.Load() {
		return
	}
	stop, begun := make(chan struct{}), make(chan struct{})
	f.stop, f.begun = stop, begun
	once := sync.OnceFunc(func() { close(begun) })
	f.wait.Go(func() {
		defer once()
		f.sample(once, stop)
	})
}

// deactivate drops the events, and ends sampling. The caller holds f.mu.
func (f *Feed) deactivate() {
	f.active.Store(false)
	f.events, f.bytes = nil, 0
	if f.stop != nil {
		close(f.stop)
		f.stop = nil
	}
}

// Sample has run called while the feed is active, until the channel that it gets is closed. It
// is for what has a state that changes without telling: run reads the state, calls begun, and from then
// on compares, and publishes what has changed. Sample is called once.
func (f *Feed) Sample(run func(begun func(), stop <-chan struct{})) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sample = run
	f.start()
}

// Poke tells the sampler that something has changed.
func (f *Feed) Poke() {
	if !f.Active() {
		return
	}
	select {
	case f.poked <- struct{}{}:
	default:
	}
}

// Poked receives after [Feed.Poke].
func (f *Feed) Poked() <-chan struct{} { return f.poked }

// Closed is closed when the feed is.
func (f *Feed) Closed() <-chan struct{} { return f.closed }

// Close ends the feed. Later events are dropped. A second call does nothing.
func (f *Feed) Close() {
	f.mu.Lock()
	select {
	case <-f.closed:
	default:
		close(f.closed)
		if f.idle != nil {
			f.idle.Stop()
		}
		f.deactivate()
	}
	f.mu.Unlock()
	f.wait.Wait()
}

func (s *Subscription) wake() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// Ready receives when there may be events to take.
func (s *Subscription) Ready() <-chan struct{} { return s.ready }

// maxTaken is how many bytes the values of events have that are taken at once: each reader holds them until it
// has sent them. A larger event is taken alone.
const maxTaken = 256 << 10

// Take returns the next events, at most so many; when there may be more, Ready receives again.
// If events were lost it returns none, and goes on with those that happen from now on.
func (s *Subscription) Take(most int) (events []Event, lost bool) {
	f := s.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.at < f.lost {
		s.at = f.next()
		return nil, true
	}
	first, _ := slices.BinarySearchFunc(f.events, s.at+1, func(e Event, id uint64) int { return cmp.Compare(e.ID, id) })
	end, size := first, 0
	for end < min(first+most, len(f.events)) && (size == 0 || size+f.events[end].size <= maxTaken) {
		size += f.events[end].size
		end++
	}
	events = slices.Clone(f.events[first:end])
	if len(events) > 0 {
		s.at = events[len(events)-1].ID
	}
	if first+len(events) < len(f.events) {
		s.wake()
	}
	return events, false
}

// At is the id of the position: after the event with this id. It can be resumed from.
func (s *Subscription) At() uint64 { return s.at }

// Close ends the subscription. A second call does nothing.
func (s *Subscription) Close() {
	f := s.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.subs[s]; !ok {
		return
	}
	delete(f.subs, s)
	select {
	case <-f.closed:
		return
	default:
	}
	if len(f.subs) > 0 {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(f.opts.Linger, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.idle == timer { // no one has come back meanwhile
			f.idle = nil
			f.deactivate()
		}
	})
	f.idle = timer
}
