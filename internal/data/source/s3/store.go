package s3

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/spiced-sql/spiced/internal/data/fault"
)

const defaultTimeout = 30 * time.Second

// store is an S3 server with the keys of a dataset.
type store struct {
	id          string // equal for equal params
	endpoint    *url.URL
	region      string
	credentials *credentials.Credentials // nil: requests are not signed
	transport   *http.Transport
	client      *minio.Client
}

func newStore(id string, endpoint *url.URL, region string, keys *credentials.Credentials, timeout time.Duration) (*store, error) {
	s := &store{id: id, endpoint: endpoint, region: region, credentials: keys}
	s.transport = &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: timeout}).DialContext, TLSHandshakeTimeout: timeout,
		ResponseHeaderTimeout: timeout, MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute, DisableCompression: true, ForceAttemptHTTP2: true,
	}
	var err error
	s.client, err = minio.New(endpoint.Host, &minio.Options{
		Creds: keys, Secure: endpoint.Scheme == "https", Region: region, Transport: s.transport, BucketLookup: minio.BucketLookupPath, MaxRetries: 3,
	})
	return s, err
}

func (s *store) signed() bool { return s.credentials != nil }

// request makes a request without a signature.
func (s *store) request(ctx context.Context, method, bucket, key string, query url.Values) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.endpoint.String(), nil)
	if err != nil {
		return nil, err
	}
	r.URL = objectURL(s.endpoint, bucket, key, query)
	r.Header.Set("X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD")
	r.Header.Set("Accept-Encoding", "identity")
	return r, nil
}

// object is an object of a bucket.
type object struct {
	key  string
	size int64
}

// list returns the objects whose keys have a prefix, at most limit+1.
func (s *store) list(ctx context.Context, bucket, prefix string, limit int) (found []object, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for o := range s.client.ListObjects(ctx, bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
		if o.Err != nil {
			return nil, o.Err
		}
		if !strings.HasSuffix(o.Key, "/") { // a folder that a console made
			found = append(found, object{o.Key, o.Size})
		}
		if len(found) > limit {
			break
		}
	}
	return found, nil
}

// The codes of errors of S3: https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html.
var (
	wrongKeys = []string{"InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "TokenRefreshRequired"}
	elsewhere = []string{"PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException"}
)

// fault explains an error of a request. Its message has no secret.
func (s *store) fault(err error) *fault.Fault {
	var f *fault.Fault
	var e minio.ErrorResponse
	var name *net.DNSError
	var number syscall.Errno
	at := s.endpoint.Host
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &e) && e.Code != "":
		return s.refused(e)
	case errors.As(err, &name):
		return fault.New("params", "correct params.s3_endpoint or params.s3_region", "cannot find the object store %s: there is no host of that name", at).Retryable()
	case errors.As(err, &number):
		return fault.New("params", "", "cannot connect to the object store %s: %s", at, number).Retryable()
	case strings.Contains(err.Error(), "x509: "), strings.Contains(err.Error(), "tls: "):
		return fault.New("params.s3_endpoint", "", "the certificate of the object store %s is not valid", at)
	case errors.Is(err, context.DeadlineExceeded), strings.Contains(err.Error(), "timeout"):
		return fault.New("params.client_timeout", "", "the object store %s does not answer", at).Retryable()
	}
	return fault.New("params", "", "cannot read from the object store %s", at).Retryable()
}

// refused explains why a store refuses a request.
func (s *store) refused(e minio.ErrorResponse) *fault.Fault {
	at, message := s.endpoint.Host, cmp.Or(e.Message, e.Code)
	switch {
	case e.Code == "NoSuchBucket":
		return fault.New("from", "correct the bucket, or params.s3_endpoint", "the object store %s has no bucket %q", at, e.BucketName).Retryable()
	case slices.Contains(wrongKeys, e.Code):
		return fault.New("params", "correct params.s3_key and params.s3_secret", "the object store %s: %s", at, message).Retryable()
	case slices.Contains(elsewhere, e.Code):
		return fault.New("params.s3_region", "set params.s3_region to the region of the bucket", "the object store %s: %s", at, message)
	case e.Code == "RequestTimeTooSkewed":
		return fault.New("params", "set the clock of this machine", "the object store %s: %s", at, message).Retryable()
	case e.Code == "AccessDenied" && !s.signed():
		return fault.New("params", "set params.s3_key and params.s3_secret, or params.s3_auth: iam_role", "the object store %s does not permit to read this without a key", at).Retryable()
	case e.Code == "AccessDenied":
		return fault.New("params", "permit s3:ListBucket and s3:GetObject to the key", "the object store %s does not permit the key to read this", at).Retryable()
	}
	return fault.New("from", "", "the object store %s: %s", at, message).Retryable()
}
