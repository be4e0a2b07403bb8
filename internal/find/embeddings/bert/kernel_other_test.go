//go:build !amd64

package bert

import "testing"

func kernels(t *testing.T, test func(t *testing.T)) { test(t) }
