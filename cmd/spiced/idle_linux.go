package main

import (
	"bufio"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
)

// releaseStartup returns memory that only the start needed: freed heap, and the pages of
// the program's code. The calls that follow read a fraction of them back from the page
// cache. Code is never written, so that nothing is lost.
func releaseStartup() {
	debug.FreeOSMemory()
	path, err := os.Executable()
	if err != nil {
		return
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer maps.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		fields := strings.Fields(lines.Text()) // 00a99000-048b6000 r-xp 00699000 fe:00 1234 /usr/bin/spiced
		if len(fields) < 6 || fields[1] != "r-xp" || fields[5] != path {
			continue
		}
		from, to, _ := strings.Cut(fields[0], "-")
		start, err1 := strconv.ParseUint(from, 16, 64)
		end, err2 := strconv.ParseUint(to, 16, 64)
		if err1 == nil && err2 == nil {
			// If it fails, the pages stay.
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, uintptr(start), uintptr(end-start), syscall.MADV_DONTNEED)
		}
	}
}
