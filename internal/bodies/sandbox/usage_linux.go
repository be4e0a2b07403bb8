package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// usageOf is what a process uses with its children. Its memory is looked up only if it may
// be more than memory.
func usageOf(pid int, memory int64) (usage, bool) {
	var u usage
	pids, seen := []int{pid}, []int(nil)
	var resident int64
	for len(pids) > 0 && u.processes < 4096 {
		pid := pids[0]
		pids = pids[1:]
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		u.processes++
		cpu, pages := parseStat(string(stat))
		u.cpu += cpu
		resident += pages * int64(os.Getpagesize())
		pids = append(pids, children(pid)...)
		seen = append(seen, pid)
	}
	if resident > memory { // perhaps counted twice: processes share pages
		for _, pid := range seen {
			u.memory += proportional(pid)
		}
	}
	return u, u.processes > 0
}

// parseStat reads the processor time, with that of children that have ended, and the pages
// in memory from /proc/PID/stat.
func parseStat(stat string) (cpu time.Duration, pages int64) {
	_, rest, _ := strings.Cut(stat[strings.LastIndexByte(stat, ')')+1:], " ")
	fields := strings.Fields(rest)
	if len(fields) < 22 {
		return 0, 0
	}
	var ticks, n int64
	for _, f := range fields[11:15] {
		fmt.Sscan(f, &n)
		ticks += n
	}
	fmt.Sscan(fields[21], &pages)
	return time.Duration(ticks) * time.Second / clockTicks, pages
}

// clockTicks is USER_HZ, which is 100 on every architecture that is served.
const clockTicks = 100

func children(pid int) (pids []int) {
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, t := range tasks {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, t.Name()))
		for _, f := range strings.Fields(string(text)) {
			var child int
			if _, err := fmt.Sscan(f, &child); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

// leavesProcesses reports whether a process has children that have not ended.
func leavesProcesses(pid int) bool {
	if childless(pid) {
		return false
	}
	for _, child := range children(pid) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child))
		if err != nil {
			continue
		}
		state := strings.TrimSpace(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X") {
			return true
		}
	}
	return false
}

// childless reports that a process has one thread, and that one no children. It is for each
// call, and thus takes few system calls.
func childless(pid int) bool {
	var tasks unix.Stat_t
	folder := fmt.Sprintf("/proc/%d/task", pid)
	if unix.Stat(folder, &tasks) != nil || tasks.Nlink != 3 { // a folder for each thread
		return false
	}
	fd, err := unix.Open(fmt.Sprintf("%s/%d/children", folder, pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, make([]byte, 1))
	return n == 0 && err == nil
}

// proportional is the memory of a process without files that are mapped; pages that
// processes share count in part.
func proportional(pid int) (bytes int64) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		if name == "Pss_Anon" || name == "Pss_Shmem" {
			var kib int64
			fmt.Sscan(value, &kib)
			bytes += kib << 10
		}
	}
	return bytes
}
