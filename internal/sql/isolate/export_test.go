package isolate

import (
	"encoding/json"
	"io"
	"slices"
)

// The frames, for workers that do what none should.
const (
	KindReady   = byte(kindReady)
	KindColumns = byte(kindColumns)
	KindRows    = byte(kindRows)
	KindCall    = byte(kindCall)
	KindEnd     = byte(kindEnd)
	MaxCalls    = maxCalls
)

// SendFrame writes a frame with v as JSON, or as it is if it is bytes.
func SendFrame(w io.Writer, k byte, v any) {
	payload, ok := v.([]byte)
	if !ok && v != nil {
		payload, _ = json.Marshal(v)
	}
	_ = writeFrame(w, kind(k), payload)
}

// ReadFrame reads a frame of the parent's.
func ReadFrame(r io.Reader) (byte, []byte, error) {
	f, err := readFrame(r, fromParent)
	return byte(f.kind), f.payload, err
}

// Pids are the processes of the idle workers.
func (p *Pool) Pids() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	var pids []int
	for _, c := range p.levels {
		for _, w := range c.idle {
			pids = append(pids, w.cmd.Process.Pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// Retire has every idle worker end after its next statement.
func (p *Pool) Retire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.levels {
		for _, w := range c.idle {
			w.served = maxStatements
		}
	}
}

// DefaultMemory is defaultMemory.
var DefaultMemory = defaultMemory
