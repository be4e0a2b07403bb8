package sqlapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/access/audit"
	"github.com/spiced-sql/spiced/internal/test/wait"
)

// submitted submits a statement and waits until it is over.
func (f *fixture) submitted(sql string, header ...string) submittedQuery {
	f.t.Helper()
	r := f.send("POST", "/v1/queries", fmt.Sprintf(`{"sql":%q}`, sql), header...)
	f.want(r, 202, `"query_id"`)
	id := between(r.body, `"query_id":"`, `"`)
	var q submittedQuery
	wait.Until(f.t, "the query is over", func() bool {
		q = submittedQuery{}
		if err := json.Unmarshal([]byte(f.send("GET", "/v1/queries/"+id, "", header...).body), &q); err != nil {
			f.t.Fatal(err)
		}
		return q.Status.Over()
	})
	return q
}

func TestSubmittedQueriesAreReadInChunks(t *testing.T) {
	f := serve(t, nil)
	q := f.submitted("SELECT range AS n, range::VARCHAR AS s, NULL AS nothing FROM range(25000)")
	if q.Status != "SUCCEEDED" || q.Manifest.TotalRowCount != 25000 || q.Manifest.TotalChunkCount != 3 || q.Result.RowCount != 10000 {
		t.Fatalf("got %+v", q)
	}
	if c := q.Manifest.Schema.Columns[0]; c.Name != "n" || c.TypeName != "Int64" {
		t.Errorf("the first column: %+v", c)
	}
	n := int64(0)
	for chunk := q.Result; ; {
		var rows []struct {
			N int64
			S string
		}
		if err := json.Unmarshal(chunk.DataArray.RawMessage, &rows); err != nil || int64(len(rows)) != chunk.RowCount {
			t.Fatal(err, len(rows))
		}
		for _, row := range rows {
			if row.N != n || row.S != fmt.Sprint(n) {
				t.Fatalf("row %d: %+v", n, row)
			}
			n++
		}
		if chunk.NextChunkIndex == nil {
			break
		}
		next := f.send("GET", chunk.NextChunkURL, "")
		chunk = &queryChunk{}
		if err := json.Unmarshal([]byte(next.body), chunk); err != nil {
			t.Fatal(err)
		}
	}
	if n != 25000 {
		t.Errorf("%d rows", n)
	}
	f.want(f.send("GET", "/v1/queries/"+q.QueryID+"/results/chunks/3", ""), 404, "3 chunks")
	f.want(f.send("GET", "/v1/results/"+q.Manifest.Ref, "", "Accept", "text/csv"), 200, "n,s,nothing\n0,0,\n")
	f.want(f.send("POST", "/v1/sql", "SELECT sum(n) AS n FROM ref('"+q.Manifest.Ref+"')"), 200, `[{"n":312487500}]`)
	f.want(f.send("GET", "/v1/results", ""), 200, `"ref":"`+q.Manifest.Ref+`","rows":25000`)
	f.want(f.send("DELETE", "/v1/results/"+q.Manifest.Ref, ""), 204, "")
	f.want(f.send("GET", "/v1/results/"+q.Manifest.Ref, ""), 404, "")
}

func TestSubmittedQueriesWithLargeRows(t *testing.T) {
	f := serve(t, func(o *Options) { o.Audit = audit.New(o.Log) })
	r := f.send("POST", "/v1/queries", `{"sql":"SELECT repeat('x', 4000000) || range AS s FROM range(10)"}`)
	f.want(r, 202, "")
	path := "/v1/queries/" + between(r.body, `"query_id":"`, `"`)
	wait.Until(t, "the query is over", func() bool { return strings.Contains(f.send("GET", path+"/status", "").body, "SUCCEEDED") })
	for _, path := range []string{path, path + "/results/chunks/0"} {
		r = f.send("GET", path, "")
		f.want(r, 413, "chunk 0 is larger than 32 MiB as JSON")
	}
	if n := strings.Count(f.log.String(), `"door":"http","outcome":"limit_exceeded"`); n != 2 {
		t.Errorf("%d chunks that were refused are audited so", n)
	}
	_, hint, _ := strings.Cut(r.body, "GET ")
	ref, _, _ := strings.Cut(hint, " ")
	if r = f.send("GET", ref, "", "Accept", "text/csv"); r.status != 200 || len(r.body) < 40_000_000 {
		t.Errorf("%s: %d with %d bytes", ref, r.status, len(r.body))
	}
}

func TestSubmittedQueriesAreTheirOwners(t *testing.T) {
	f := serve(t, func(o *Options) { o.Keys = keyring(t, someKeys) })
	q := f.submitted("SELECT 1 AS a", "X-API-Key", readKey)
	other := []string{"X-API-Key", writeKey}
	for _, path := range []string{
		"/v1/queries/" + q.QueryID, "/v1/queries/" + q.QueryID + "/status", "/v1/queries/" + q.QueryID + "/results/chunks/0",
		"/v1/results/" + q.Manifest.Ref,
	} {
		f.want(f.send("GET", path, "", "X-API-Key", readKey), 200, "")
		theirs := f.send("GET", path, "", other...)
		unknown := f.send("GET", strings.NewReplacer(q.QueryID, "8c6f1f5e-0000-4000-8000-000000000000", q.Manifest.Ref, "r_nope").Replace(path), "", other...)
		if theirs.status != 404 || unknown.status != 404 {
			t.Errorf("%s: %d, unknown %d", path, theirs.status, unknown.status)
		}
	}
	f.want(f.send("POST", "/v1/queries/"+q.QueryID+"/cancel", "", other...), 404, "")
	f.want(f.send("POST", "/v1/sql", "FROM ref('"+q.Manifest.Ref+"')", other...), 400, "")
	f.want(f.send("GET", "/v1/queries", "", other...), 200, `"total_count":0`)
}

func TestSubmittedQueriesFailAndAreCancelled(t *testing.T) {
	f := serve(t, nil)
	q := f.submitted("SELECT nosuch")
	if q.Status != "FAILED" || q.Error == nil || !strings.Contains(q.Error.Message, "nosuch") || q.Error.ErrorCode != "not_found" {
		t.Errorf("got %+v", q)
	}
	r := f.send("POST", "/v1/queries", `{"sql":"SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range % 7 = b.range % 5"}`)
	id := between(r.body, `"query_id":"`, `"`)
	f.want(f.send("POST", "/v1/queries/"+id+"/cancel", ""), 200, `"status":"CANCELLED"`)
	wait.Until(t, "it is over", func() bool {
		return strings.Contains(f.send("GET", "/v1/queries/"+id+"/status", "").body, `"status":"CANCELLED"`)
	})
	f.want(f.send("GET", "/v1/queries?status=cancelled", ""), 200, `"total_count":1`)
	empty := f.submitted("SELECT 1 AS a WHERE false")
	if empty.Status != "SUCCEEDED" || empty.Result != nil || empty.Manifest.TotalChunkCount != 0 {
		t.Errorf("got %+v", empty)
	}
}
