package objectstore

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"
	"github.com/minio/minio-go/v7/pkg/signer"

	"github.com/spiced-sql/spiced/internal/data/fault"
)

// S3 is a store with the API of S3, read with the keys of a dataset.
type S3 struct {
	names     Names // of the params, for hints
	id        string
	endpoint  *url.URL
	region    string
	keys      *credentials.Credentials // nil: requests are not signed
	transport *http.Transport
	client    *minio.Client
}

// open makes the clients.
func (s *S3) open(timeout time.Duration) error {
	s.transport = newTransport(timeout)
	var err error
	s.client, err = minio.New(s.endpoint.Host, &minio.Options{
		Creds: s.keys, Secure: s.endpoint.Scheme == "https", Region: s.region, Transport: s.transport,
		BucketLookup: minio.BucketLookupPath, MaxRetries: 3,
	})
	return err
}

func newTransport(timeout time.Duration) *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: timeout}).DialContext,
		TLSHandshakeTimeout:   timeout,
		ResponseHeaderTimeout: timeout, MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute, DisableCompression: true,
		ForceAttemptHTTP2: true,
	}
}

// ID implements [Store].
func (s *S3) ID() string { return s.id }

// Bucket returns a name of a bucket for DuckDB that the buckets of other stores do not have,
// such as of the same one with other credentials.
func (s *S3) Bucket(name string) string { return name + "~" + s.id[:16] }

// bucketOf returns the name of a bucket in the store.
func bucketOf(bucket string) string {
	name, _, _ := strings.Cut(bucket, "~")
	return name
}

// signature returns the keys that requests are signed with, or false if they are not.
func (s *S3) signature() (keys credentials.Value, signed bool, err error) {
	if s.keys == nil {
		return keys, false, nil
	}
	keys, err = s.keys.GetWithContext(nil)
	return keys, err != nil || !keys.SignerType.IsAnonymous(), err
}

// request makes a request without a signature.
func (s *S3) request(ctx context.Context, method, bucket, key string, query url.Values) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.endpoint.String(), nil)
	if err != nil {
		return nil, err
	}
	r.URL = objectURL(s.endpoint, bucket, key, query)
	r.Header.Set("X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD")
	r.Header.Set("Accept-Encoding", "identity")
	return r, nil
}

// objectURL returns the URL of an object or a list at an endpoint, in path style.
func objectURL(endpoint *url.URL, bucket, key string, query url.Values) *url.URL {
	u := *endpoint
	u.Path = strings.TrimSuffix(u.Path, "/") + "/" + bucket + "/" + key
	u.RawPath = s3utils.EncodePath(u.Path)
	u.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20")
	return &u
}

// Headers that are passed on.
var (
	requestHeaders  = []string{"Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"}
	responseHeaders = []string{"Content-Length", "Content-Type", "Content-Range", "Accept-Ranges", "Etag", "Last-Modified"}
)

// failure returns the status for DuckDB of a status of the store. The readers of tables
// try again for minutes after some.
func (r *request) failure(status int) int {
	if r.final && (status >= 500 || status == http.StatusTooManyRequests) {
		return http.StatusForbidden
	}
	return status
}

// serve sends a request and its response on.
func (s *S3) serve(p *Proxy, w http.ResponseWriter, r *request) {
	out, err := s.request(r.Context(), r.Method, bucketOf(r.bucket), r.key, r.list)
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, "ServiceUnavailable", err.Error())
		return
	}
	for _, name := range requestHeaders {
		if v := r.Header.Get(name); v != "" {
			out.Header.Set(name, v)
		}
	}
	keys, signed, err := s.signature()
	if err != nil {
		refuse(w, http.StatusForbidden, "AccessDenied", "there are no credentials")
		return
	}
	if signed {
		out = signer.SignV4(*out, keys.AccessKeyID, keys.SecretAccessKey, keys.SessionToken, s.region)
	}
	in, err := s.transport.RoundTrip(out)
	if err != nil {
		p.log.Debug("an object store did not answer", "error", err)
		refuse(w, r.failure(http.StatusServiceUnavailable), "ServiceUnavailable", s.Fault(err).Message)
		return
	}
	defer in.Body.Close()
	for _, name := range responseHeaders {
		if v := in.Header.Get(name); v != "" {
			w.Header().Set(name, v)
		}
	}
	w.WriteHeader(r.failure(in.StatusCode))
	if _, err := io.CopyBuffer(struct{ io.Writer }{w}, in.Body, make([]byte, 256<<10)); err != nil {
		panic(http.ErrAbortHandler) // DuckDB must not take a part for the whole
	}
}

// List implements [Store].
func (s *S3) List(ctx context.Context, bucket, prefix, after string, limit int) (found []Object, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for o := range s.client.ListObjectsIter(ctx, bucketOf(bucket),
		minio.ListObjectsOptions{Prefix: prefix, StartAfter: after, Recursive: true}) {
		if o.Err != nil {
			return nil, o.Err
		}
		if !strings.HasSuffix(o.Key, "/") { // a folder that a console made
			found = append(found, Object{Key: o.Key, Size: o.Size, Modified: o.LastModified})
		}
		if len(found) > limit {
			break
		}
	}
	return found, nil
}

// The codes of errors of S3: https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html.
var (
	wrongKeys = []string{
		"InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken",
		"TokenRefreshRequired",
	}
	elsewhere = []string{"PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException"}
)

// Fault explains an error of a request. Its message has no secret.
func (s *S3) Fault(err error) *fault.Fault {
	var e minio.ErrorResponse
	if errors.As(err, &e) && e.Code != "" {
		return s.refused(e)
	}
	return remote{s.endpoint.Host, s.names.Endpoint, s.names.orRegion(), s.names.AllowHTTP}.fault(err)
}

// remote is a store on another machine, with the names of its params.
type remote struct {
	host              string
	paramEndpoint, or string // or: what else may be wrong, as the end of a hint
	paramAllowHTTP    string
}

// fault explains why there is no answer to a request.
func (r remote) fault(err error) *fault.Fault {
	var f *fault.Fault
	var name *net.DNSError
	var number syscall.Errno
	var plain tls.RecordHeaderError
	var timeout interface{ Timeout() bool }
	certificate := fault.Certificate(err)
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &name):
		return fault.New("params", "correct params."+r.paramEndpoint+r.or,
			"cannot find the object store %s: there is no host of that name", r.host).Retryable()
	case errors.As(err, &number):
		return fault.New("params", "start it, or correct params."+r.paramEndpoint,
			"cannot connect to the object store %s: %s", r.host, number).Retryable()
	case errors.As(err, &plain), errors.Is(err, http.ErrSchemeMismatch):
		return fault.New("params."+r.paramEndpoint, "write http:// in it, with params."+r.paramAllowHTTP+
			": true if the store is on another machine", "the object store %s has no TLS", r.host)
	case certificate != "":
		return fault.New("params."+r.paramEndpoint, "correct params."+r.paramEndpoint+
			", or add the authority of the certificate to those of this machine",
			"the certificate of the object store %s is not valid: %s", r.host, certificate)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return fault.New("params.client_timeout", "correct params."+r.paramEndpoint+", or set a longer params.client_timeout",
			"the object store %s does not answer", r.host).Retryable()
	}
	return fault.New("params", "", "a request to the object store %s failed", r.host).Retryable()
}

// refused explains why a store refuses a request.
func (s *S3) refused(e minio.ErrorResponse) *fault.Fault {
	at, n, message := s.endpoint.Host, s.names, cmp.Or(e.Message, e.Code)
	_, signed, _ := s.signature() //nolint:errcheck // then the store was not asked
	switch {
	case e.Code == "NoSuchBucket":
		return fault.New("from", "correct the bucket, or params."+n.Endpoint, "the object store %s has no bucket %q", at,
			e.BucketName).Retryable()
	case slices.Contains(wrongKeys, e.Code):
		return fault.New("params", "correct params."+n.Key+" and params."+n.Secret, "the object store %s: %s", at,
			message).Retryable()
	case slices.Contains(elsewhere, e.Code):
		return fault.New("params", "set params."+cmp.Or(n.Region, n.Endpoint)+" to that of the bucket",
			"the object store %s: %s", at, message)
	case e.Code == "RequestTimeTooSkewed":
		return fault.New("params", "set the clock of this machine", "the object store %s: %s", at, message).Retryable()
	case e.Code == "AccessDenied" && !signed:
		return fault.New("params", n.wantKey(), "the object store %s does not permit to %s this without a key",
			at, n.use()).Retryable()
	case e.Code == "AccessDenied":
		return fault.New("params", n.Permissions, "the object store %s does not permit the key to %s this", at,
			n.use()).Retryable()
	}
	return fault.New("from", "", "the object store %s: %s", at, message).Retryable()
}
