package buildinfo

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestRead(t *testing.T) {
	vcs := []debug.BuildSetting{{Key: "vcs.revision", Value: "2e0558e4f79fffede4bc74e1d6f6d6748600999c"}, {Key: "vcs.modified", Value: "true"}}
	for name, c := range map[string]struct {
		build           debug.BuildInfo
		version, commit string
		want            Info
	}{
		"go build":            {debug.BuildInfo{Main: debug.Module{Version: "v0.3.0+dirty"}, Settings: vcs}, "", "", Info{"v0.3.0+dirty", "2e0558e4f79f", true}},
		"go install":          {debug.BuildInfo{Main: debug.Module{Version: "v0.3.0"}}, "", "", Info{"v0.3.0", "", false}},
		"go run":              {debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "", "", Info{unknown, "", false}},
		"no build info":       {debug.BuildInfo{}, "", "", Info{unknown, "", false}},
		"linker":              {debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: vcs}, "v1.0.0", "abc1234", Info{"v1.0.0", "abc1234", false}},
		"linker, other files": {debug.BuildInfo{}, "v1.0.0", "abc1234-dirty", Info{"v1.0.0", "abc1234", true}},
	} {
		if got := read(&c.build, c.version, c.commit); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

func TestDetails(t *testing.T) {
	platform := runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH + ")"
	for info, want := range map[Info]string{
		{"v1", "abc", false}: "(commit abc, DuckDB v2, " + platform,
		{"v1", "abc", true}:  "(commit abc, modified, DuckDB v2, " + platform,
		{"v1", "", false}:    "(DuckDB v2, " + platform,
	} {
		if got := info.Details("DuckDB v2"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
