package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
)

// cachedSQL is a statement of about a millisecond.
const cachedSQL = "SELECT count(*) AS n, avg(haversine_km(lat, lon, 47.45, -122.31)) AS km FROM places"

// benchCache compares answers from the result cache with running the same statement
// each time, alternately, both over HTTP from 32 callers.
func benchCache(ctx context.Context, e *env) ([]row, error) {
	dir, err := e.podWith("cache", "", dataset("places")+functions) // the cache is enabled by default
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
	var cached, made []float64
	for range 3 {
		for _, side := range []struct {
			header string
			to     *[]float64
		}{{"", &cached}, {"Cache-Control: no-cache\r\n", &made}} {
			n, err := load(ctx, func(ctx context.Context, calls *atomic.Int64) error { return s.repeat(ctx, side.header, calls) })
			if err != nil {
				return nil, err
			}
			*side.to = append(*side.to, n)
		}
	}
	return []row{{
		fmt.Sprintf("result cache: /v1/sql answers of one statement, 32 connections (run each time: %.0f/s)", median(made)),
		fmt.Sprintf("%.0f/s", median(cached)), "reported",
	}}, nil
}

// repeat sends the same statement repeatedly; see httpCaller.
func (s *server) repeat(ctx context.Context, header string, calls *atomic.Int64) error {
	host := strings.TrimPrefix(s.url, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	r := bufio.NewReader(conn)
	request := fmt.Sprintf("POST /v1/sql HTTP/1.1\r\nHost: %s\r\nContent-Type: text/plain\r\n%sContent-Length: %d\r\n\r\n%s", host, header, len(cachedSQL), cachedSQL)
	for ctx.Err() == nil {
		if _, err := conn.Write([]byte(request)); err != nil {
			return err
		}
		if err := readAnswer(r); err != nil {
			return err
		}
		calls.Add(1)
	}
	return nil
}
