// Package s3test starts S3 servers for tests, which check keys and signatures: moto, from
// the virtual environment of the tests' clients. A test skips without it.
//
//	server := s3test.Start(t)
//	server.Put("lake", "trips/a.csv", "id\n1\n")
package s3test

import (
	"context"
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/spiced-sql/spiced/internal/test/clients"
	"github.com/spiced-sql/spiced/internal/test/program"
	"github.com/spiced-sql/spiced/internal/test/reserve"
)

// Server is an S3 server at URL, with a key that may do everything.
type Server struct {
	URL, Key, Secret string

	t       testing.TB
	address string
	process *program.Process
	client  *minio.Client
}

// Start starts a server that ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	moto := clients.Find(t, "S3", "moto/bin/moto_server")
	s := &Server{t: t, address: reserve.Address(t)}
	s.URL = "http://" + s.address
	s.process = program.Start(t, exec.Command(moto, "-H", "127.0.0.1", "-p", strconv.Itoa(reserve.Port(s.address))), program.Listens(s.address))
	t.Cleanup(s.Stop)
	s.makeKey()
	var err error
	if s.client, err = minio.New(s.address,
		&minio.Options{Creds: credentials.NewStaticV4(s.Key, s.Secret, ""), Region: "us-east-1", BucketLookup: minio.BucketLookupPath}); err != nil {
		t.Fatal(err)
	}
	return s
}

// Stop ends the server.
func (s *Server) Stop() { s.process.End(syscall.SIGKILL) }

// makeKey makes a user with a key, and switches the checks of keys on.
func (s *Server) makeKey() {
	s.t.Helper()
	s.iam(url.Values{"Action": {"CreateUser"}, "UserName": {"u"}})
	s.iam(url.Values{
		"Action": {"PutUserPolicy"}, "UserName": {"u"}, "PolicyName": {"p"},
		"PolicyDocument": {`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"*"}]}`},
	})
	var made struct {
		Result struct {
			AccessKey struct{ AccessKeyId, SecretAccessKey string }
		} `xml:"CreateAccessKeyResult"`
	}
	if err := xml.Unmarshal(s.iam(url.Values{"Action": {"CreateAccessKey"}, "UserName": {"u"}}), &made); err != nil {
		s.t.Fatal(err)
	}
	s.Key, s.Secret = made.Result.AccessKey.AccessKeyId, made.Result.AccessKey.SecretAccessKey
	s.post("/moto-api/reset-auth", "text/plain", "", "0")
}

// iam calls the API of users.
func (s *Server) iam(values url.Values) []byte {
	s.t.Helper()
	values.Set("Version", "2010-05-08")
	return s.post("/", "application/x-www-form-urlencoded", "AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/iam/aws4_request, SignedHeaders=host, Signature=0",
		values.Encode())
}

func (s *Server) post(path, contentType, authorization, body string) []byte {
	s.t.Helper()
	r, err := http.NewRequest(http.MethodPost, s.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Authorization", authorization)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %v, status %d\n%s", path, err, answer.StatusCode, text)
	}
	return text
}

// Bucket makes a bucket.
func (s *Server) Bucket(name string) {
	s.t.Helper()
	if err := s.client.MakeBucket(context.Background(), name, minio.MakeBucketOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// Put writes an object.
func (s *Server) Put(bucket, key, text string) {
	s.t.Helper()
	if _, err := s.client.PutObject(context.Background(), bucket, key, strings.NewReader(text), int64(len(text)), minio.PutObjectOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// Remove removes an object.
func (s *Server) Remove(bucket, key string) {
	s.t.Helper()
	if err := s.client.RemoveObject(context.Background(), bucket, key, minio.RemoveObjectOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// Keys returns the keys of a bucket, in their order.
func (s *Server) Keys(bucket string) (keys []string) {
	s.t.Helper()
	for o := range s.client.ListObjectsIter(context.Background(), bucket, minio.ListObjectsOptions{Recursive: true}) {
		if o.Err != nil {
			s.t.Fatal(o.Err)
		}
		keys = append(keys, o.Key)
	}
	return keys
}

// Get returns the bytes of an object.
func (s *Server) Get(bucket, key string) string {
	s.t.Helper()
	o, err := s.client.GetObject(context.Background(), bucket, key, minio.GetObjectOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	defer o.Close()
	text, err := io.ReadAll(o)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}
