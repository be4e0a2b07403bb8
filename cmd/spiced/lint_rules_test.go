package main

import (
	"fmt"
	"strings"
	"testing"
)

// More findings than the text shows are counted by rule.
func TestLintCountsRules(t *testing.T) {
	t.Parallel()
	var pod strings.Builder
	pod.WriteString(podHead + "functions:\n")
	for i := range 52 {
		fmt.Fprintf(&pod, "  - { name: f%dx%d, from: sql, signature: { args: [{ name: n, type: int64 }], returns: int64 }, body: n }\n", i, i*i)
	}
	_, said := spiced(t, "lint", folder(t, "spicepod.yaml", pod.String()))
	if !strings.Contains(said, "… and ") || !strings.Contains(said, " 52 no-description") ||
		!strings.Contains(said, "52 undescribed-parameters; --format json has all\n") {
		t.Error(said[max(0, len(said)-1500):])
	}
	_, said = spiced(t, "lint", folder(t, "spicepod.yaml", podHead+"functions:\n  - { name: f, from: sql, signature: { returns: int64 }, body: 1 }\n"))
	if strings.Contains(said, "has all") {
		t.Error(said)
	}
}
