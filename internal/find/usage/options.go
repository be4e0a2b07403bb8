package usage

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"
)

// Options configures [Open]. The zero value is ready to use.
type Options struct {
	Dir        string           // folder of the files; "": nothing is persisted
	Calls      int              // calls to retain; 0: 10,000
	Searches   int              // searches to retain; 0: 10,000
	Events     int              // events of agents to retain; 0: 10,000
	Keys       int              // rows of usage, and of hits; 0: 100,000
	Retention  time.Duration    // of calls, searches and events; 0: 8 hours
	Days       int              // retention of daily counts; 0: 400
	FlushEvery time.Duration    // interval of writes to the files; 0: 500 ms
	Log        *slog.Logger     // nil: slog.Default
	Now        func() time.Time // nil: time.Now
	// Called and Stepped get each call and each event of an agent as it was recorded. They must
	// return at once. Nil: no one gets them.
	Called  func(Call)
	Stepped func(Event)
}

// withDefaults sets defaults and rejects invalid values.
func (o Options) withDefaults() (Options, error) {
	for _, n := range []struct {
		name         string
		value        *int
		unset, limit int
	}{
		{"calls", &o.Calls, 10_000, MaxRetained},
		{"searches", &o.Searches, 10_000, MaxRetained},
		{"events", &o.Events, 10_000, MaxRetained},
		{"keys", &o.Keys, 100_000, MaxRetained},
		{"days", &o.Days, 400, MaxDays},
	} {
		*n.value = cmp.Or(*n.value, n.unset)
		if *n.value < 1 || *n.value > n.limit {
			return o, fmt.Errorf("usage: %s is %d: want 1 to %d", n.name, *n.value, n.limit)
		}
	}
	o.Retention = cmp.Or(o.Retention, 8*time.Hour)
	o.FlushEvery = cmp.Or(o.FlushEvery, 500*time.Millisecond)
	if o.Retention < 0 || o.FlushEvery < 0 {
		return o, fmt.Errorf("usage: retention is %s, flushing is every %s: want times above 0", o.Retention, o.FlushEvery)
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Called == nil {
		o.Called = func(Call) {}
	}
	if o.Stepped == nil {
		o.Stepped = func(Event) {}
	}
	return o, nil
}
