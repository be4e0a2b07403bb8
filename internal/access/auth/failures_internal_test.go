package auth

import (
	"fmt"
	"testing"
	"time"
)

func TestFailuresDelayAnswers(t *testing.T) {
	f, now := newFailures(), time.Now()
	want := []time.Duration{0, 0, 0, 0, 0, 250, 500, 1000, 2000, 4000, 5000, 5000}
	for i, w := range want {
		now = now.Add(forgetAfter - time.Millisecond)
		if got := f.add("ann", now); got != w*time.Millisecond {
			t.Errorf("failure %d waits %s, want %s", i+1, got, w*time.Millisecond)
		}
		if got := f.add(fmt.Sprint("other ", i), now); got != 0 {
			t.Errorf("the first failure of another address waits %s", got)
		}
	}
	if got := f.add("ann", now.Add(forgetAfter)); got != 0 {
		t.Errorf("after a minute without failures the next waits %s", got)
	}
}

func TestFailuresAreBounded(t *testing.T) {
	f, now := newFailures(), time.Now()
	for i := range 2 * maxAddresses {
		f.add(fmt.Sprint(i), now)
	}
	if n := f.byAddress.Len(); n != maxAddresses {
		t.Errorf("%d addresses, want %d", n, maxAddresses)
	}
}
