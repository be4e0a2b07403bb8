package main

import (
	"bufio"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/spiced-sql/spiced/functions/prelude"
)

const (
	pointConnections = 32
	pointTime        = 4 * time.Second
	placeRows        = 10_000
	places           = `SELECT range AS id, 'place ' || range AS name, random() * 180 - 90 AS lat, random() * 360 - 180 AS lon FROM range(%d)`
	pointSQL         = "SELECT name, haversine_km(lat, lon, 47.45, -122.31) AS km FROM places WHERE id = ?"
)

// benchPoint compares a point query over HTTP with the same statement prepared in this
// process through database/sql, alternately, both from 32 callers.
func benchPoint(ctx context.Context, e *env) ([]row, error) {
	dir, err := e.pod("point", dataset("places")+functions)
	if err != nil {
		return nil, err
	}
	if err := generate(ctx, dir, "places", fmt.Sprintf(places, placeRows)); err != nil {
		return nil, err
	}
	s, err := e.serve(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	stmt, closeDB, err := preparedPlaces(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer closeDB()
	var ratios, overHTTP, inProcess []float64
	for range 3 {
		h, err := load(ctx, func(ctx context.Context, calls *atomic.Int64) error { return httpCaller(ctx, s, calls) })
		if err != nil {
			return nil, err
		}
		p, err := load(ctx, func(ctx context.Context, calls *atomic.Int64) error { return preparedCaller(ctx, stmt, calls) })
		if err != nil {
			return nil, err
		}
		ratios, overHTTP, inProcess = append(ratios, h/p), append(overHTTP, h), append(inProcess, p)
	}
	return []row{{
		fmt.Sprintf("point query over HTTP (%.0f/s) : prepared in-process through database/sql (%.0f/s), 32 callers", median(overHTTP), median(inProcess)),
		fmt.Sprintf("%.0f %%", 100*median(ratios)), "≥ 60 %",
	}}, nil
}

// preparedPlaces prepares the statement with the same rows, function and schemas.
func preparedPlaces(ctx context.Context, dir string) (*sql.Stmt, func(), error) {
	connector, err := duckdb.NewConnector("", func(c driver.ExecerContext) error {
		_, err := c.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS datafusion; SET search_path = 'memory.main,memory.datafusion'", nil)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(pointConnections)
	db.SetMaxIdleConns(pointConnections)
	ddl := []string{"CREATE TABLE places AS SELECT * FROM read_parquet('" + dir + "/places.parquet')"}
	for _, m := range prelude.Macros {
		if m.Name == "acos" {
			ddl = append(ddl, strings.ReplaceAll(m.SQL(), "spice.", "memory."))
		}
	}
	ddl = append(ddl, "CREATE FUNCTION haversine_km(lat1 DOUBLE, lon1 DOUBLE, lat2 DOUBLE, lon2 DOUBLE) AS CAST(("+haversine+") AS DOUBLE)")
	for _, d := range ddl {
		if _, err := db.ExecContext(ctx, d); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", d, err)
		}
	}
	stmt, err := db.PrepareContext(ctx, pointSQL)
	return stmt, func() { db.Close() }, err
}

// load runs 32 callers for a while and returns their calls per second.
func load(ctx context.Context, caller func(context.Context, *atomic.Int64) error) (float64, error) {
	return loadBy(ctx, pointConnections, caller)
}

func loadBy(ctx context.Context, callers int, caller func(context.Context, *atomic.Int64) error) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, pointTime)
	defer cancel()
	var calls atomic.Int64
	var wg sync.WaitGroup
	errs := make(chan error, callers)
	began := time.Now()
	for range callers {
		wg.Go(func() {
			if err := caller(ctx, &calls); err != nil && ctx.Err() == nil {
				errs <- err
				cancel()
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		return 0, err
	default:
		return float64(calls.Load()) / time.Since(began).Seconds(), nil
	}
}

func preparedCaller(ctx context.Context, stmt *sql.Stmt, calls *atomic.Int64) error {
	for i := 0; ctx.Err() == nil; i++ {
		var name string
		var km float64
		if err := stmt.QueryRowContext(context.WithoutCancel(ctx), i%placeRows).Scan(&name, &km); err != nil {
			return err
		}
		calls.Add(1)
	}
	return nil
}

// httpCaller keeps one connection busy. It writes requests and parses answers by hand,
// because the load generator shares the machine with the server and must be cheap.
func httpCaller(ctx context.Context, s *server, calls *atomic.Int64) error {
	host := strings.TrimPrefix(s.url, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	r := bufio.NewReader(conn)
	for i := 0; ctx.Err() == nil; i++ {
		body := fmt.Sprintf(`{"sql":%q,"parameters":[%d]}`, pointSQL, i%placeRows)
		_, err := fmt.Fprintf(conn, "POST /v1/sql HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", host, len(body), body)
		if err != nil {
			return err
		}
		if err := readAnswer(r); err != nil {
			return err
		}
		calls.Add(1)
	}
	return nil
}

func readAnswer(r *bufio.Reader) error {
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return errors.New(res.Status)
	}
	return nil
}
