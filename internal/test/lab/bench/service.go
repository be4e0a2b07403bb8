package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"golang.org/x/sync/errgroup"
)

// Sizes of benchService.
const (
	serviceRows        = 400 * 2048
	serviceBatch       = 512
	serviceConcurrency = 4
	serviceRuns        = 5
)

// serviceRow is a row of a request.
type serviceRow struct {
	X int64 `json:"x"`
}

// benchService computes a column with a service whose answers take a while, and, in
// turns, sends the same batches at the same concurrency with Go's client.
func benchService(ctx context.Context, e *env) ([]row, error) {
	var rows []row
	for _, takes := range []time.Duration{0, 5 * time.Millisecond} {
		r, err := compareService(ctx, e, takes)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func compareService(ctx context.Context, e *env, takes time.Duration) (r row, err error) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var in struct{ Rows []serviceRow }
		if json.NewDecoder(req.Body).Decode(&in) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		time.Sleep(takes)
		values := make([]int64, len(in.Rows))
		for i, row := range in.Rows {
			values[i] = 2 * row.X
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"values": values})
	}))
	defer service.Close()
	s, err := e.serve(ctx, pod{
		name: "service" + takes.String(), runtime: "  query: { timeout: 10m }\n  caching: { sql_results: { enabled: false } }\n",
		table: table{"numbers", "SELECT range AS i FROM range(%d)", serviceRows},
		text: fmt.Sprintf("functions:\n  - { name: f, from: %q, signature: { args: [{ name: x, type: int64 }], returns: int64 }, params: { batch_size: "+
			"%d, batch_concurrency: %d, allowed_endpoint_ranges: [127.0.0.0/8] } }\n",
			service.URL, serviceBatch, serviceConcurrency),
	})
	if err != nil {
		return r, err
	}
	defer s.stop()
	want := int64(serviceRows) * (serviceRows - 1)
	var ours, theirs []float64
	for range serviceRuns {
		began := time.Now()
		got, err := s.sql(ctx, "SELECT sum(f(i)) AS s FROM numbers")
		if err != nil || got != fmt.Sprintf(`[{"s":%d}]`, want) {
			return r, fmt.Errorf("got %.200s, %w", got, err)
		}
		ours = append(ours, serviceRows/time.Since(began).Seconds())
		began = time.Now()
		if err := plainService(ctx, service.URL, want); err != nil {
			return r, err
		}
		theirs = append(theirs, serviceRows/time.Since(began).Seconds())
	}
	return row{
		fmt.Sprintf("service as a function, %d rows a request, %d requests at once, each of %s (Go's client with the same batches: %.0f rows/s)", serviceBatch,
			serviceConcurrency, takes, median(theirs)),
		fmt.Sprintf("%.0f rows/s, %.2fx", median(ours), median(ours)/median(theirs)), "0.9x",
	}, nil
}

// plainService sends all batches with Go's client.
func plainService(ctx context.Context, url string, want int64) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: serviceConcurrency}}
	defer client.CloseIdleConnections()
	sums := make([]int64, serviceRows/serviceBatch)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(serviceConcurrency)
	for n := range sums {
		group.Go(func() (err error) {
			sums[n], err = plainBatch(ctx, client, url, n)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	var sum int64
	for _, s := range sums {
		sum += s
	}
	if sum != want {
		return fmt.Errorf("the client of Go got %d, not %d", sum, want)
	}
	return nil
}

func plainBatch(ctx context.Context, client *http.Client, url string, n int) (sum int64, err error) {
	rows := make([]serviceRow, serviceBatch)
	for i := range rows {
		rows[i].X = int64(n*serviceBatch + i)
	}
	text, err := json.Marshal(map[string]any{"rows": rows})
	if err != nil {
		return 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(text))
	if err != nil {
		return 0, err
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	text, err = io.ReadAll(res.Body)
	var out struct{ Values []int64 }
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	for _, v := range out.Values {
		sum += v
	}
	return sum, err
}
