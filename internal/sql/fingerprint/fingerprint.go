// Package fingerprint makes statements suitable for logs and metrics: equal for
// statements that differ only in literals, and without any literal.
//
//	f := fingerprint.Of("select * from t where name = 'Alice' and id in (1, 2)")
//	f.Text // select * from t where name = ? and id in (?)
//	f.ID   // 16 hexadecimal digits
//
// Literals are removed first, by DuckDB's own lexical rules, so that no other parser
// sees one. Then github.com/xwb1989/sqlparser normalizes case and spaces, if it
// reads the statement as DuckDB does; otherwise the text is the joined tokens. The
// result does not decide what runs.
package fingerprint

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"

	"github.com/spiced-sql/spiced/internal/kit/lru"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// Limits.
const (
	maxScan  = 64 << 10 // bytes of a statement that are read
	maxText  = 1000     // bytes of a fingerprint's text
	maxParse = 4 << 10  // bytes that the parser gets
	cached   = 1024     // fingerprints
)

// Fingerprint identifies all statements of one shape.
type Fingerprint struct {
	ID   string // of the whole text
	Text string // may be truncated
}

// unreadable is the text of statements whose literals cannot be identified.
const unreadable = "(unreadable)"

var memory = cache{made: lru.New[string, Fingerprint](cached, 0, nil)}

// Of returns the fingerprint of a statement.
func Of(sql string) Fingerprint {
	cut := len(sql) > maxScan
	if cut {
		sql = sql[:maxScan]
	}
	masked, ok := mask(sql)
	if !ok && !cut {
		return newFingerprint(unreadable)
	}
	return memory.of(masked)
}

func newFingerprint(text string) Fingerprint {
	sum := sha256.Sum256([]byte(text))
	if len(text) > maxText {
		text = truncate.Bytes(text, maxText) + " …"
	}
	return Fingerprint{ID: hex.EncodeToString(sum[:8]), Text: text}
}

// cache caches fingerprints by masked text; it has no literals.
type cache struct {
	mu   sync.Mutex
	made *lru.Cache[string, Fingerprint]
}

func (c *cache) of(masked string) Fingerprint {
	c.mu.Lock()
	f, ok := c.made.Get(masked)
	c.mu.Unlock()
	if ok {
		return f
	}
	text, ok := normalize(masked)
	if !ok {
		text = masked
	}
	f = newFingerprint(text)
	if len(masked) <= maxParse {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.made.Put(masked, f, 0)
	}
	return f
}
