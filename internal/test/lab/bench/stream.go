package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/sql/engine"
	"github.com/spiced-sql/spiced/internal/test/measure"
)

// benchStream reads ten million rows in each format and samples the server's memory;
// the speed of Arrow is relative to reading the chunks in this process.
func benchStream(ctx context.Context, e *env) ([]row, error) {
	s, err := e.serve(ctx, pod{name: "stream", table: wide})
	if err != nil {
		return nil, err
	}
	defer s.stop()
	var rows []row
	for _, form := range []string{"text/csv", "application/x-ndjson", "application/vnd.apache.arrow.stream"} {
		grown, size, took, err := s.download(ctx, "SELECT * FROM wide", form)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{
			fmt.Sprintf("10 million rows × 5 as %s (%d MB in %.1f s): memory over idle", form, size>>20, took.Seconds()),
			fmt.Sprintf("%d MB", grown>>20), "≤ 300 MB",
		})
	}
	ratio, err := s.arrowRatio(ctx)
	if err != nil {
		return nil, err
	}
	return append(rows, row{"Arrow over HTTP : reading the same chunks in-process, speed", fmt.Sprintf("%.2f", ratio), "≥ 0.5"}), nil
}

// download reads a result to its end; it returns how far the server's memory rose above
// idle at most.
func (s *server) download(ctx context.Context, statement, form string) (grown, size int64, took time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/v1/sql", strings.NewReader(statement))
	if err != nil {
		return 0, 0, 0, err
	}
	req.Header.Set("Accept", form)
	grown, took, err = s.growth(func() error {
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("status %d", res.StatusCode)
		}
		size, err = io.Copy(io.Discard, res.Body)
		return err
	})
	return grown, size, took, err
}

// growth runs f; it returns how far the server's memory rose above idle at most.
func (s *server) growth(f func() error) (grown int64, took time.Duration, err error) {
	idle, err := s.rss()
	if err != nil {
		return 0, 0, err
	}
	done := make(chan struct{})
	peak := make(chan int64, 1)
	go s.peak(done, peak)
	began := time.Now()
	err = f()
	took = time.Since(began)
	close(done)
	return max(<-peak-idle, 0), took, err
}

// peak samples the server's memory until done and sends the maximum.
func (s *server) peak(done <-chan struct{}, out chan<- int64) {
	var most int64
	for {
		if now, err := s.rss(); err == nil {
			most = max(most, now)
		}
		select {
		case <-done:
			out <- most
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// arrowRatio compares the speed of a download as Arrow with a loop over the same chunks
// in this process, alternately.
func (s *server) arrowRatio(ctx context.Context) (float64, error) {
	db, err := wideTable(ctx, s.dir)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	_, _, ratio, err := alternate(5, func() (float64, error) {
		_, _, took, err := s.download(ctx, "SELECT * FROM wide", "application/vnd.apache.arrow.stream")
		return 1 / took.Seconds(), err
	}, func() (float64, error) {
		took, err := readChunks(ctx, db)
		return 1 / took.Seconds(), err
	})
	return ratio, err
}

// wideTable loads the rows of wide.parquet in this process.
func wideTable(ctx context.Context, dir string) (*engine.DB, error) {
	db, err := engine.Open(ctx, engine.Options{})
	if err != nil {
		return nil, err
	}
	catalog := engine.NewCatalog(engine.Contents{Generation: 1, Relations: []engine.Relation{{Schema: engine.Public, Name: "wide"}}})
	err = db.Publish(ctx, catalog, func(tx *engine.Tx) error {
		return tx.Exec("CREATE TABLE spice.public.wide AS SELECT * FROM read_parquet(" + engine.Literal(dir+"/wide.parquet") + ")")
	})
	if err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

func readChunks(ctx context.Context, db *engine.DB) (time.Duration, error) {
	began := time.Now()
	err := measure.Read(ctx, db, engine.Request{SQL: "SELECT * FROM wide", Limits: engine.Limits{Timeout: deadline}})
	return time.Since(began), err
}
