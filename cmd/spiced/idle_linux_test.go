package main

import (
	"os"
	"testing"

	process "github.com/spiced-sql/spiced/internal/test/measure"
)

// Code that ran before is no longer resident, and still runs.
func TestReleaseStartup(t *testing.T) {
	resident := func() int64 {
		bytes, err := process.Memory(os.Getpid(), "RssFile")
		if err != nil {
			t.Fatal(err)
		}
		return bytes
	}
	before := resident()
	releaseStartup()
	if after := resident(); after > before-(1<<20) {
		t.Errorf("%d bytes of files are resident, before %d", after, before)
	}
}
