package feed_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/feed"
)

func values(events []feed.Event) (all []any) {
	for _, e := range events {
		all = append(all, e.Value)
	}
	return all
}

func TestSubscribersGetWhatHappensFromNowOn(t *testing.T) {
	f := feed.New(feed.Options{})
	defer f.Close()
	f.Publish("before", 1)
	a, resumed := f.Subscribe("")
	b, _ := f.Subscribe("")
	f.Publish(1, 1)
	f.Publish(2, 1)
	<-a.Ready()
	<-b.Ready()
	first, lost := a.Take(1)
	if got := values(first); resumed || lost || !slices.Equal(got, []any{1}) {
		t.Fatalf("%v, lost %t, resumed %t", got, lost, resumed)
	}
	<-a.Ready() // there is more
	second, _ := a.Take(10)
	both, _ := b.Take(10)
	if !slices.Equal(values(second), []any{2}) || !slices.Equal(values(both), []any{1, 2}) || second[0].ID <= first[0].ID {
		t.Errorf("%v %v", second, both)
	}
	if none, lost := a.Take(10); len(none) > 0 || lost {
		t.Errorf("the end: %v, lost %t", none, lost)
	}
}

func TestASlowSubscriberLosesEventsAndHoldsBackNoOne(t *testing.T) {
	for name, o := range map[string]feed.Options{"number": {Events: 3}, "bytes": {Bytes: 30}} {
		f := feed.New(o)
		slow, _ := f.Subscribe("")
		for i := range 10 {
			f.Publish(i, 10)
		}
		if events, lost := slow.Take(100); len(events) > 0 || !lost {
			t.Errorf("%s: %v, lost %t", name, events, lost)
		}
		f.Publish("next", 10)
		if events, lost := slow.Take(100); !slices.Equal(values(events), []any{"next"}) || lost {
			t.Errorf("%s: after the loss %v, lost %t", name, events, lost)
		}
		f.Publish("large", 1000)
		if events, lost := slow.Take(100); name == "bytes" && (len(events) > 0 || !lost) {
			t.Errorf("an event that is larger than the ring: %v, lost %t", events, lost)
		}
		f.Close()
	}
}

// TestLargeEventsAreTakenFewAtATime, so that slow readers hold little.
func TestLargeEventsAreTakenFewAtATime(t *testing.T) {
	f := feed.New(feed.Options{})
	defer f.Close()
	s, _ := f.Subscribe("")
	for _, size := range []int{100 << 10, 100 << 10, 100 << 10, 1 << 20, 1} {
		f.Publish(size, size)
	}
	var got []int
	for range 4 {
		<-s.Ready()
		events, _ := s.Take(100)
		got = append(got, len(events))
	}
	if !slices.Equal(got, []int{2, 1, 1, 1}) {
		t.Errorf("taken at once: %v", got)
	}
}

// FuzzSubscribe: no text from outside resumes but an id that was given.
func FuzzSubscribe(f *testing.F) {
	for _, token := range []string{"", "-", "-1", "aaaaaaaa-1", "aaaaaaaa-18446744073709551616", "\x00"} {
		f.Add(token, uint16(3))
	}
	f.Fuzz(func(t *testing.T, token string, n uint16) {
		fd := feed.New(feed.Options{Events: 4})
		defer fd.Close()
		s, _ := fd.Subscribe("")
		own := fd.Token(s.At())
		for i := range n % 8 {
			fd.Publish(i, 1)
		}
		for _, given := range []string{token, own[:9] + token, own + token} {
			again, resumed := fd.Subscribe(given)
			events, lost := again.Take(100)
			if lost || resumed && (len(events) > 4 || !strings.HasPrefix(given, own[:9])) || !resumed && len(events) > 0 {
				t.Fatalf("%q: resumed %t, lost %t, %d events", given, resumed, lost, len(events))
			}
		}
	})
}

func TestResuming(t *testing.T) {
	f := feed.New(feed.Options{Events: 3})
	defer f.Close()
	s, _ := f.Subscribe("")
	defer s.Close()
	begin := f.Token(s.At())
	f.Publish(1, 1)
	f.Publish(2, 1)
	events, _ := s.Take(1)
	after1 := f.Token(events[0].ID)
	for token, want := range map[string][]any{begin: {1, 2}, after1: {2}} {
		again, resumed := f.Subscribe(token)
		<-again.Ready()
		if events, lost := again.Take(10); !resumed || lost || !slices.Equal(values(events), want) {
			t.Errorf("%s: %v, resumed %t, lost %t", token, events, resumed, lost)
		}
		again.Close()
	}
	other := feed.New(feed.Options{})
	defer other.Close()
	f.Publish(3, 1)
	f.Publish(4, 1)
	number := strings.TrimPrefix(after1, after1[:strings.Index(after1, "-")+1])
	for _, token := range []string{
		begin, other.Token(events[0].ID), "", "x", number, "-" + number, after1 + "x", after1[:9] + "-1", after1[:9] + "99999999999999999999",
		f.Token(events[0].ID + 1e12), strings.ToUpper(after1), after1 + "\n",
	} {
		again, resumed := f.Subscribe(token)
		if events, lost := again.Take(10); resumed || len(events) > 0 || lost {
			t.Errorf("%q: %v, resumed %t, lost %t", token, events, resumed, lost)
		}
		again.Close()
	}
}

// TestLinger: events are retained for those who come back soon, and for no longer.
func TestLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := feed.New(feed.Options{Linger: time.Minute})
		defer f.Close()
		if f.Active() {
			t.Error("active without a subscriber")
		}
		s, _ := f.Subscribe("")
		token := f.Token(s.At())
		s.Close()
		s.Close()
		time.Sleep(59 * time.Second)
		f.Publish(1, 1)
		s, resumed := f.Subscribe(token)
		if events, _ := s.Take(10); !resumed || len(events) != 1 {
			t.Errorf("after 59 seconds: %v, resumed %t", events, resumed)
		}
		time.Sleep(5 * time.Minute) // the first timer does not count any more
		if !f.Active() {
			t.Error("it is not active while someone follows")
		}
		token = f.Token(s.At())
		s.Close()
		time.Sleep(61 * time.Second)
		synctest.Wait()
		f.Publish(2, 1)
		if f.Active() {
			t.Error("still active after a minute without subscribers")
		}
		if _, resumed = f.Subscribe(token); resumed {
			t.Error("events that were not retained are said to be resumed")
		}
	})
}

// TestSample: the sampler runs while the feed is active, and Close waits for it.
func TestSample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := feed.New(feed.Options{})
		runs, running := 0, 0
		f.Sample(func(begun func(), stop <-chan struct{}) {
			runs++
			running++
			begun()
			for {
				select {
				case <-stop:
					running--
					return
				case <-f.Poked():
					f.Publish("sampled", 1)
				}
			}
		})
		f.Poke()
		synctest.Wait()
		if runs > 0 {
			t.Error("it runs without a subscriber")
		}
		s, _ := f.Subscribe("")
		second, _ := f.Subscribe("")
		f.Poke()
		f.Poke()
		<-s.Ready()
		synctest.Wait()
		if events, _ := s.Take(10); runs != 1 || len(events) == 0 {
			t.Errorf("%d runs, %v", runs, events)
		}
		s.Close()
		second.Close()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if running != 0 {
			t.Error("it runs after the last subscriber has left")
		}
		if _, resumed := f.Subscribe(""); resumed {
			t.Error("nothing was to be resumed")
		}
		synctest.Wait()
		f.Close()
		f.Close()
		if runs != 2 || running != 0 {
			t.Errorf("%d runs, of them %d after Close", runs, running)
		}
		if s, _ := f.Subscribe(""); s != nil {
			t.Error("a closed feed takes subscribers")
		}
		<-f.Closed()
	})
}

// TestConcurrent: every subscriber that keeps up gets every event once, in order, while others
// come and go.
func TestConcurrent(t *testing.T) {
	f := feed.New(feed.Options{Events: 1 << 16, Linger: time.Nanosecond})
	defer f.Close()
	const publishers, each = 4, 500
	var group sync.WaitGroup
	faults := make(chan string, 8)
	steady, _ := f.Subscribe("")
	for range 4 {
		s, _ := f.Subscribe("")
		group.Go(func() {
			defer s.Close()
			next, last, n := [publishers]int{}, uint64(0), 0
			for n < publishers*each {
				<-s.Ready()
				events, lost := s.Take(64)
				for _, e := range events {
					v := e.Value.([2]int)
					if lost || next[v[0]] != v[1] || e.ID <= last {
						faults <- fmt.Sprintf("event %v after %d, lost %t", v, next[v[0]], lost)
						return
					}
					next[v[0]], last, n = v[1]+1, e.ID, n+1
				}
			}
		})
	}
	for p := range publishers {
		group.Go(func() {
			for i := range each {
				f.Publish([2]int{p, i}, 1)
				if i%50 == 0 {
					s, _ := f.Subscribe("")
					s.Close()
				}
			}
		})
	}
	group.Wait()
	steady.Close()
	close(faults)
	for fault := range faults {
		t.Error(fault)
	}
}

func TestNilPassesNothingOn(t *testing.T) {
	var f *feed.Feed
	f.Publish(1, 1)
	f.Poke()
	if f.Active() {
		t.Error("active")
	}
}

func BenchmarkPublish(b *testing.B) {
	for _, subscribers := range []int{0, 1, 10, 100} {
		b.Run(fmt.Sprintf("subscribers=%d", subscribers), func(b *testing.B) {
			f := feed.New(feed.Options{})
			defer f.Close()
			for range subscribers {
				f.Subscribe("")
			}
			b.ReportAllocs()
			for b.Loop() {
				f.Publish("a call", 300)
			}
		})
	}
}
