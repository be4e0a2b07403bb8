package fair

import "time"

// Slot is the right to run. Release it.
type Slot struct {
	queue      *Queue
	principal  *principal // nil: released
	began      time.Duration
	long       bool
	prev, next *Slot // in the list of short slots
}

// Release gives the slot back. Further calls do nothing.
func (s *Slot) Release() { s.queue.release(s) }

// slotList has slots in the order in which they were lent.
type slotList struct{ first, last *Slot }

func (l *slotList) add(s *Slot) {
	s.prev = l.last
	if l.last == nil {
		l.first = s
	} else {
		l.last.next = s
	}
	l.last = s
}

func (l *slotList) remove(s *Slot) {
	if s.prev == nil {
		l.first = s.next
	} else {
		s.prev.next = s.next
	}
	if s.next == nil {
		l.last = s.prev
	} else {
		s.next.prev = s.prev
	}
	s.prev, s.next = nil, nil
}
