package snapshots

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/source/objectstore"
	"github.com/spiced-sql/spiced/internal/sql/engine"
)

// formatVersion is the version of the format, which [manifest] and the columns of the
// Parquet file have. A later version is not read.
const formatVersion = 1

// manifest describes a snapshot. The file with its rows is the object next to it.
type manifest struct {
	Format      int       `json:"format"`
	Dataset     string    `json:"dataset"`     // the name, for people
	Declaration string    `json:"declaration"` // [Identity]
	Created     time.Time `json:"created"`
	Refreshed   time.Time `json:"refreshed"`
	Changed     time.Time `json:"changed"` // as [tables.Version.Changed]
	Source      string    `json:"source_format,omitempty"`
	Rows        int64     `json:"rows"`
	Newest      string    `json:"newest,omitempty"` // the greatest value of time_column
	Bytes       int64     `json:"bytes"`            // of the file
	SHA256      string    `json:"sha256"`           // of the file
	Columns     []column  `json:"columns"`
}

// Limits and names of objects.
const (
	maxManifest   = 4 << 20 // bytes
	maxObjects    = 10_000  // in the folder of a dataset
	maxFolderName = 100
	firstYear     = 2000 // before any refresh

	rowsEnd     = ".parquet"
	manifestEnd = ".json"
)

var (
	plain    = regexp.MustCompile(`^[a-z0-9_-]+$`)
	objectOf = regexp.MustCompile(`^(\d{8}T\d{6}\.\d{3}Z-[0-9a-f]{8})(\.parquet|\.json)(\.part)?$`)
)

// newName returns a name for the objects of a snapshot. Names are in the order of time.
func newName(now time.Time) string {
	var random [4]byte
	rand.Read(random[:])
	return now.UTC().Format("20060102T150405.000Z") + "-" + hex.EncodeToString(random[:])
}

// finished returns the names of the snapshots among the objects of a folder, the newest
// first. It ignores objects with other names, and rows without a manifest.
func finished(objects []objectstore.Object) (found []string) {
	for _, o := range objects {
		if m := objectOf.FindStringSubmatch(o.Key); m != nil && m[2] == manifestEnd && m[3] == "" {
			found = append(found, m[1])
		}
	}
	slices.Sort(found)
	slices.Reverse(found)
	return found
}

// outdated returns the keys of the objects of a folder that are of older snapshots than
// the newest ones, or that were never finished before these.
func outdated(objects []objectstore.Object, keep int) (keys []string) {
	names := finished(objects)
	if len(names) < keep {
		return nil
	}
	oldest := names[keep-1]
	for _, end := range []string{manifestEnd, ""} { // manifests first: none may name rows that are gone
		for _, o := range objects {
			if m := objectOf.FindStringSubmatch(o.Key); m != nil && m[1] < oldest &&
				(m[2] == manifestEnd) == (end == manifestEnd) {
				keys = append(keys, o.Key)
			}
		}
	}
	return keys
}

// damaged returns an error about a snapshot that is not as one was written. It shows no
// values of rows.
func damaged(format string, args ...any) error {
	return fault.New("acceleration.snapshots", "", format, args...)
}

// unusableError is the reason why a snapshot that is as it was written cannot be loaded.
type unusableError struct{ reason string }

func (e *unusableError) Error() string { return e.reason }

// parseManifest reads a manifest. A [*unusableError] says that it is one of a later version.
func parseManifest(text []byte) (*manifest, error) {
	var version struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return nil, damaged("the manifest is not JSON of a snapshot")
	}
	if version.Format > formatVersion {
		return nil, &unusableError{fmt.Sprintf("it has format %d, and this release reads format %d; upgrade spiced",
			version.Format, formatVersion)}
	}
	var m manifest
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&m); err != nil {
		return nil, damaged("the manifest is not JSON of a snapshot")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, damaged("the manifest has more than one value")
	}
	sum, err := hex.DecodeString(m.SHA256)
	switch {
	case m.Format != formatVersion || err != nil || len(sum) != 32 || m.Rows < 0 || m.Bytes <= 0 ||
		m.Refreshed.Year() < firstYear:
		return nil, damaged("the manifest has values that none has")
	case len(m.Columns) == 0 || len(m.Columns) > maxColumns:
		return nil, damaged("the manifest has %d columns", len(m.Columns))
	}
	for i := range m.Columns {
		if _, err := m.Columns[i].Type.parse(0); err != nil {
			return nil, damaged("column %d of the manifest: %s", i+1, err)
		}
	}
	return &m, nil
}

// describeColumns returns the columns of a snapshot.
func describeColumns(columns []engine.Column) (list []column, err error) {
	for _, c := range columns {
		t, err := describeType(c.Name, c.Type)
		if err != nil {
			return nil, err
		}
		list = append(list, column{c.Name, t})
	}
	return list, nil
}

// writeQuery returns the query of the rows of a table as its Parquet file has them.
func writeQuery(columns []engine.Column, table string) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = engine.Identifier(c.Name)
		if slices.Contains(asText, c.Type.ID) {
			list[i] = "CAST(" + list[i] + " AS VARCHAR) AS " + list[i]
		}
	}
	return "SELECT " + strings.Join(list, ", ") + " FROM " + table
}

// readQuery returns the query of the rows of a snapshot, with the types that they had.
func (m *manifest) readQuery(file string) (string, error) {
	list := make([]string, len(m.Columns))
	for i, c := range m.Columns {
		t, err := c.Type.parse(0)
		if err != nil {
			return "", err
		}
		name := engine.Identifier(c.Name)
		list[i] = "CAST(" + name + " AS " + t.String() + ") AS " + name
	}
	return "SELECT " + strings.Join(list, ", ") + " FROM " + file, nil
}
