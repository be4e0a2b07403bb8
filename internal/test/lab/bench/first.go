package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// firstRounds is how often the small Spicepod is started.
const firstRounds = 11

// idleSettles is how long after its first answer the memory of a server is measured.
const idleSettles = 4 * time.Second

// benchFirst measures a small Spicepod: from starting the process to the answer of the
// first tool call, and the memory that the process then needs.
func benchFirst(ctx context.Context, e *env) ([]row, error) {
	dir, err := e.write(ctx, pod{name: "first", table: table{"things", "SELECT range AS id, range * 2 AS v FROM range(%d)", 100}, text: functions})
	if err != nil {
		return nil, err
	}
	var times []time.Duration
	var memory string
	for i := range firstRounds {
		s, err := e.launch(ctx, dir)
		if err != nil {
			return nil, err
		}
		took, err := s.firstAnswer(ctx, "/v1/tools/haversine_km:invoke", `{"args":{"lat1":0,"lon1":0,"lat2":0,"lon2":1}}`, `"ok":true`)
		if err == nil && i == firstRounds-1 {
			memory, err = s.idle(ctx)
		}
		s.stop()
		if err != nil {
			return nil, err
		}
		times = append(times, took)
	}
	return []row{
		{
			fmt.Sprintf("a small Spicepod, start of the process to the first tool call's answer, median of %d (worst)", firstRounds),
			fmt.Sprintf("%d ms (%d ms)", median(times).Milliseconds(), worst(times).Milliseconds()), "≤ 60 ms",
		},
		{"the same, idle: resident memory, and that of the worker that a statement started", memory, "≤ 75 MB"},
	}, nil
}

// firstAnswer posts JSON until an answer has the text want, and returns the time since the start.
func (s *server) firstAnswer(ctx context.Context, path, body, want string) (time.Duration, error) {
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, strings.NewReader(body))
		if err != nil {
			return 0, err
		}
		req.Header.Set("Content-Type", "application/json")
		text, err := answer(req)
		if err == nil && strings.Contains(text, want) {
			return time.Since(s.began), nil
		}
		if err == nil {
			err = fmt.Errorf("the answer has no %s: %s", want, text)
		}
		if time.Since(s.began) > deadline {
			return 0, fmt.Errorf("%w\n%s", err, s.log)
		}
		time.Sleep(time.Millisecond)
	}
}

// idle returns the memory of the server and of the worker that one statement starts.
func (s *server) idle(ctx context.Context) (string, error) {
	if _, err := s.sql(ctx, "SELECT count(*) FROM things"); err != nil {
		return "", err
	}
	resident, err := s.settled(ctx)
	if err != nil {
		return "", err
	}
	pss, _, err := memoryOf(strconv.Itoa(s.cmd.Process.Pid))
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("%d MB (proportional: %d MB)", resident>>20, pss>>20)
	workers, err := s.children()
	if err != nil {
		return "", err
	}
	for _, pid := range workers {
		pss, private, err := memoryOf(pid)
		if err != nil {
			return "", err
		}
		text += fmt.Sprintf("; worker, proportional: %d MB (private: %d MB)", pss>>20, private>>20)
	}
	return text, nil
}

// settled returns the resident memory of the server once it is idle.
func (s *server) settled(ctx context.Context) (int64, error) {
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(idleSettles):
	}
	return s.rss()
}
