package isolate_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/sql/isolate"
)

func TestAWorkerIsConfined(t *testing.T) {
	t.Setenv("SECRET_OF_OURS", "hunter2")
	t.Setenv("TZ", "UTC")
	w := newWorld(t, func(o *isolate.Options) {
		if o.Memory == 0 {
			o.Memory = 512 << 20
		}
	})
	w.warm(t)
	proc := func(name string) string {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", w.pool.Pids()[0], name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if env := strings.Split(strings.TrimRight(proc("environ"), "\x00"), "\x00"); len(env) != 4 {
		t.Errorf("the environment is %q", env)
	}
	for name, want := range map[string]string{
		"status":        `NoNewPrivs:\s+1\n`,
		"limits":        `Max core file size +0 +0 `,
		"oom_score_adj": `^1000\n`,
	} {
		if got := proc(name); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%s: got\n%swant %s", name, got, want)
		}
	}
	if want := fmt.Sprintf(`Max data size +%d +%[1]d `, 512<<20); !raceDetector && !regexp.MustCompile(want).MatchString(proc("limits")) {
		t.Errorf("limits: got\n%swant %s", proc("limits"), want)
	}
	if text, err := os.ReadFile("/proc/self/status"); err != nil || !strings.Contains(string(text), "NoNewPrivs:\t0") {
		t.Logf("this process had given up rights before: %v", err)
	}
}
