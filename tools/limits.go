package tools

import "github.com/spiced-sql/spiced/spicepod"

// DeclaredLimits converts declared limits; nil if all are unset.
func DeclaredLimits(l spicepod.Limits) *Limits {
	if l == (spicepod.Limits{}) {
		return nil
	}
	return &Limits{
		Timeout: l.Timeout, MaxRows: l.MaxRows, MaxBytes: int64(l.MaxBytes), Concurrency: l.Concurrency,
		MaxCallsPerSession: l.MaxCallsPerSession,
	}
}
