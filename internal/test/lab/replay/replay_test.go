package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../../../.."

// TestReplayRefusesWrongFlags: what cannot be compared is an error, not a replay without differences.
func TestReplayRefusesWrongFlags(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]options{
		"must name binaries of spiced":     {root: root, latest: self},
		"nosuch: no such file":             {root: root, old: self, latest: "nosuch"},
		`there is no entrance "postgress"`: {root: root, old: self, latest: self, only: "http,postgress"},
	} {
		if _, err := replay(t.Context(), io.Discard, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestReplay compares the spiced of this tree with itself, and with itself on a Spicepod whose
// function has another default.
func TestReplay(t *testing.T) {
	spiced := filepath.Join(t.TempDir(), "spiced")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", spiced, "./cmd/spiced")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build spiced: %v\n%s", err, out)
	}
	changed := filepath.Join(t.TempDir(), "spiced")
	script := fmt.Sprintf("#!/bin/sh\n[ \"$1\" != serve ] || sed -i 's/default: hello/default: hullo/' \"$2/spicepod.yaml\"\nexec %q \"$@\"\n", spiced)
	if err := os.WriteFile(changed, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SPICED_TEST_EXTENSIONS", "") // without the servers of databases
	for _, c := range []struct {
		name, latest, only string
		differs            bool
	}{
		{"the same binary", spiced, "http,postgres,flight,mcp,reload", false},
		{"another answer", changed, "http", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			n, err := replay(t.Context(), &out, options{root: root, old: spiced, latest: c.latest, only: c.only})
			if err != nil || (n > 0) != c.differs {
				t.Errorf("%d differences, %v\n%s", n, err, &out)
			}
			if found := strings.Contains(out.String(), "hullo, Ann"); found != c.differs {
				t.Errorf("the other default was found: %t\n%s", found, &out)
			}
		})
	}
}
