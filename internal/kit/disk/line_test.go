package disk_test

import (
	"bytes"
	"testing"

	"github.com/spiced-sql/spiced/internal/kit/disk"
)

func TestLine(t *testing.T) {
	for _, payload := range []string{"", "x", `{"a": "b c"}`} {
		line := disk.AppendLine([]byte("before\n"), []byte(payload))
		if len(line) != len("before\n")+len(payload)+disk.LineOverhead {
			t.Errorf("%q: a line of %d bytes", payload, len(line))
		}
		line = bytes.TrimSuffix(bytes.TrimPrefix(line, []byte("before\n")), []byte("\n"))
		if got, err := disk.LinePayload(line); err != nil || string(got) != payload {
			t.Errorf("%q: got %q, %v", payload, got, err)
		}
		for i := range line { // every byte counts, and every end
			damaged := bytes.Clone(line)
			damaged[i] ^= 1
			if got, err := disk.LinePayload(damaged); err == nil {
				t.Errorf("%q with another byte %d: got %q", payload, i, got)
			}
			if got, err := disk.LinePayload(line[:i]); err == nil {
				t.Errorf("%q cut to %d bytes: got %q", payload, i, got)
			}
		}
	}
}
