package objectstore

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/test/azuretest"
	"github.com/spiced-sql/spiced/internal/test/s3test"
	"github.com/spiced-sql/spiced/spicepod"
)

// areaNames are params as those of snapshots.
var areaNames = Names{Endpoint: "endpoint", Auth: "auth", Key: "key", Secret: "secret", IAM: true, Written: true, Permissions: "permit it"}

func areaStore(t *testing.T, url, key, secret string) *S3 {
	t.Helper()
	store, err := areaNames.Compile(spicepod.Params{"endpoint": spicepod.Text{Raw: url}, "key": spicepod.Text{Raw: key}, "secret": spicepod.Text{Raw: secret}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.transport.CloseIdleConnections)
	return store
}

func areaAccount(t *testing.T, url, key string) *Azure {
	t.Helper()
	store, _, _, err := CompileAzure("abfs://lake@"+azuretest.Account+"/",
		spicepod.Params{"abfs_endpoint": spicepod.Text{Raw: url}, "abfs_access_key": spicepod.Text{Raw: key}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.transport.CloseIdleConnections)
	return store
}

func keysOf(t *testing.T, a Area) (keys []string) {
	t.Helper()
	objects, err := a.List(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		keys = append(keys, o.Key)
	}
	return keys
}

func TestArea(t *testing.T) {
	for _, kind := range []string{"folder", "s3", "azure"} {
		t.Run(kind, func(t *testing.T) {
			area := NewArea(NewFolder(filepath.Join(t.TempDir(), "new"), os.OpenRoot), "", "").Sub("a b").Sub("ü")
			if kind == "s3" {
				s := s3test.Start(t)
				s.Bucket("lake")
				area = NewArea(areaStore(t, s.URL, s.Key, s.Secret), "lake", "snap/").Sub("a b").Sub("ü")
			}
			if kind == "azure" {
				s := azuretest.Start(t)
				s.Container("lake")
				area = NewArea(areaAccount(t, s.URL, azuretest.Key), "lake@"+azuretest.Account, "snap/").Sub("a b").Sub("ü")
			}
			if keys := keysOf(t, area); len(keys) != 0 {
				t.Errorf("got %q", keys)
			}
			large := make([]byte, 17<<20) // in two parts
			for i := range large {
				large[i] = byte(rand.Uint32())
			}
			for key, data := range map[string][]byte{"large": large, "small": []byte("x"), "empty": {}} {
				if err := area.Put(t.Context(), key, bytes.NewReader(data), int64(len(data))); err != nil {
					t.Fatal(err)
				}
				var got bytes.Buffer
				if err := area.Get(t.Context(), key, &got, int64(len(data))); err != nil || !bytes.Equal(got.Bytes(), data) {
					t.Errorf("%s: got %d bytes, %v", key, got.Len(), err)
				}
				if err := area.Get(t.Context(), key, io.Discard, int64(len(data))-1); len(data) > 0 && !errors.Is(err, errTooLarge) {
					t.Errorf("%s: got %v", key, err)
				}
			}
			if keys := keysOf(t, area); !slices.Equal(keys, []string{"empty", "large", "small"}) {
				t.Errorf("got %q", keys)
			}
			if err := area.Put(t.Context(), "small", strings.NewReader("new"), 3); err != nil {
				t.Fatal(err)
			}
			for _, key := range []string{"large", "large", "never"} {
				if err := area.Remove(t.Context(), key); err != nil {
					t.Error(err)
				}
			}
			if keys := keysOf(t, area); !slices.Equal(keys, []string{"empty", "small"}) {
				t.Errorf("got %q", keys)
			}
			if objects, err := area.List(t.Context(), 0); err != nil || len(objects) != 1 {
				t.Errorf("got %v, %v", objects, err)
			}
			if err := area.Get(t.Context(), "large", io.Discard, 1); err == nil {
				t.Error("got what is gone")
			}

			// What fails leaves nothing, and what was there before.
			failing := io.NewSectionReader(failingReader{}, 0, 20<<20)
			if err := area.Put(t.Context(), "small", failing, 20<<20); err == nil {
				t.Error("no error")
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := area.Put(ctx, "other", strings.NewReader("x"), 1); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			var got strings.Builder
			if err := area.Get(t.Context(), "small", &got, 3); err != nil || got.String() != "new" {
				t.Errorf("got %q, %v", got.String(), err)
			}
			if keys := keysOf(t, area); !slices.Equal(keys, []string{"empty", "small"}) {
				t.Errorf("got %q", keys)
			}
		})
	}
}

// failingReader fails after 17 MiB.
type failingReader struct{}

func (failingReader) ReadAt(b []byte, at int64) (int, error) {
	if at+int64(len(b)) > 17<<20 {
		return 0, errors.New("the disk is gone")
	}
	return len(b), nil
}

func TestAreaFaults(t *testing.T) {
	s := s3test.Start(t)
	s.Bucket("lake")
	put := func(store *S3, bucket string) error {
		return NewArea(store, bucket, "x/").Put(t.Context(), "a", strings.NewReader("x"), 1)
	}
	denied := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusForbidden, "AccessDenied", "no")
	}))
	defer denied.Close()
	foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `<?xml version="1.0"?><ListBucketResult><Name>lake</Name><KeyCount>1</KeyCount><Contents><Key>x/../other</Key><Size>1</Size></Contents></ListBucketResult>`)
	}))
	defer foreign.Close()
	wrong := base64.StdEncoding.EncodeToString([]byte("hunter2"))
	azure := func(url, bucket string) error {
		return NewArea(areaAccount(t, url, wrong), bucket, "x/").Put(t.Context(), "a", strings.NewReader("x"), 1)
	}
	forbidden := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("x-ms-error-code", "AuthorizationPermissionMismatch")
		w.WriteHeader(http.StatusForbidden)
	}))
	defer forbidden.Close()
	account := azuretest.Start(t)
	_, list := NewArea(areaStore(t, foreign.URL, "k", "hunter2"), "lake", "x/").List(t.Context(), 10)
	for _, c := range []struct {
		name          string
		err           error
		message, hint string
	}{
		{"secret", put(areaStore(t, s.URL, s.Key, "hunter2"), "lake"), "signature", "correct params.key and params.secret"},
		{"bucket", put(areaStore(t, s.URL, s.Key, s.Secret), "laek"), `has no bucket "laek"`, "correct the bucket"},
		{"denied", put(areaStore(t, denied.URL, "k", "hunter2"), "lake"), "does not permit the key to read and write this", "permit it"},
		{"azure's key", azure(account.URL, "lake"), "refuses the access key", "correct params.abfs_access_key"},
		{"azure's permissions", azure(forbidden.URL, "lake"), "does not permit the access key to write this", "Storage Blob Data Contributor"},
		{"keys outside", list, "the store lists an object that is not in the folder", ""},
	} {
		var f *fault.Fault
		if !errors.As(c.err, &f) || !strings.Contains(f.Message, c.message) || !strings.Contains(f.Hint, c.hint) || strings.Contains(f.Error(), "hunter2") {
			t.Errorf("%s: got %v\nwant %s; %s", c.name, c.err, c.message, c.hint)
		}
	}
}

// TestAreaOfFolder has files that are not read and folders that are not written.
func TestAreaOfFolder(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	area := NewArea(NewFolder(dir, os.OpenRoot), "", "")
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"link": filepath.Join(outside, "secret"), "folder": outside} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"link", "folder/secret", "../" + filepath.Base(outside) + "/secret", "."} {
		if err := area.Get(t.Context(), key, io.Discard, 10); err == nil {
			t.Errorf("read %s", key)
		} else if strings.Contains(err.Error(), outside) {
			t.Errorf("got %v", err)
		}
	}
	for _, key := range []string{"folder/new", "../new"} {
		if err := area.Put(t.Context(), key, strings.NewReader("x"), 1); err == nil {
			t.Errorf("wrote %s", key)
		}
		if err := area.Remove(t.Context(), key); err == nil && key != "../new" {
			t.Errorf("removed %s", key)
		}
	}
	if keys := keysOf(t, area); len(keys) != 0 {
		t.Errorf("got %q", keys)
	}
}
