package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// benchIsolated compares a server whose statements run in workers with one whose
// statements run in its process: point queries, ten million rows, and the memory of an
// idle worker.
func benchIsolated(ctx context.Context, e *env) ([]row, error) {
	var rows []row
	for _, measure := range []func(context.Context, *server, *server) (row, error){isolatedPoints, isolatedRows} {
		r, err := e.beside(ctx, measure)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	memory, err := e.idleWorkers(ctx)
	return append(rows, memory), err
}

// beside starts the two servers for measure.
func (e *env) beside(ctx context.Context, measure func(ctx context.Context, workers, process *server) (row, error)) (row, error) {
	workers, err := e.serve(ctx, isolatedPod("workers", "process"))
	if err != nil {
		return row{}, err
	}
	defer workers.stop()
	process, err := e.serve(ctx, isolatedPod("process", "none"))
	if err != nil {
		return row{}, err
	}
	defer process.stop()
	return measure(ctx, workers, process)
}

// isolatedPod serves both tables from the same kind of file, so that only the process
// differs.
func isolatedPod(name, isolation string) pod {
	return pod{
		name: "isolated-" + name, table: wide, text: functions,
		runtime: "  query: { timeout: 10m, isolation: " + isolation + " }\n  caching: { sql_results: { enabled: false } }\n",
	}
}

func isolatedPoints(ctx context.Context, workers, process *server) (row, error) {
	const sql = "SELECT name, haversine_km(a, a, 47.45, -122.31) AS km FROM wide WHERE id = ?"
	post := func(s *server) func(context.Context) (caller, error) {
		return s.poster("/v1/sql", jsonHeader, func(i int) string {
			return fmt.Sprintf(`{"sql":%q,"parameters":[%d]}`, sql, i%wide.rows)
		})
	}
	there, here, ratio, err := compare(ctx, loadCallers, post(workers), post(process))
	return row{
		fmt.Sprintf("isolation: point query over HTTP in workers (%.0f/s) : in process (%.0f/s), %d callers", there, here, loadCallers),
		fmt.Sprintf("%.2f", ratio), "≥ 0.8",
	}, err
}

func isolatedRows(ctx context.Context, workers, process *server) (row, error) {
	speed := func(s *server) func() (float64, error) {
		return func() (float64, error) {
			_, _, took, err := s.download(ctx, "SELECT * FROM wide", "application/vnd.apache.arrow.stream")
			return float64(wide.rows) / 1e6 / took.Seconds(), err
		}
	}
	there, here, ratio, err := alternate(loadRounds, speed(workers), speed(process))
	return row{
		fmt.Sprintf("isolation: 10 million rows × 5 as Arrow over HTTP in a worker (%.1f million/s) : in process (%.1f)", there, here),
		fmt.Sprintf("%.2f", ratio), "≥ 0.8",
	}, err
}

// idleWorkers measures the memory of the workers of a server that has answered one
// round of statements.
func (e *env) idleWorkers(ctx context.Context) (row, error) {
	s, err := e.serve(ctx, pod{name: "isolated-idle", table: places, text: functions})
	if err != nil {
		return row{}, err
	}
	defer s.stop()
	_, err = apply(ctx, loadCallers, s.poster("/v1/sql", jsonHeader, func(i int) string {
		return fmt.Sprintf(`{"sql":%q,"parameters":[%d]}`, pointSQL, i%places.rows)
	}))
	if err != nil {
		return row{}, err
	}
	workers, err := s.children()
	if err != nil {
		return row{}, err
	}
	var most, private int64
	for _, pid := range workers {
		pss, own, err := memoryOf(pid)
		if err != nil {
			return row{}, err
		}
		most, private = max(most, pss), max(private, own)
	}
	return row{
		fmt.Sprintf("isolation: proportional set size of an idle worker, next to %d others (private: %d MB)", len(workers), private>>20),
		fmt.Sprintf("%d MB", most>>20), "≤ 30 MB",
	}, nil
}

// children returns the processes that the server has started.
func (s *server) children() (pids []string, err error) {
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", s.cmd.Process.Pid))
	if err != nil {
		return nil, err
	}
	for _, list := range lists {
		if text, err := os.ReadFile(list); err == nil { // a thread may end meanwhile
			pids = append(pids, strings.Fields(string(text))...)
		}
	}
	if len(pids) == 0 {
		return nil, errors.New("the server has no workers")
	}
	return pids, nil
}

// memoryOf returns the proportional set size of a process, and its private memory.
func memoryOf(pid string) (pss, private int64, err error) {
	text, err := os.ReadFile("/proc/" + pid + "/smaps_rollup")
	if err != nil {
		return 0, 0, err
	}
	for line := range bytes.Lines(text) {
		fields := strings.Fields(string(line))
		if len(fields) != 3 {
			continue
		}
		kib, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			return 0, 0, err
		}
		switch fields[0] {
		case "Pss:":
			pss = kib << 10
		case "Private_Clean:", "Private_Dirty:":
			private += kib << 10
		}
	}
	return pss, private, nil
}
