// Package pypitest has a package index for tests, which pip and uv use in place of that of
// Python.
//
//	x := pypitest.New(t)
//	digest := x.Add("tiny", "1.2", map[string]string{"tiny.py": "answer = 42"}, "other>=1")
package pypitest

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Index is a package index on this machine.
type Index struct {
	*httptest.Server
	mu        sync.Mutex
	files     map[string][]byte // by name
	next      map[string][]byte // what a file is after its first download
	downloads map[string]int
	block     chan struct{} // if not nil, downloads wait until it is closed
}

// New starts an index until the test ends.
func New(t *testing.T) *Index {
	t.Helper()
	x := &Index{files: map[string][]byte{}, next: map[string][]byte{}, downloads: map[string]int{}}
	x.Server = httptest.NewServer(x)
	t.Cleanup(x.Close)
	for name, value := range map[string]string{
		"PIP_INDEX_URL": x.URL + "/simple", "UV_DEFAULT_INDEX": x.URL + "/simple", "PIP_NO_CACHE_DIR": "1", "UV_NO_CACHE": "1",
		"PIP_FIND_LINKS": "", "PIP_RETRIES": "0", "PIP_CONFIG_FILE": os.DevNull,
	} {
		t.Setenv(name, value)
	}
	return x
}

// ServeHTTP serves the simple API of PEP 503, without hashes.
func (x *Index) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.URL.Path)
	if strings.HasPrefix(r.URL.Path, "/files/") {
		x.download(w, r, name)
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	w.Header().Set("Content-Type", "text/html")
	found := false
	for _, file := range slices.Sorted(maps.Keys(x.files)) {
		if project, _, _ := strings.Cut(file, "-"); project == name {
			fmt.Fprintf(w, "<a href='/files/%s'>%s</a>\n", file, file)
			found = true
		}
	}
	if !found {
		w.WriteHeader(http.StatusNotFound)
	}
}

func (x *Index) download(w http.ResponseWriter, r *http.Request, name string) {
	x.mu.Lock()
	content, found := x.files[name]
	block := x.block
	if found && r.Method == http.MethodGet {
		x.downloads[name]++
		if other := x.next[name]; other != nil {
			x.files[name] = other
		}
	}
	x.mu.Unlock()
	if !found {
		http.NotFound(w, r)
		return
	}
	if block != nil {
		select {
		case <-block:
		case <-r.Context().Done():
		}
	}
	w.Write(content) //nolint:errcheck // the client has left
}

// Add adds a wheel with files and requirements, and returns its SHA-256. The name has lower
// case letters alone.
func (x *Index) Add(name, version string, files map[string]string, needs ...string) (digest string) {
	content := Wheel(name, version, files, needs...)
	x.AddFile(name+"-"+version+"-py3-none-any.whl", content)
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// AddFile adds a file of a package.
func (x *Index) AddFile(name string, content []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.files[name] = content
}

// Replace replaces a file after its first download.
func (x *Index) Replace(name string, content []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.next[name] = content
}

// Block makes downloads wait until their client leaves, or the returned function is called.
func (x *Index) Block() (release func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	block := make(chan struct{})
	x.block = block
	return func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.block = nil
		close(block)
	}
}

// Downloads returns how often a file was downloaded.
func (x *Index) Downloads(name string) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.downloads[name]
}

// Wheel returns a wheel of Python code.
func Wheel(name, version string, files map[string]string, needs ...string) []byte {
	info := name + "-" + version + ".dist-info/"
	metadata := "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n"
	for _, n := range needs {
		metadata += "Requires-Dist: " + n + "\n"
	}
	all := map[string]string{info + "METADATA": metadata, info + "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
	maps.Copy(all, files)
	record := info + "RECORD,,\n"
	for _, file := range slices.Sorted(maps.Keys(all)) {
		record += fmt.Sprintf("%s,,%d\n", file, len(all[file]))
	}
	all[info+"RECORD"] = record
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, file := range slices.Sorted(maps.Keys(all)) {
		if w, err := z.Create(file); err == nil { // a buffer takes everything
			w.Write([]byte(all[file])) //nolint:errcheck // see above
		}
	}
	z.Close() //nolint:errcheck // see above
	return out.Bytes()
}
