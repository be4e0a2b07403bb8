package mcpclient

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/spicepod"
)

// Options configures [New]. The zero value is ready to use.
type Options struct {
	Log     *slog.Logger // nil: discarded
	HTTP    *http.Client // nil: a shared one; redirects and cookies are not used
	Version string       // the runtime's version, sent to servers
	ID      string       // the runtime's; tools that come from it are left out
	// Changed is called when a load would see other tools than the last one: a
	// server connected, or its tools changed. Several causes are one call, and
	// calls do not overlap. It runs in a goroutine of the manager, which Close
	// waits for.
	Changed func()
	// Deadline is how long Prepare waits for servers; 0: DefaultDeadline.
	Deadline time.Duration
	// Offline checks the entries without connecting: no command of the Spicepod
	// is started.
	Offline bool
	// Approved reads the approved tools of the Spicepod in a folder; nil: none
	// are approved. It is called only for entries with pin: checksum.
	Approved func(dir string) (Approvals, error)

	limits limits // set only in tests
}

// Manager keeps MCP servers connected across generations. It is safe for
// concurrent use.
type Manager struct {
	opts   Options
	limits limits
	life   context.Context
	cancel context.CancelFunc
	news   chan struct{} // holds a token when Changed must be called
	owned  sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	links     map[string]*link // by target.key
	published map[string]bool  // keys
}

// New returns a manager without servers.
func New(o Options) *Manager {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Deadline = cmp.Or(o.Deadline, DefaultDeadline)
	m := &Manager{opts: o, limits: o.limits, news: make(chan struct{}, 1), links: map[string]*link{}}
	if m.limits == (limits{}) {
		m.limits = defaultLimits()
	}
	m.life, m.cancel = context.WithCancel(context.Background())
	m.owned.Go(m.notify)
	return m
}

// notify calls Changed, after a short delay that batches changes.
func (m *Manager) notify() {
	for {
		select {
		case <-m.life.Done():
			return
		case <-m.news:
		}
		select {
		case <-m.life.Done():
			return
		case <-time.After(m.limits.debounce):
		}
		select { // changes of the delay are part of this call
		case <-m.news:
		default:
		}
		if m.opts.Changed != nil {
			m.opts.Changed()
		}
	}
}

func (m *Manager) changed() {
	select {
	case m.news <- struct{}{}:
	default:
	}
}

// Prepare connects the new servers of a Spicepod, in parallel, and returns all
// servers in the order of the file. Servers with an unchanged declaration keep
// their sessions. A server that is not connected within the deadline is a
// warning at its position in the file, and the manager keeps retrying. An
// invalid entry is an error there, and is left out.
func (m *Manager) Prepare(ctx context.Context, pod *spicepod.Pod) ([]*Server, spicepod.Problems) {
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, m.opts.Deadline)
	defer cancel()
	var problems spicepod.Problems
	var makers []*maker
	for i := range pod.Tools {
		if !pod.Tools[i].Server() {
			continue
		}
		e := newEntry(pod, i)
		if t := m.declared(e, len(makers)); t != nil && !m.opts.Offline {
			makers = append(makers, newMaker(e, m.link(t), m.opts.ID))
			continue
		}
		problems = append(problems, e.Problems...)
	}
	m.sweep(makers)
	servers := make([]*Server, len(makers))
	for i, k := range makers {
		select {
		case <-k.link.tried:
		case <-ctx.Done():
		}
		listing, missing := k.link.look()
		if missing != "" && (missing != connecting || caller.Err() == nil) {
			k.warn("", "the server is not available: "+missing+"; the connection is retried")
		}
		servers[i] = k.server(listing, m.opts.Approved)
		problems = append(problems, k.Problems...)
	}
	return servers, problems
}

// declared returns the target of an entry, nil if the entry is invalid.
func (m *Manager) declared(e *entry, n int) *target {
	if n >= maxServers {
		e.Fail("", "", "there are more than %d MCP servers", maxServers)
		return nil
	}
	return e.target()
}

// link returns the link of the target, and starts one if needed.
func (m *Manager) link(t *target) *link {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.links[t.key]
	if l == nil {
		l = newLink(m.life, t, m.opts, m.limits, m.changed)
		m.links[t.key] = l
		if m.closed {
			close(l.tried)
		} else {
			m.owned.Go(l.run)
		}
	}
	return l
}

// sweep retires links that neither serve nor are being prepared: those of a
// failed load.
func (m *Manager) sweep(makers []*maker) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keep(func(key string) bool {
		return m.published[key] || slices.ContainsFunc(makers, func(k *maker) bool { return k.link.target.key == key })
	})
}

// keep retires the links whose key does not match.
func (m *Manager) keep(key func(string) bool) {
	for k, l := range m.links {
		if !key(k) {
			delete(m.links, k)
			l.retire()
		}
	}
}

// Publish sets the servers that serve from now on. The others end when their
// calls have ended.
func (m *Manager) Publish(servers []*Server) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.published = map[string]bool{}
	for _, s := range servers {
		m.published[s.link.target.key] = true
	}
	m.keep(func(key string) bool { return m.published[key] })
}

// Status is the state of a server.
type Status struct {
	Name  string
	From  string // without the query of a URL, which may contain a key
	State State
	Error string
}

// Status lists the servers, sorted by name.
func (m *Manager) Status() []Status {
	m.mu.Lock()
	links := make([]*link, 0, len(m.links))
	for _, l := range m.links {
		links = append(links, l)
	}
	m.mu.Unlock()
	list := make([]Status, len(links))
	for i, l := range links {
		list[i] = l.status()
	}
	slices.SortFunc(list, func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.From, b.From))
	})
	return list
}

// Close ends every session, call and process, and waits for all of them.
func (m *Manager) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.cancel()
	m.owned.Wait()
}
