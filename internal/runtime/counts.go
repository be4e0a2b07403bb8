package runtime

import (
	"cmp"
	"fmt"

	"github.com/spiced-sql/spiced/functions"
)

// Count is how many components of a kind are declared, and how many of them are served.
type Count struct {
	Kind             string // datasets, views, functions, metrics, or tools: what models may call
	Declared, Served int
}

// count sets what the report says of the components of the build, and which tests were not
// run because their function is not served.
func count(b *build) {
	r := b.report
	tested := map[string]bool{}
	for _, t := range r.Tests {
		tested[t.Function] = true
	}
	declared := 0
	for i := range b.pod.Functions {
		f := &b.pod.Functions[i]
		if !f.Enabled || !b.pod.Runtime.Functions.Enabled {
			continue
		}
		if declared++; b.set.Get(f.Name) != nil || tested[f.Name] {
			continue
		}
		for j, t := range f.Tests {
			r.Skipped = append(r.Skipped, functions.TestResult{
				Function: f.Name, Name: cmp.Or(t.Name, fmt.Sprintf("test %d", j+1)),
				Position: b.pod.At(fmt.Sprintf("functions[%d].tests[%d]", i, j)), Skipped: true,
				Message: faultOf(b, "function "+f.Name),
			})
		}
	}
	views := -b.unloadable
	for _, v := range b.views {
		if v.LoadFault() == nil {
			views++
		}
	}
	r.Counts = []Count{
		{"datasets", len(b.pod.Datasets), len(b.datasets)},
		{"views", len(b.pod.Views), views},
		{"functions", declared, len(b.set.Declared())},
		{"metrics", len(b.pod.Metrics), r.metrics},
		{"tools", r.tools, r.tools},
	}
}
