package udf

import (
	"github.com/spiced-sql/spiced/engine"
	"github.com/spiced-sql/spiced/functions"
	"github.com/spiced-sql/spiced/spicepod"
)

// Fill brings the introspection tables from the functions of prev to those of
// next: the rows of functions that are new, gone or different are rewritten.
func Fill(tx *engine.Tx, pod *spicepod.Pod, next, prev *functions.Set) error {
	i := installer{tx: tx, pod: pod, next: next, prev: prev}
	return i.rows()
}
