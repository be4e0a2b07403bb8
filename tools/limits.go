package tools

import "github.com/spiced-sql/spiced/spicepod"

// DeclaredLimits are the limits of a declaration, nil when it has none.
func DeclaredLimits(l spicepod.Limits) *Limits {
	if l == (spicepod.Limits{}) {
		return nil
	}
	return &Limits{Timeout: l.Timeout, MaxRows: l.MaxRows, MaxBytes: int64(l.MaxBytes), Concurrency: l.Concurrency}
}
