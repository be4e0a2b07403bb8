package datasets

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// chunkText returns a function that sets out to the first value of a result.
func chunkText(out *string) func(*engine.Chunk) {
	return func(c *engine.Chunk) {
		if c.Len() > 0 {
			*out = string(c.Column(0).Bytes(0))
		}
	}
}

// paramsOf returns the params of a dataset, with others, of names and values, in place of
// some. An empty value removes a param.
func paramsOf(params map[string]string, others []string) string {
	for i := 0; i < len(others); i += 2 {
		if params[others[i]] = others[i+1]; others[i+1] == "" {
			delete(params, others[i])
		}
	}
	var list []string
	for name, value := range params {
		list = append(list, fmt.Sprintf("%s: %q", name, value))
	}
	return "params: {" + strings.Join(list, ", ") + "}"
}

// putFiles writes what the tests of object stores read.
func (w *world) putFiles(put func(bucket, key, text string)) {
	w.t.Helper()
	put("lake", "trips/a b+c=ü%20.csv", "id,km\n1,2.5\n2,3\n")
	put("lake", "trips/more/c.csv", "id,km\n3,4\n")
	for year := 2021; year <= 2030; year++ {
		put("lake", fmt.Sprintf("hive/year=%d/x.csv", year), fmt.Sprintf("id\n%d\n", year))
	}
	put("lake", "r.parquet", w.parquet("SELECT i AS id, repeat('x', 100) || i AS text FROM range(300000) t(i)"))
}

// parquet returns the rows of a query as a Parquet file of many parts.
func (w *world) parquet(query string) string {
	w.t.Helper()
	path := filepath.Join(w.dir, "rows.parquet")
	w.exec("COPY (" + query + ") TO '" + path + "' (FORMAT parquet, ROW_GROUP_SIZE 20000)")
	text, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}
