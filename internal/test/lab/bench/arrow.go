package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// arrowRuns is how often each side of the ratio runs.
const arrowRuns = 3

// benchArrow copies ten million rows of another spiced into an acceleration, over Flight
// SQL. The speed is relative to arrow-go's client, which reads the same record batches and
// keeps nothing, on the same processors.
func benchArrow(ctx context.Context, e *env) ([]row, error) {
	source, err := e.serve(ctx, pod{name: "arrow", table: wide, flags: []string{"--flight", anyPort}})
	if err != nil {
		return nil, err
	}
	defer source.stop()
	client, err := source.flightClient(ctx)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	address, err := source.endpoint(ctx, "flight")
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(e.dir, "arrowcopy")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	text := fmt.Sprintf("version: v1\nkind: Spicepod\nname: arrowcopy\nruntime:\n%sdatasets:\n"+
		"  - { name: wide, from: %q, acceleration: { mode: file } }\n", usual, "spice.ai:http://"+address)
	if err := os.WriteFile(filepath.Join(dir, "spicepod.yaml"), []byte(text), 0o600); err != nil {
		return nil, err
	}
	var ratios []float64
	var took time.Duration
	var grown int64
	for n := range arrowRuns {
		began := time.Now()
		if err := decodeRows(ctx, client); err != nil {
			return nil, err
		}
		alone := time.Since(began)
		var more int64
		if took, more, err = e.loadOf(ctx, "wide", dir, "--state-dir", filepath.Join(dir, fmt.Sprint("state", n))); err != nil {
			return nil, err
		}
		grown = max(grown, more)
		ratios = append(ratios, alone.Seconds()/took.Seconds())
	}
	return []row{{
		"10 million rows × 5 of another spiced copied into an acceleration, over Flight SQL : arrow-go's client reads them and keeps nothing, speed",
		fmt.Sprintf("%.2f (%.1f s, memory over idle %d MB)", median(ratios), took.Seconds(), grown>>20), "≥ 0.8",
	}}, nil
}

// loadOf starts spiced over a folder, and returns how long the first load of a dataset took
// and how much memory the process gained meanwhile.
func (e *env) loadOf(ctx context.Context, dataset, dir string, flags ...string) (took time.Duration, grown int64, err error) {
	s, err := e.launch(ctx, dir, flags...)
	if err != nil {
		return 0, 0, err
	}
	defer s.stop()
	if grown, _, err = s.growth(func() error { return s.ready(ctx) }); err != nil {
		return 0, 0, err
	}
	m := regexp.MustCompile(`dataset is ready.*?"dataset":"` + dataset + `".*?"took":"([^"]+)"`).FindStringSubmatch(s.log.String())
	if m == nil {
		return 0, 0, fmt.Errorf("the log does not say that dataset %s is ready", dataset)
	}
	took, err = time.ParseDuration(m[1])
	return took, grown, err
}
