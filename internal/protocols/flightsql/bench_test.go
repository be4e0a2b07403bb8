package flightsql_test

import (
	"context"
	"io"
	"testing"
	"time"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// benchTable has five columns as an application would have them.
const (
	benchRows  = 2_000_000
	benchTable = `CREATE TABLE spice.public.wide AS SELECT range AS id, random() AS a, (range * 7) % 1000003 AS b,
	'name of row ' || range AS name, TIMESTAMP '2020-01-01' + to_seconds(range) AS at FROM range(2000000)`
)

// BenchmarkDownload reports the speed of a download by a client in this
// process as a part of that of only reading the chunks: of the client of
// arrow-go, which copies each batch three times, and of one that drops the
// messages, as the benchmarks of the HTTP forms drop theirs.
func BenchmarkDownload(b *testing.B) {
	db, err := engine.Open(context.Background(), engine.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(db.Close)
	catalog := engine.NewCatalog(engine.Contents{Generation: 1, Relations: []engine.Relation{{Schema: engine.Public, Name: "wide"}}})
	if err := db.Publish(b.Context(), catalog, func(tx *engine.Tx) error { return tx.Exec(benchTable) }); err != nil {
		b.Fatal(err)
	}
	c := serveOn(b, db).client(b)
	for name, download := range map[string]func(testing.TB, *flightsql.Client, *arrowflight.Ticket){"decoded": decoded, "dropped": dropped} {
		b.Run(name, func(b *testing.B) {
			var inProcess time.Duration
			for b.Loop() {
				b.StopTimer()
				inProcess += readChunks(b, db)
				b.StartTimer()
				info, err := c.Execute(b.Context(), "SELECT * FROM wide")
				if err != nil {
					b.Fatal(err)
				}
				download(b, c, info.Endpoint[0].Ticket)
			}
			b.ReportMetric(float64(inProcess)/float64(b.Elapsed()), "×in-process")
		})
	}
}

// decoded reads all batches.
func decoded(b testing.TB, c *flightsql.Client, ticket *arrowflight.Ticket) {
	reader, err := c.DoGet(b.Context(), ticket)
	if err != nil {
		b.Fatal(err)
	}
	defer reader.Release()
	n := int64(0)
	for reader.Next() {
		n += reader.RecordBatch().NumRows()
	}
	if reader.Err() != nil || n != benchRows {
		b.Fatal(n, reader.Err())
	}
}

// dropped reads all messages and looks at none.
func dropped(b testing.TB, c *flightsql.Client, ticket *arrowflight.Ticket) {
	codec := &dropCodec{CodecV2: encoding.GetCodecV2(proto.Name)}
	stream, err := c.Client.DoGet(b.Context(), ticket, grpc.ForceCodecV2(codec))
	if err != nil {
		b.Fatal(err)
	}
	for err == nil {
		_, err = stream.Recv()
	}
	if err != io.EOF || codec.bytes < benchRows*40 {
		b.Fatal(codec.bytes, err)
	}
}

// dropCodec reads nothing of a message.
type dropCodec struct {
	encoding.CodecV2
	bytes int
}

func (d *dropCodec) Unmarshal(data mem.BufferSlice, _ any) error {
	d.bytes += data.Len()
	return nil
}

func readChunks(b testing.TB, db *engine.DB) time.Duration {
	b.Helper()
	start := time.Now()
	rows, err := db.Query(context.Background(), engine.Request{SQL: "SELECT * FROM wide"})
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	for _, err := range rows.Chunks() {
		if err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(start)
}
