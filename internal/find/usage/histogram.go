package usage

import (
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"time"
)

const (
	latencyBuckets = 48
	latencyUnit    = 13 // the first bucket is 2^13 ns = 8.192 µs wide
)

// Histogram counts latencies in fixed buckets, two per doubling from 8 µs to 100 s; the
// last one is unbounded. Histograms merge by addition.
type Histogram [latencyBuckets]uint32

func bucketOf(d time.Duration) int {
	v := uint64(max(d, 0)) >> latencyUnit
	if v < 2 {
		return int(v)
	}
	e := bits.Len64(v) - 1
	return min(2*e+int(v>>(e-1)&1), latencyBuckets-1)
}

// lowerBound returns the shortest latency of a bucket.
func lowerBound(bucket int) time.Duration {
	if bucket < 2 {
		return time.Duration(bucket) << latencyUnit
	}
	e := bucket / 2
	return time.Duration(2+bucket%2) << (e - 1 + latencyUnit)
}

func (h *Histogram) add(d time.Duration) { h.raise(bucketOf(d), 1) }

// raise adds to a bucket and saturates at the largest number.
func (h *Histogram) raise(bucket int, n uint32) {
	h[bucket] += min(n, math.MaxUint32-h[bucket])
}

func (h *Histogram) merge(other *Histogram) {
	for i, n := range other {
		h.raise(i, n)
	}
}

// quantile estimates the latency that a share p of the calls does not exceed:
// a point inside the right bucket, as if calls were spread evenly in it.
func (h *Histogram) quantile(p float64) time.Duration {
	total := 0.0
	for _, n := range h {
		total += float64(n)
	}
	rank, below := p*total, 0.0
	for i, n := range h {
		if n > 0 && below+float64(n) >= rank {
			low, high := lowerBound(i), lowerBound(i+1)
			return low + time.Duration(float64(high-low)*(rank-below)/float64(n))
		}
		below += float64(n)
	}
	return 0
}

// MarshalJSON writes the buckets that hold something: bucket, count, bucket,
// count and so on.
func (h Histogram) MarshalJSON() ([]byte, error) {
	pairs := make([]uint32, 0, 16)
	for i, n := range h {
		if n > 0 {
			pairs = append(pairs, uint32(i), n)
		}
	}
	return json.Marshal(pairs)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (h *Histogram) UnmarshalJSON(data []byte) error {
	var pairs []uint32
	if err := json.Unmarshal(data, &pairs); err != nil {
		return err
	}
	if len(pairs)%2 != 0 || len(pairs) > 2*latencyBuckets {
		return fmt.Errorf("histogram of %d numbers: want at most %d pairs", len(pairs), latencyBuckets)
	}
	*h = Histogram{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i] >= latencyBuckets {
			return fmt.Errorf("histogram bucket %d: want 0 to %d", pairs[i], latencyBuckets-1)
		}
		h[pairs[i]] = pairs[i+1]
	}
	return nil
}
