package runtime

import (
	"github.com/spiced-sql/spiced/internal/access/auth"
	"github.com/spiced-sql/spiced/spicepod"
)

// Keys are the present keys. A reload replaces them; whether keys are needed
// at all is settled at start, since it decides where the doors may listen.
func (d *Runtime) Keys() *auth.Keyring { return d.keys.Load() }

// readKeys reads the keys of a Spicepod. A fault of theirs refuses the load:
// nobody shall be let in, or shut out, by a typing error.
func (d *Runtime) readKeys(pod *spicepod.Pod, report *Report) (*auth.Keyring, error) {
	keys, problems := auth.NewKeyring(pod)
	if problems.HasErrors() {
		return nil, problems
	}
	report.Problems = append(report.Problems, problems...)
	old := d.Keys()
	if old == nil {
		return keys, nil
	}
	if keys.Enabled() != old.Enabled() {
		p := pod.Problem("runtime.auth", "whether keys are needed changes at the next start", "restart spiced")
		p.Severity = spicepod.Warning
		report.Problems = append(report.Problems, p)
		return old, nil
	}
	keys.Adopt(old)
	return keys, nil
}
