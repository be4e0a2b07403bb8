package responses

import (
	"bytes"
	"fmt"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/llm/chat"
	"github.com/spiced-sql/spiced/internal/llm/upstream"
)

// Put stores the chain of an answer.
func (s *Store) Put(owner, id string, chain Chain) { s.put(owner, id, id, chain, nil) }

// DecodeEvents decodes the data lines of a stream.
func DecodeEvents(lines [][]byte) ([]chat.Delta, error) {
	d := &decoder{fail: func(code errcode.Code, format string, args ...any) *chat.Error {
		return &chat.Error{Code: code, Message: fmt.Sprintf(format, args...)}
	}}
	var all []chat.Delta
	for _, line := range lines {
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		if !ok {
			continue
		}
		deltas, done, err := d.Event(upstream.Event{Data: data})
		all = append(all, deltas...)
		if err != nil || done {
			return all, err
		}
	}
	_, err := d.End()
	return all, err
}

// Len returns the number of answers in the store.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.entries.Len()
}

// Bytes returns the size of all chains, as [StoreOptions] counts it.
func (s *Store) Bytes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int(s.entries.Weight())
}
