package fair

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// mustAcquire takes a slot that must be free.
func mustAcquire(t *testing.T, q *Queue, name string) *Slot {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s, err := q.Acquire(ctx, name, 1)
	if err != nil {
		t.Fatalf("%s gets no slot at once: %v (%+v)", name, err, q.Stats())
	}
	return s
}

func mustWait(t *testing.T, q *Queue, name string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := q.Acquire(ctx, name, 1); err == nil {
		s.Release()
		t.Errorf("%s gets a slot (%+v)", name, q.Stats())
	}
}

// request waits for a slot in the background.
func request(ctx context.Context, q *Queue, name string, weight int) <-chan *Slot {
	got := make(chan *Slot, 1)
	go func() {
		s, _ := q.Acquire(ctx, name, weight)
		got <- s
	}()
	synctest.Wait()
	return got
}

func TestOneHoldsAllAndOthersGetIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{Slots: 4, Waiting: 10})
		for range 4 {
			mustAcquire(t, q, "flood")
		}
		mustWait(t, q, "flood")
		mustWait(t, q, "ann") // the slots are short
		start := time.Now()
		s, err := q.Acquire(t.Context(), "ann", 1)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != 100*time.Millisecond {
			t.Errorf("ann waited %s", took)
		}
		mustWait(t, q, "flood")
		second := mustAcquire(t, q, "ann")
		mustWait(t, q, "ann") // an extra slot stays for others
		mustWait(t, q, "ben") // until they are long
		time.Sleep(100 * time.Millisecond)
		mustWait(t, q, "ann")
		mustAcquire(t, q, "ben")
		mustWait(t, q, "ben") // one extra slot is left
		mustWait(t, q, "ann")
		time.Sleep(100 * time.Millisecond)
		mustAcquire(t, q, "cem")
		time.Sleep(time.Hour)
		mustWait(t, q, "dan") // all extra slots are in use
		if got, want := q.Stats(), (Stats{Running: 8, Long: 8}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		s.Release()
		s.Release()
		second.Release()
		if got := q.Stats().Running; got != 6 {
			t.Errorf("%d run after a release and its repetition", got)
		}
		mustAcquire(t, q, "dan")
	})
}

func TestLongSlotsBeyondHalf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{Slots: 4, Waiting: 10})
		var flood []*Slot
		for range 4 {
			flood = append(flood, mustAcquire(t, q, "flood"))
		}
		time.Sleep(100 * time.Millisecond)
		ann := mustAcquire(t, q, "ann")
		flood[0].Release()
		mustWait(t, q, "flood") // its three long ones are more than half
		waits := request(t.Context(), q, "flood", 1)
		ann.Release()
		synctest.Wait()
		select {
		case s := <-waits: // alone, it may use every slot
			s.Release()
		default:
			t.Error("a free slot is not lent")
		}
		ann = mustAcquire(t, q, "ann")
		flood[1].Release()
		mustAcquire(t, q, "flood").Release() // its short ones go on in half of the slots
		ann.Release()
	})
}

func TestOneSlotIsTakenInTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{Slots: 1, Waiting: 100})
		held := mustAcquire(t, q, "flood")
		var order []string
		var mu sync.Mutex
		for i := range 40 {
			name, weight := "flood", 1
			switch {
			case i%8 == 7:
				name = "ann"
			case i >= 30:
				name, weight = "vip", 3
			}
			go func() {
				s, err := q.Acquire(t.Context(), name, weight)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, fmt.Sprint(name, i))
				mu.Unlock()
				s.Release()
			}()
			synctest.Wait()
		}
		held.Release()
		synctest.Wait()
		want := []string{"ann7", "vip30", "vip32", "vip33", "flood0", "ann15", "vip34", "vip35", "vip36"}
		if !slices.Equal(order[:len(want)], want) {
			t.Errorf("order %v", order)
		}
		if len(order) != 40 {
			t.Errorf("%d got the slot", len(order))
		}
	})
}

func TestWaitingIsSharedFairly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{Slots: 1, Waiting: 4})
		held := mustAcquire(t, q, "flood")
		var flood []<-chan *Slot
		for range 4 {
			flood = append(flood, request(t.Context(), q, "flood", 1))
		}
		if _, err := q.Acquire(t.Context(), "flood", 1); !errors.Is(err, ErrFull) {
			t.Errorf("a fifth waits: %v", err)
		}
		ann := []<-chan *Slot{request(t.Context(), q, "ann", 1), request(t.Context(), q, "ann", 1)}
		for i, c := range flood[2:] {
			select {
			case s := <-c:
				if s != nil {
					t.Error("a slot was lent")
				}
			default:
				t.Errorf("request %d waits next to ann's", i+2)
			}
		}
		for _, name := range []string{"flood", "ann"} {
			if _, err := q.Acquire(t.Context(), name, 1); !errors.Is(err, ErrFull) {
				t.Errorf("%s has more than half: %v", name, err)
			}
		}
		idle := q.Idle()
		held.Release()
		for _, c := range []<-chan *Slot{ann[0], flood[0], ann[1], flood[1]} {
			synctest.Wait()
			select {
			case s := <-c:
				s.Release()
			default:
				t.Fatal("the wrong one is served")
			}
		}
		<-idle
		<-q.Idle()
	})
}

func TestCancelledWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Options{Slots: 1, Waiting: 2})
		held := mustAcquire(t, q, "ann")
		ctx, cancel := context.WithCancel(t.Context())
		left, stays := request(ctx, q, "ben", 1), request(t.Context(), q, "cem", 1)
		cancel()
		if s := <-left; s != nil {
			t.Error("a slot was lent")
		}
		held.Release()
		(<-stays).Release()
		if got := q.Stats(); got != (Stats{}) {
			t.Errorf("%+v is left", got)
		}
	})
}

// TestInvariants runs random schedules and checks, after each event, what the
// package comment says.
func TestInvariants(t *testing.T) {
	for seed := range uint64(15) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(14, seed))
			q := New(Options{Slots: 1 + rnd.IntN(9), Waiting: 1 + rnd.IntN(30)})
			people := 1 + rnd.IntN(6)
			var wg sync.WaitGroup
			for range 500 {
				name, weight := fmt.Sprint(rnd.IntN(1+rnd.IntN(people))), 1+rnd.IntN(3)
				patience, hold := time.Duration(rnd.IntN(2000))*time.Millisecond, time.Duration(rnd.ExpFloat64()*60)*time.Millisecond
				if rnd.IntN(10) == 0 {
					hold *= 50
				}
				wg.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					s, err := q.Acquire(ctx, name, weight)
					if err == nil {
						time.Sleep(hold)
						s.Release()
					}
				})
				synctest.Wait()
				check(t, q)
				time.Sleep(time.Duration(rnd.ExpFloat64()*10) * time.Millisecond)
				synctest.Wait()
				check(t, q)
			}
			wg.Wait()
			<-q.Idle()
			if got := q.Stats(); got != (Stats{}) {
				t.Errorf("%+v is left", got)
			}
		})
	}
}

// check checks the state of a queue on which no call runs.
func check(t *testing.T, q *Queue) {
	t.Helper()
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	running, long, waiting, short := 0, 0, 0, 0
	for name, p := range q.principals {
		running, long, waiting = running+p.running, long+p.long, waiting+p.waiting.Len()
		if p.running > q.opts.Slots {
			t.Errorf("%s holds %d of %d slots", name, p.running, q.opts.Slots)
		}
		if p.waiting.Len() > 0 && q.admits(p, now) {
			t.Errorf("%s waits but may have a slot", name)
		}
		last := uint64(0)
		for e := p.waiting.Front(); e != nil; e = e.Next() {
			w := e.Value.(*Request)
			if w.number <= last {
				t.Errorf("%s waits out of order", name)
			}
			last = w.number
		}
	}
	last := time.Duration(0)
	for s := q.short.first; s != nil; s = s.next {
		short++
		if s.long || s.began < last {
			t.Error("the list of short slots is out of order")
		}
		last = s.began
	}
	switch {
	case running != q.running || long != q.long || waiting != q.waiters || short != running-long:
		t.Errorf("%d run, %d long, %d short, %d wait; the queue counts %d, %d, %d", running, long, short, waiting, q.running, q.long, q.waiters)
	case running > 2*q.opts.Slots || short > q.opts.Slots || waiting > q.opts.Waiting:
		t.Errorf("%d run, %d short, %d wait, with %+v", running, short, waiting, q.opts)
	case waiting > 0 && short > 0 && !q.armed:
		t.Error("the timer is not set")
	}
}

// TestNoOneWaitsBehindLongSlots floods a queue with two principals: a third one that
// holds nothing never waits longer than 100 ms.
func TestNoOneWaitsBehindLongSlots(t *testing.T) {
	for seed := range uint64(5) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(7, seed))
			q := New(Options{Slots: 4 + rnd.IntN(12), Waiting: 50})
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			for i := range 40 {
				rnd := rand.New(rand.NewPCG(seed, uint64(i)))
				wg.Go(func() {
					for ctx.Err() == nil {
						s, err := q.Acquire(ctx, fmt.Sprint("flood", i%2), 1)
						if err == nil {
							time.Sleep(time.Duration(rnd.ExpFloat64()*float64(10*time.Second)) / time.Duration(1+rnd.IntN(500)))
							s.Release()
						}
						time.Sleep(5 * time.Millisecond)
					}
				})
			}
			worst := time.Duration(0)
			for range 200 {
				start := time.Now()
				s, err := q.Acquire(ctx, "ann", 1)
				if err != nil {
					t.Fatal(err)
				}
				worst = max(worst, time.Since(start))
				time.Sleep(time.Duration(rnd.IntN(50)) * time.Millisecond)
				s.Release()
				time.Sleep(time.Duration(rnd.IntN(50)) * time.Millisecond)
			}
			if worst > 100*time.Millisecond {
				t.Errorf("%d slots: ann waited %s", q.opts.Slots, worst)
			}
			cancel()
			wg.Wait()
		})
	}
}

// TestPrincipalsAreForgotten uses many names once.
func TestPrincipalsAreForgotten(t *testing.T) {
	q := New(Options{Slots: 2})
	held := mustAcquire(t, q, "held")
	for i := range 10_000 {
		mustAcquire(t, q, fmt.Sprint(i)).Release()
	}
	if n := len(q.principals); n > 2*minSweep {
		t.Errorf("%d principals are left", n)
	}
	held.Release()
	if q.Stats().Running != 0 {
		t.Error("a held slot was forgotten")
	}
}

func TestRace(t *testing.T) {
	q := New(Options{Slots: 3, Waiting: 20, Long: time.Millisecond})
	var wg sync.WaitGroup
	for g := range 16 {
		rnd := rand.New(rand.NewPCG(3, uint64(g)))
		wg.Go(func() {
			for range 200 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rnd.IntN(3000))*time.Microsecond)
				if s, err := q.Acquire(ctx, fmt.Sprint(g%5), 1); err == nil {
					if rnd.IntN(20) == 0 {
						<-ctx.Done()
					}
					s.Release()
				}
				cancel()
			}
		})
	}
	wg.Wait()
	<-q.Idle()
	if got := q.Stats(); got != (Stats{}) {
		t.Errorf("%+v is left", got)
	}
}

func BenchmarkUncontended(b *testing.B) {
	q := New(Options{Slots: 8, Waiting: 1024})
	for b.Loop() {
		s, err := q.Acquire(b.Context(), "ann", 1)
		if err != nil {
			b.Fatal(err)
		}
		s.Release()
	}
}

// BenchmarkContended takes turns among 100 principals.
func BenchmarkContended(b *testing.B) {
	q := New(Options{Slots: 4, Waiting: 1024})
	b.SetParallelism(100)
	names := make([]string, 100)
	for i := range names {
		names[i] = fmt.Sprint(i)
	}
	b.RunParallel(func(pb *testing.PB) {
		name := names[rand.IntN(len(names))]
		for pb.Next() {
			if s, err := q.Acquire(b.Context(), name, 1); err == nil {
				s.Release()
			}
		}
	})
}
