package sqlapi

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/spicepod"
)

type fakeFiles struct{}

func (fakeFiles) SpicepodFiles() []SpicepodFile {
	return []SpicepodFile{{"spicepod.yaml", "pod", 7, true}, {"sql/f.sql", "pod", 1, false}, {"/srv/other.yaml", "other", 1, false}}
}

func (fakeFiles) ReadSpicepodFile(path string) (string, int, error) {
	switch path {
	case "sql/f.sql":
		return "<script>1</script>", 2, nil
	case "/srv/other.yaml":
		return "other", 0, nil
	case "gone.sql":
		return "", 0, errors.New("no such file")
	}
	return "", 0, spicepod.ErrNoFile
}

func TestFilesOfSpicepods(t *testing.T) {
	f := serve(t, func(o *Options) {
		o.Files = fakeFiles{}
		o.Keys = keyring(t, someKeys)
	})
	key := []string{"X-API-Key", writeKey}
	f.want(f.send("GET", "/v1/spicepods/files", "", key...), 200, `[{"path":"spicepod.yaml","spicepod":"pod","bytes":7,"main":true},`)
	r := f.send("GET", "/v1/spicepods/files/sql/f.sql", "", key...)
	f.want(r, 200, "<script>1</script>")
	if r.header.Get("Content-Type") != "text/plain; charset=utf-8" || r.header.Get(headerMasked) != "2" || r.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("header: %v", r.header)
	}
	f.want(f.send("GET", "/v1/spicepods/files/sql/f.sql", "", append(key, "If-None-Match", r.header.Get("ETag"))...), 304, "")
	f.want(f.send("GET", "/v1/spicepods/files/%2Fsrv%2Fother.yaml", "", key...), 200, "other")
	f.want(f.send("GET", "/v1/spicepods/files/gone.sql", "", key...), 404, "cannot be shown: no such file")
	f.want(f.send("GET", "/v1/spicepods/files/sql/g.sql", "", key...), 404, `did you mean \"sql/f.sql\"?`)
	for _, path := range []string{"..%2F..%2Fetc%2Fpasswd", "%2Fetc%2Fpasswd", ".env", "sql%2F..%2Fspicepod.yaml", "spicepod.yaml%00", ""} {
		if r := f.send("GET", "/v1/spicepods/files/"+path, "", key...); r.status != 404 {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
	for _, path := range []string{"/v1/spicepods/files", "/v1/spicepods/files/sql/f.sql"} {
		f.want(f.send("GET", path, "", "X-API-Key", readKey), 403, ":rw")
		f.want(f.send("GET", path, ""), 401, "")
	}
	schema := f.send("GET", "/v1/schema/spicepod.json", "")
	f.want(schema, 200, `"$schema"`)
	if !json.Valid([]byte(schema.body)) || !strings.HasPrefix(schema.header.Get("Content-Type"), "application/schema+json") {
		t.Errorf("the schema: %v", schema.header)
	}
	f.want(f.send("GET", "/v1/schema/spicepod.json", "", "If-None-Match", schema.header.Get("ETag")), 304, "")
}
