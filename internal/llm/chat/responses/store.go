package responses

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/lru"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/chat/wire"
)

// Chain is the messages of a chat up to and including an answer, without instructions.
// It must not be modified.
type Chain []chat.Message

// StoreOptions are the limits of a [Store]; 0 means the default.
type StoreOptions struct {
	Entries int           // answers
	Bytes   int           // of all chains; what two chains share counts twice
	TTL     time.Duration // since the answer
}

// Store stores answers for previous_response_id and item_reference in memory and evicts
// the least recently used ones. It is safe for concurrent use.
type Store struct {
	limits StoreOptions

	mu      sync.Mutex
	entries *lru.Cache[key, *entry]
	items   map[key]*entry // by the id of an item of the answer
}

// key is an id of an owner: no one finds the answers of another.
type key struct{ owner, id string }

type entry struct {
	key   key
	root  string // the first answer of the chain
	chain Chain
	items map[string]json.RawMessage // of the answer, by id
	uses  []chat.Use                 // of the chain
	until time.Time
}

// NewStore returns an empty store.
func NewStore(o StoreOptions) *Store {
	if o.Entries <= 0 {
		o.Entries = DefaultEntries
	}
	if o.Bytes <= 0 {
		o.Bytes = DefaultBytes
	}
	if o.TTL <= 0 {
		o.TTL = DefaultTTL
	}
	s := &Store{limits: o, items: map[key]*entry{}}
	s.entries = lru.New(o.Entries, int64(o.Bytes), s.removed)
	return s
}

// put stores the chain of an answer, unless it is larger than the whole store.
func (s *Store) put(owner, id, root string, chain Chain, uses []chat.Use) {
	e := &entry{
		key: key{owner, id}, root: root, chain: slices.Clone(chain), uses: uses,
		until: time.Now().Add(s.limits.TTL),
	}
	e.items = answerItems(e.chain)
	bytes := len(owner) + len(id) + size(e.chain)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries.Delete(e.key)
	if bytes > s.limits.Bytes {
		return
	}
	for item := range e.items {
		s.items[key{owner, item}] = e
	}
	s.entries.Put(e.key, e, int64(bytes))
}

// Get returns the chain of an owner's answer.
func (s *Store) Get(owner, id string) (Chain, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.use(key{owner, id})
	if e == nil {
		return nil, false
	}
	return slices.Clone(e.chain), true
}

// origin returns the first answer of the chain of an answer, and the uses of the chain.
func (s *Store) origin(owner, id string) (root string, uses []chat.Use) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.use(key{owner, id}); e != nil {
		return e.root, e.uses
	}
	return id, nil
}

// item returns an item of an owner's answer.
func (s *Store) item(owner, id string) (json.RawMessage, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.items[key{owner, id}]
	if e == nil {
		return nil, false
	}
	if e = s.use(e.key); e == nil {
		return nil, false
	}
	raw, ok := e.items[id]
	return raw, ok
}

// use returns an entry and marks it as just used, or nil. It removes the entry
// if that has expired.
func (s *Store) use(k key) *entry {
	e, ok := s.entries.Get(k)
	if ok && !time.Now().Before(e.until) {
		s.entries.Delete(k)
		return nil
	}
	return e
}

func (s *Store) removed(_ key, e *entry) {
	for item := range e.items {
		if k := (key{e.key.owner, item}); s.items[k] == e {
			delete(s.items, k)
		}
	}
}

// Resume resolves references of the request: it adds the chain of previous_response_id
// after the instructions, and the items of item_reference. Its errors are [*chat.Error]
// of the client's request.
func (s *Store) Resume(owner string, r *Request) error {
	if r.resumed {
		return nil
	}
	if r.references {
		lookup := func(id string) (json.RawMessage, bool) { return s.item(owner, id) }
		o := wire.New(r.raw, element)
		in := parseInput(o, lookup)
		if err := o.Err(); err != nil {
			return err
		}
		r.Messages = slices.Concat(r.Messages[:r.instructed()], in.messages)
		r.Uses = append(r.Uses, in.uses...)
	}
	if r.PreviousID != "" {
		chain, ok := s.Get(owner, r.PreviousID)
		if !ok {
			return notStored(r.PreviousID)
		}
		r.Messages = slices.Insert(slices.Clone(r.Messages), r.instructed(), chain...)
		var uses []chat.Use
		r.root, uses = s.origin(owner, r.PreviousID)
		r.Uses = append(r.Uses, uses...)
	}
	if len(r.Messages) > chat.MaxMessages {
		return chat.Invalid("input", "the chat has %d messages; at most %d", len(r.Messages), chat.MaxMessages)
	}
	r.resumed = true
	return nil
}

// errNotStored is the cause of an error that has a separate code.
var errNotStored = errors.New("response not stored")

func notStored(id string) *chat.Error {
	e := chat.Invalid("previous_response_id",
		"response %q not found: it may have expired, or store was false; send the whole input", id)
	e.Cause = errNotStored
	return e
}

// Save stores an answer and the messages before it, unless the client set store: false.
// The options must be those of the encoder.
func (s *Store) Save(owner string, o EncoderOptions, response *chat.Response) {
	if o.Request == nil || !o.Request.Store {
		return
	}
	r := o.Request
	answer := response.Message()
	items := encodeItems(o, response)
	if len(items) > 0 {
		answer.Raw, answer.Form = wire.Join(items), chat.FormResponses
	}
	s.put(owner, o.ID, r.Root(o.ID), append(slices.Clone(r.Messages[r.instructed():]), answer), r.chainUses(items))
}

// chainUses returns the uses of the request's chat with the items of its answer: a model
// behind another form may continue it.
func (r *Request) chainUses(answer []json.RawMessage) []chat.Use {
	var uses []chat.Use
	for _, use := range append(usesOf(answer), r.Uses...) {
		if !use.Earlier && !strings.HasPrefix(use.Path, "input") {
			continue
		}
		use.Path, use.Earlier = "previous_response_id", true
		if !slices.Contains(uses, use) {
			uses = append(uses, use)
		}
	}
	return uses
}

// instructed returns how many messages the instructions are.
func (r *Request) instructed() int {
	if r.Instructions != "" {
		return 1
	}
	return 0
}

// answerItems returns the items of the last message by id.
func answerItems(chain Chain) map[string]json.RawMessage {
	if len(chain) == 0 || chain[len(chain)-1].Form != chat.FormResponses {
		return nil
	}
	var raws []json.RawMessage
	if json.Unmarshal(chain[len(chain)-1].Raw, &raws) != nil {
		return nil
	}
	items := map[string]json.RawMessage{}
	for _, raw := range raws {
		var item struct{ ID, Type string }
		if json.Unmarshal(raw, &item) == nil && item.ID != "" && item.Type != "item_reference" {
			items[item.ID] = raw
		}
	}
	return items
}

// perMessage and perPart approximate the size of the structs.
const (
	perMessage = 128
	perPart    = 256
)

// size approximates the memory that the messages take, in bytes.
func size(messages []chat.Message) int {
	n := 0
	for _, m := range messages {
		n += perMessage + 2*len(m.Raw) + partsSize(m.Parts) // Raw again for its items
	}
	return n
}

func partsSize(parts []chat.Part) int {
	n := 0
	for _, p := range parts {
		n += perPart + len(p.Text) + len(p.Raw)
		if p.Image != nil {
			n += len(p.Image.Data) + len(p.Image.URL)
		}
		if p.File != nil {
			n += len(p.File.Data) + len(p.File.URL)
		}
		if p.Call != nil {
			n += len(p.Call.ID) + len(p.Call.Name) + len(p.Call.Namespace) + len(p.Call.Arguments)
		}
		if p.Result != nil {
			n += len(p.Result.ID) + len(p.Result.Name) + partsSize(p.Result.Parts)
		}
	}
	return n
}
