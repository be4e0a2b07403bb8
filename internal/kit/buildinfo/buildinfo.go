// Package buildinfo says which build of spiced runs.
//
// A plain `go build` or `go install` records module version and commit in the binary. A
// build without version control, such as one from an archive, sets them with
//
//	go build -ldflags "-X github.com/spiced-sql/spiced/internal/kit/buildinfo.version=v1.2.3 \
//		-X …/buildinfo.commit=abc1234"
//
// Both are read with
//
//	info := buildinfo.Read()
//	fmt.Println("spiced", info.Version, info.Details("DuckDB v1.5.5"))
package buildinfo

import (
	"runtime"
	"runtime/debug"
	"strings"
)

// Set by the linker.
var version, commit string

// unknown is the version of a build that records none, such as that of `go run` or of a
// test.
const unknown = "v0.0.0-unknown"

// shortCommit is the length of a commit in texts.
const shortCommit = 12

// Info describes a build.
type Info struct {
	Version  string // such as v1.2.3, or a pseudo-version of the commit; never empty
	Commit   string // at most 12 characters; "" if not recorded
	Modified bool   // whether the source differs from the commit
}

// Read returns the build of this process.
func Read() Info {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		build = &debug.BuildInfo{}
	}
	return read(build, version, commit)
}

// read prefers what the linker set.
func read(build *debug.BuildInfo, version, commit string) Info {
	info := Info{Version: build.Main.Version}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			info.Commit = s.Value
		case "vcs.modified":
			info.Modified = s.Value == "true"
		}
	}
	if commit != "" {
		info.Commit, info.Modified = strings.CutSuffix(commit, "-dirty")
	}
	if len(info.Commit) > shortCommit {
		info.Commit = info.Commit[:shortCommit]
	}
	if version != "" {
		info.Version = version
	}
	if info.Version == "" || info.Version == "(devel)" {
		info.Version = unknown
	}
	return info
}

// Details returns commit, parts, Go's version and the platform, in parentheses.
func (i Info) Details(parts ...string) string {
	var all []string
	if i.Commit != "" {
		all = append(all, "commit "+i.Commit)
		if i.Modified {
			all[0] += ", modified"
		}
	}
	all = append(append(all, parts...), runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH)
	return "(" + strings.Join(all, ", ") + ")"
}
