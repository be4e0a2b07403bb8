package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spiced-sql/spiced/internal/test/chattest"
)

// model declares a model whose provider has this address.
func model(address, params string) string {
	return "models: [{name: m, from: 'openai:x', params: {endpoint: '" + address + "/v1'" + params + "}}]\n"
}

// serveModel starts a provider that gives the same answer to every request, and a server
// with a model of it.
func (e *env) serveModel(ctx context.Context, name string, answer chattest.Answer) (*chattest.Server, *server, error) {
	provider, err := chattest.Start()
	if err != nil {
		return nil, nil, err
	}
	provider.Script(chattest.Always(answer))
	s, err := e.serve(ctx, pod{name: name, text: functions + model(provider.URL, ", tools: auto")})
	if err != nil {
		provider.Close()
	}
	return provider, s, err
}

const question = `{"model":"m","stream":true,"messages":[{"role":"user","content":"how far is it?"}]}`

// benchFirstToken compares the time to the first token through spiced, with its tools
// in the request, and through a plain proxy, alternately.
func benchFirstToken(ctx context.Context, e *env) ([]row, error) {
	provider, s, err := e.serveModel(ctx, "firsttoken", chattest.Say(chattest.Text("It is", " far.")))
	if err != nil {
		return nil, err
	}
	defer provider.Close()
	defer s.stop()
	target, err := url.Parse(provider.URL)
	if err != nil {
		return nil, err
	}
	plain := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1,
	})
	defer plain.Close()
	var ours, theirs time.Duration
	const rounds = 400
	for i := range rounds + 20 {
		proxied, err := firstToken(ctx, plain.URL)
		if err != nil {
			return nil, err
		}
		served, err := firstToken(ctx, s.url)
		if err != nil {
			return nil, err
		}
		if i >= 20 { // after warm-up
			theirs, ours = theirs+proxied, ours+served
		}
	}
	added := ours - theirs
	return []row{{
		fmt.Sprintf("chat: time added to the first token, mean of %d, over a plain proxy (%.2f ms)", rounds, ms(theirs/rounds)),
		fmt.Sprintf("%.2f ms", ms(added/rounds)), "≤ 3 ms",
	}}, nil
}

// firstToken returns how long the first text takes. It reads the rest of the answer, so
// that the connection can be reused.
func firstToken(ctx context.Context, base string) (time.Duration, error) {
	began := time.Now()
	var first time.Duration
	err := chunks(ctx, base, func(chunk string) {
		if first == 0 && strings.Contains(chunk, `"content":"It`) {
			first = time.Since(began)
		}
	})
	if err == nil && first == 0 {
		err = errors.New("no text came")
	}
	return first, err
}

// chunks asks the question and passes each piece of the answer to take.
func chunks(ctx context.Context, base string, take func(string)) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/chat/completions", strings.NewReader(question))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	res, err := streams.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("chat: %s", res.Status)
	}
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			take(data)
		}
	}
	return lines.Err()
}

// streams has a connection for each stream.
var streams = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}

const (
	streamCount = 500
	streamTicks = 100
	streamEvery = 100 * time.Millisecond
)

// benchStreams runs many concurrent streams with a token every 100 ms each.
func benchStreams(ctx context.Context, e *env) ([]row, error) {
	var steps []chattest.Step
	for range streamTicks {
		steps = append(steps, chattest.Text("word "), chattest.Wait(streamEvery))
	}
	provider, s, err := e.serveModel(ctx, "streams", chattest.Say(steps...))
	if err != nil {
		return nil, err
	}
	defer provider.Close()
	defer s.stop()
	direct, err := holdStreams(ctx, provider.URL, nil)
	if err != nil {
		return nil, err
	}
	idle, err := s.rss()
	if err != nil {
		return nil, err
	}
	var peak int64
	stalls, err := holdStreams(ctx, s.url, func() {
		if now, err := s.rss(); err == nil {
			peak = max(peak, now)
		}
	})
	if err != nil {
		return nil, err
	}
	return []row{
		{fmt.Sprintf("chat: %d streams at once: memory over idle", streamCount), fmt.Sprintf("%d MB", (peak-idle)>>20), "≤ 300 MB"},
		{
			fmt.Sprintf("chat: %d streams at once, longest stall of %d tokens (straight from the provider: %.0f ms)", streamCount, streamCount*streamTicks,
				ms(worst(direct))),
			fmt.Sprintf("%.0f ms", ms(worst(stalls))), "≤ 100 ms",
		},
	}, nil
}

// holdStreams starts the streams over two seconds and returns the longest stall of
// each: how late a token came after the previous one.
func holdStreams(ctx context.Context, base string, watch func()) ([]time.Duration, error) {
	var mu sync.Mutex
	var all []time.Duration
	group, ctx := errgroup.WithContext(ctx)
	for i := range streamCount {
		group.Go(func() error {
			if err := pause(ctx, time.Duration(i)*2*time.Second/streamCount); err != nil {
				return err
			}
			longest, n := time.Duration(0), 0
			var last time.Time
			err := chunks(ctx, base, func(chunk string) {
				if !strings.Contains(chunk, `"content":"word `) {
					return
				}
				now := time.Now()
				if n++; n > 1 {
					longest = max(longest, now.Sub(last)-streamEvery)
				}
				last = now
			})
			if err == nil && n != streamTicks {
				err = fmt.Errorf("%d tokens, want %d", n, streamTicks)
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, longest)
			return err
		})
	}
	done := make(chan struct{})
	defer func() { <-done }()
	watching, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		defer close(done)
		for watch != nil && pause(watching, 200*time.Millisecond) == nil {
			watch()
		}
	}()
	return all, group.Wait()
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
