package datasets

import (
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/test/exttest"
	"github.com/spiced-sql/spiced/internal/test/s3test"
)

// s3Params are the params of a dataset of the server, with others in place of some.
func s3Params(s *s3test.Server, others ...string) string {
	return paramsOf(map[string]string{"s3_endpoint": s.URL, "s3_key": s.Key, "s3_secret": "${secrets:s3_secret}"}, others)
}

func newS3(t *testing.T) (*world, *s3test.Server) {
	t.Helper()
	w := newWorld(t, exttest.Find(t, "httpfs"))
	s := s3test.Start(t)
	t.Setenv("S3_SECRET", s.Secret)
	t.Setenv("WRONG", "hunter2")
	s.Bucket("lake")
	s.Bucket("empty")
	w.putFiles(s.Put)
	return w, s
}

func TestS3(t *testing.T) {
	w, s := newS3(t)
	w.ok(`datasets:
- {name: trips, from: 's3://lake/trips/', ` + s3Params(s) + `}
- {name: folder, from: 's3://lake/trips', ` + s3Params(s, "file_format", "csv") + `}
- {name: globbed, from: 's3://lake/trips/**/*.csv', ` + s3Params(s) + `}
- {name: one, from: 's3://lake/trips/a b+c=ü%20.csv', ` + s3Params(s) + `}
- {name: hive, from: 's3://lake/hive/', ` + s3Params(s, "hive_partitioning_enabled", "true") + `}
- {name: r, from: 's3://lake/r.parquet', ` + s3Params(s) + `}
- {name: fast, from: 's3://lake/r.parquet', ` + s3Params(s) + `, acceleration: {primary_key: id, refresh_sql: "SELECT * FROM fast WHERE id < 1000"}}
`)
	for _, name := range []string{"trips", "folder"} {
		w.want("SELECT id, km FROM "+name+" ORDER BY id", "1|2.5, 2|3.0, 3|4.0")
	}
	w.want("SELECT count(*) FROM globbed", "3")
	w.want("FROM one ORDER BY id", "1|2.5, 2|3.0")
	w.want("SELECT count(*), sum(id) = sum(year) FROM hive WHERE year >= 2022", "9|true")
	w.want("SELECT count(*), max(text) FROM r WHERE id BETWEEN 150000 AND 150010", "11|"+strings.Repeat("x", 100)+"150010")
	w.want("SELECT count(*) FROM fast", "1000")

	s.Put("lake", "trips/d.csv", "id,km\n4,5\n")
	w.want("SELECT max(id) FROM trips", "4")
	s.Put("lake", "r.parquet", "not Parquet any more")
	w.want("SELECT count(*) FROM fast", "1000")
	if err := w.refresh("fast", refresh.Override{}); err == nil || strings.Contains(err.Error(), "127.0.0.1") && !strings.Contains(err.Error(), "object store") {
		t.Errorf("got %v", err)
	}
	s.Remove("lake", "trips/d.csv")
	w.want("SELECT max(id) FROM trips", "3")

	s.Stop()
	if _, err := w.read("FROM one"); err == nil || !strings.Contains(err.Error(), "the object store answered HTTP 503 for s3://lake/trips/") {
		t.Errorf("without the server: got %v", err)
	}
	if err := w.refresh("fast", refresh.Override{}); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("a refresh without the server: got %v", err)
	}
	w.want("SELECT count(*) FROM fast", "1000")
	if strings.Contains(w.log.String(), s.Secret) {
		t.Errorf("the log has the secret: %s", w.log)
	}
}

// TestS3Faults declares datasets that cannot be read, next to one that can.
func TestS3Faults(t *testing.T) {
	w, s := newS3(t)
	const good = "s3://lake/r.parquet"
	for _, c := range []struct{ name, from, params, message, hint string }{
		{
			"secret", good, s3Params(s, "s3_secret", "${secrets:wrong}"),
			"the object store " + strings.TrimPrefix(s.URL, "http://") + ": The request signature we calculated does not match", "params.s3_key",
		},
		{"key", good, s3Params(s, "s3_key", "AKIANOBODY"), "does not exist in our records", "params.s3_key"},
		{"bucket", "s3://laek/r.parquet", s3Params(s), `has no bucket "laek"`, "correct the bucket"},
		{"bucket's name", "s3://a/r.parquet", s3Params(s), `"a" is not the name of a bucket`, "s3://bucket/"},
		{"object", "s3://lake/q.parquet", s3Params(s), "there is no object at s3://lake/q.parquet", ""},
		{"prefix", "s3://lake/trip", s3Params(s), "there is no object at s3://lake/trip", "an object there is s3://lake/trips/"},
		{"glob", "s3://lake/trips/*.parquet", s3Params(s), "no object matches s3://lake/trips/*.parquet", "an object there is"},
		{"empty bucket", "s3://empty/", s3Params(s), "there is no object at s3://empty/", ""},
		{"formats", "s3://lake/", s3Params(s), "has files of several formats", "params.file_format"},
		{"extension", "s3://lake/trips/", s3Params(s, "file_extension", "json"), "has no file of a served format", ""},
		{"dots", "s3://lake/x/../r.parquet", s3Params(s), "must not be . or ..", "write the folder itself"},
		{"empty part", "s3://lake//r.parquet", s3Params(s), "an empty part", ""},
		{"port", good, s3Params(s, "s3_endpoint", "http://127.0.0.1:1"), "connection refused", ""},
		{"host", good, s3Params(s, "s3_endpoint", "https://nowhere.invalid"), "there is no host of that name", "params.s3_endpoint or params.s3_region"},
		{"http", good, s3Params(s, "s3_endpoint", "http://minio.example.com"), "sends keys and data in the clear", "allow_http"},
		{"endpoint", good, s3Params(s, "s3_endpoint", "minio:9000"), "is not a URL of a store", "https://host"},
		{"path", good, s3Params(s, "s3_endpoint", "https://minio/bucket"), "the endpoint has a path", "from names the bucket"},
		{"auth", good, s3Params(s, "s3_auth", "password"), `"password" is not a way`, "iam_role"},
		{"half a key", good, s3Params(s, "s3_secret", ""), "a key has two parts", "params.s3_secret"},
		{"public with a key", good, s3Params(s, "s3_auth", "public"), "read without a key", "s3_auth: key"},
		{"param", good, s3Params(s, "s3_scret", "x"), "params.s3_scret is not an option", `"s3_secret"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			problems := w.reload("datasets:\n- {name: good, from: 's3://lake/trips/', " + s3Params(s) + "}\n- {name: bad, from: '" + c.from + "', " + c.params + "}\n")
			if len(problems) != 1 || !strings.Contains(problems[0].Message, c.message) || !strings.Contains(problems[0].Hint, c.hint) {
				t.Errorf("got %v\nwant %s; %s", problems, c.message, c.hint)
			}
			if text := problems.Error() + w.status("bad").Error; strings.Contains(text, "hunter2") || strings.Contains(text, s.Secret) {
				t.Errorf("a secret is shown: %s", text)
			}
			w.want("SELECT count(*) FROM good", "3")
		})
	}
}

// TestS3ParamsChange reads one folder with other params in each reload, as when a key is
// rotated, and with those of another dataset next to them.
func TestS3ParamsChange(t *testing.T) {
	w, s := newS3(t)
	const other = "\n- {name: other, from: 's3://lake/trips/', "
	for _, params := range []string{s3Params(s), s3Params(s, "client_timeout", "7s"), s3Params(s)} {
		w.ok("datasets:\n- {name: trips, from: 's3://lake/trips/', " + params + "}" + other + s3Params(s, "client_timeout", "8s") + "}\n")
		for _, name := range []string{"trips", "other"} {
			w.want("SELECT count(*) FROM "+name, "3")
		}
	}
	if problems := w.reload("datasets:\n- {name: trips, from: 's3://lake/trips/', " + s3Params(s, "s3_key", "AKIANOBODY") + "}" + other + s3Params(s) +
		"}\n"); len(problems) != 1 || !strings.Contains(problems[0].Message, "does not exist in our records") {
		t.Errorf("got %v", problems)
	}
	w.want("SELECT count(*) FROM other", "3")
}

// gcsParams are s3Params by the names of the connector for Google Cloud Storage.
func gcsParams(s *s3test.Server, others ...string) string {
	return strings.ReplaceAll(s3Params(s, others...), "s3_", "gcs_")
}

// TestGCS reads from moto in place of Google Cloud Storage, as a client of S3 reads from
// both.
func TestGCS(t *testing.T) {
	w, s := newS3(t)
	t.Setenv("GCS_SECRET", s.Secret)
	s.Bucket("other")
	s.Put("other", "trips/x.csv", "id\n7\n")
	pod := `datasets:
- {name: trips, from: 'gs://lake/trips/', ` + gcsParams(s) + `}
- {name: r, from: 'gs://lake/r.parquet', ` + gcsParams(s) + `}
- {name: hive, from: 'gs://lake/hive/**/*.csv', ` + gcsParams(s, "hive_partitioning", "true", "filename", "true") + `}
- {name: fast, from: 'gs://lake/trips/', ` + gcsParams(s) + `, acceleration: {primary_key: id}}
- {name: same, from: 's3://lake/trips/', ` + s3Params(s, "client_timeout", "7s") + `}
`
	w.ok(pod)
	for _, name := range []string{"trips", "fast", "same"} {
		w.want("SELECT id, km FROM "+name+" ORDER BY id", "1|2.5, 2|3.0, 3|4.0")
	}
	w.want("SELECT count(*), max(text) FROM r WHERE id BETWEEN 150000 AND 150010", "11|"+strings.Repeat("x", 100)+"150010")
	w.want("SELECT filename FROM hive WHERE year = 2030", "gs://lake/hive/year=2030/x.csv")
	s.Put("lake", "trips/d.csv", "id,km\n4,5\n")
	w.want("SELECT max(id) FROM trips", "4")
	if err := w.refresh("fast", refresh.Override{}); err != nil {
		t.Error(err)
	}
	w.want("SELECT max(id) FROM fast", "4")

	for _, c := range []struct{ name, from, params, message, hint string }{
		{
			"secret", "gs://lake/trips/", gcsParams(s, "s3_secret", "${secrets:wrong}"), "The request signature we calculated does not match",
			"correct params.gcs_key and params.gcs_secret",
		},
		{"bucket", "gs://laek/trips/", gcsParams(s), `has no bucket "laek"`, "correct the bucket, or params.gcs_endpoint"},
		{"bucket's name", "gs://a/", gcsParams(s), `"a" is not the name of a bucket`, "write gs://bucket/folder/"},
		{"object", "gs://lake/q.parquet", gcsParams(s), "there is no object at gs://lake/q.parquet", ""},
		{"host", "gs://lake/trips/", gcsParams(s, "s3_endpoint", "https://nowhere.invalid"), "there is no host of that name", "correct params.gcs_endpoint"},
		{"auth", "gs://lake/trips/", gcsParams(s, "s3_auth", "iam_role"), `"iam_role" is not a way`, "write public or key"},
		{"half a key", "gs://lake/trips/", gcsParams(s, "s3_secret", ""), "a key has two parts", "set params.gcs_key and params.gcs_secret"},
		{"public", "gs://lake/trips/", gcsParams(s, "s3_secret", "", "s3_key", ""), "", ""},
		{"param", "gs://lake/trips/", gcsParams(s, "s3_region", "x"), "params.gcs_region is not an option", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			problems := w.reload("datasets:\n- {name: good, from: 'gs://other/trips/', " + gcsParams(s) + "}\n- {name: bad, from: '" + c.from + "', " + c.params + "}\n")
			if len(problems) != 1 || !strings.Contains(problems[0].Message, c.message) || !strings.Contains(problems[0].Hint, c.hint) {
				t.Errorf("got %v\nwant %s; %s", problems, c.message, c.hint)
			}
			w.want("FROM good", "7")
		})
	}
	w.t = t
	w.ok(pod)
	s.Stop()
	if _, err := w.read("FROM r"); err == nil || !strings.Contains(err.Error(), "the object store answered HTTP 503 for gs://lake/r.parquet") {
		t.Errorf("without the server: got %v", err)
	}
	w.want("SELECT max(id) FROM fast", "4")
	if strings.Contains(w.log.String(), s.Secret) {
		t.Errorf("the log has the secret: %s", w.log)
	}
}
