package main

import (
	"cmp"
	"slices"
	"time"
)

// median returns the median; the upper one of two.
func median[T cmp.Ordered](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// worst returns the largest value.
func worst[T cmp.Ordered](values []T) T { return slices.Max(values) }

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
