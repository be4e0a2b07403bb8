package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// anyPort lets a listener choose its port; see [server.endpoint].
const anyPort = "127.0.0.1:0"

// endpoint returns the address of the named protocol.
func (s *server) endpoint(ctx context.Context, name string) (string, error) {
	body, err := s.get(ctx, "/v1/status")
	if err != nil {
		return "", err
	}
	var components []struct{ Name, Endpoint string }
	if err := json.Unmarshal([]byte(body), &components); err != nil {
		return "", err
	}
	for _, c := range components {
		if c.Name == name {
			return c.Endpoint, nil
		}
	}
	return "", fmt.Errorf("spiced does not serve %q", name)
}

// flightRuns is how often each side of the ratio runs.
const flightRuns = 5

// benchFlight reads ten million rows over Flight and samples the server's memory; the
// speed is relative to reading the chunks in this process. As in benchStream the client
// discards what it receives. The cost of decoding record batches, as arrow-go's client
// shares the machine with the server, is reported separately.
func benchFlight(ctx context.Context, e *env) ([]row, error) {
	s, err := e.serve(ctx, pod{name: "flight", table: wide, flags: []string{"--flight", anyPort}})
	if err != nil {
		return nil, err
	}
	defer s.stop()
	client, err := s.flightClient(ctx)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	db, err := wideTable(ctx, s.dir)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	var dropping, decoding []float64
	var grown int64
	for range flightRuns {
		inProcess, err := readChunks(ctx, db)
		if err != nil {
			return nil, err
		}
		for _, side := range []struct {
			read func(context.Context, *flightsql.Client) error
			to   *[]float64
		}{{dropRows, &dropping}, {decodeRows, &decoding}} {
			more, took, err := s.growth(func() error { return side.read(ctx, client) })
			if err != nil {
				return nil, err
			}
			grown = max(grown, more)
			*side.to = append(*side.to, inProcess.Seconds()/took.Seconds())
		}
	}
	return []row{
		{"10 million rows × 5 over Flight : reading the same chunks in-process, speed", fmt.Sprintf("%.2f", median(dropping)), "≥ 0.6"},
		{"the same, with the record batches that arrow-go's client makes of it", fmt.Sprintf("%.2f", median(decoding)), "reported"},
		{"10 million rows × 5 over Flight: memory over idle", fmt.Sprintf("%d MB", grown>>20), "≤ 300 MB"},
	}, nil
}

// flightClient connects with the window sizes of fast clients.
func (s *server) flightClient(ctx context.Context) (*flightsql.Client, error) {
	address, err := s.endpoint(ctx, "flight")
	if err != nil {
		return nil, err
	}
	return flightsql.NewClient(address, nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithInitialWindowSize(8<<20), grpc.WithInitialConnWindowSize(16<<20), grpc.WithReadBufferSize(256<<10))
}

// decodeRows reads the record batches.
func decodeRows(ctx context.Context, client *flightsql.Client) error {
	info, err := client.Execute(ctx, "SELECT * FROM wide")
	if err != nil {
		return err
	}
	reader, err := client.DoGet(ctx, info.Endpoint[0].Ticket)
	if err != nil {
		return err
	}
	defer reader.Release()
	n := int64(0)
	for reader.Next() {
		n += reader.RecordBatch().NumRows()
	}
	if reader.Err() == nil && n != int64(wide.rows) {
		return fmt.Errorf("%d rows, want %d", n, wide.rows)
	}
	return reader.Err()
}

// dropRows receives the messages without decoding them.
func dropRows(ctx context.Context, client *flightsql.Client) error {
	info, err := client.Execute(ctx, "SELECT * FROM wide")
	if err != nil {
		return err
	}
	codec := &dropCodec{CodecV2: encoding.GetCodecV2(proto.Name)}
	stream, err := client.Client.DoGet(ctx, info.Endpoint[0].Ticket, grpc.ForceCodecV2(codec))
	if err != nil {
		return err
	}
	for err == nil {
		_, err = stream.Recv()
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	if least := wide.rows * 40; codec.bytes < least {
		return fmt.Errorf("%d bytes, want at least %d", codec.bytes, least)
	}
	return nil
}

// dropCodec records only the size of a message.
type dropCodec struct {
	encoding.CodecV2
	bytes int
}

// Unmarshal implements [encoding.CodecV2].
func (d *dropCodec) Unmarshal(data mem.BufferSlice, _ any) error {
	d.bytes += data.Len()
	return nil
}
