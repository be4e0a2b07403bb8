package objectstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"

	"github.com/spiced-sql/spiced/internal/data/fault"
)

// azureVersion is the version of the API that is asked for. It is one that emulators and
// other servers with the API know, too.
const azureVersion = "2023-11-03"

// maxSkew is how far the clock of this machine may be from that of Azure.
const maxSkew = 15 * time.Minute

// Azure is a storage account of Azure, read with the credentials of a dataset. Its buckets
// are containers, with names of the form container@account~id, which no bucket of S3 has.
type Azure struct {
	id        string
	account   string
	endpoint  *url.URL
	way       azureWay
	transport *http.Transport
	client    *service.Client
	names     AzureNames // of params, for messages
}

// azureOptions are those of all clients.
func azureOptions(transport *http.Transport) policy.ClientOptions {
	return policy.ClientOptions{
		Transport: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}},
		Retry:     policy.RetryOptions{MaxRetries: 3, RetryDelay: 100 * time.Millisecond, MaxRetryDelay: time.Second},
		Telemetry: policy.TelemetryOptions{Disabled: true},
		// The endpoint is not an http:// one unless the dataset permits that.
		InsecureAllowCredentialWithHTTP: true,
		PerCallPolicies:                 []policy.Policy{azureHeaders{}},
	}
}

// azureHeaders sets headers of requests.
type azureHeaders struct{}

// Do implements [policy.Policy].
func (azureHeaders) Do(r *policy.Request) (*http.Response, error) {
	r.Raw().Header["x-ms-version"] = []string{azureVersion}
	return r.Next()
}

// ID implements [Store].
func (s *Azure) ID() string { return s.id }

// List implements [Store].
func (s *Azure) List(ctx context.Context, bucket, prefix, after string, limit int) (found []Object, err error) {
	for marker := ""; ; {
		page, next, err := s.page(ctx, bucket, prefix, marker, 0)
		if err != nil {
			return nil, err
		}
		for _, o := range page {
			if o.Key > after && len(found) <= limit {
				found = append(found, o)
			}
		}
		if marker = next; marker == "" || len(found) > limit {
			return found, nil
		}
	}
}

// page returns the objects of one page of a list, and the marker of the next one, or "".
func (s *Azure) page(ctx context.Context, bucket, prefix, marker string,
	limit int32,
) (found []Object, next string, err error) {
	options := &container.ListBlobsFlatOptions{Prefix: &prefix, Include: container.ListBlobsInclude{Metadata: true}}
	if marker != "" {
		options.Marker = &marker
	}
	if limit > 0 {
		options.MaxResults = &limit
	}
	got, err := s.container(bucket).NewListBlobsFlatPager(options).NextPage(ctx)
	if err != nil {
		return nil, "", err
	}
	for _, item := range got.Segment.BlobItems {
		if item.Name == nil || item.Properties == nil || isFolder(*item.Name, item.Metadata) {
			continue
		}
		p := item.Properties
		o := Object{Key: *item.Name}
		if p.ContentLength != nil {
			o.Size = *p.ContentLength
		}
		if p.LastModified != nil {
			o.Modified = *p.LastModified
		}
		if p.ETag != nil {
			o.Tag = `"` + strings.Trim(string(*p.ETag), `"`) + `"`
		}
		found = append(found, o)
	}
	if got.NextMarker != nil {
		next = *got.NextMarker
	}
	return found, next, nil
}

// isFolder reports whether a blob is a folder, as accounts with a hierarchical namespace
// list them.
func isFolder(name string, metadata map[string]*string) bool {
	for key, value := range metadata {
		if strings.EqualFold(key, "hdi_isfolder") && value != nil && strings.EqualFold(*value, "true") {
			return true
		}
	}
	return strings.HasSuffix(name, "/")
}

// serve implements [Store]. DuckDB tries again itself.
func (s *Azure) serve(p *Proxy, w http.ResponseWriter, r *request) {
	ctx := policy.WithRetryOptions(r.Context(), policy.RetryOptions{MaxRetries: -1})
	var err error
	switch {
	case r.key == "":
		err = s.serveList(ctx, w, r)
	case r.Method == http.MethodHead:
		err = s.serveHead(ctx, w, r)
	default:
		err = s.serveBody(ctx, w, r)
	}
	if err == nil {
		return
	}
	var answer *azcore.ResponseError
	if errors.As(err, &answer) {
		refuse(w, r.failure(answer.StatusCode), answer.ErrorCode, s.Fault(err).Message)
		return
	}
	p.log.Debug("an object store did not answer", "error", s.Fault(err).Message)
	refuse(w, r.failure(http.StatusServiceUnavailable), "ServiceUnavailable", s.Fault(err).Message)
}

func (s *Azure) blob(r *request) *blob.Client {
	return s.container(r.bucket).NewBlobClient(r.key)
}

func (s *Azure) serveHead(ctx context.Context, w http.ResponseWriter, r *request) error {
	got, err := s.blob(r).GetProperties(ctx, &blob.GetPropertiesOptions{AccessConditions: r.conditions()})
	if err != nil {
		return err
	}
	w.Header().Set("Accept-Ranges", "bytes")
	describe(w, got.ContentLength, got.ETag, got.LastModified)
	return nil
}

func (s *Azure) serveBody(ctx context.Context, w http.ResponseWriter, r *request) error {
	got, err := s.blob(r).DownloadStream(ctx,
		&blob.DownloadStreamOptions{Range: r.bytes(), AccessConditions: r.conditions()})
	if err != nil {
		return err
	}
	defer got.Body.Close()
	w.Header().Set("Accept-Ranges", "bytes")
	describe(w, got.ContentLength, got.ETag, got.LastModified)
	if got.ContentRange != nil {
		w.Header().Set("Content-Range", *got.ContentRange)
		w.WriteHeader(http.StatusPartialContent)
	}
	if _, err := io.CopyBuffer(struct{ io.Writer }{w}, got.Body, make([]byte, 256<<10)); err != nil {
		panic(http.ErrAbortHandler) // DuckDB must not take a part for the whole
	}
	return nil
}

// describe sets the headers of an object.
func describe(w http.ResponseWriter, length *int64, tag *azcore.ETag, modified *time.Time) {
	if length != nil {
		w.Header().Set("Content-Length", strconv.FormatInt(*length, 10))
	}
	if tag != nil {
		w.Header().Set("ETag", string(*tag))
	}
	if modified != nil {
		w.Header().Set("Last-Modified", modified.UTC().Format(http.TimeFormat))
	}
}

// bytes is the range that a request asks for; all if it has another form than first-last,
// which a server may answer so.
func (r *request) bytes() blob.HTTPRange {
	text, ok := strings.CutPrefix(r.Header.Get("Range"), "bytes=")
	from, last, _ := strings.Cut(text, "-")
	first, err := strconv.ParseInt(from, 10, 64)
	if !ok || err != nil || first < 0 {
		return blob.HTTPRange{}
	}
	if last == "" {
		return blob.HTTPRange{Offset: first}
	}
	end, err := strconv.ParseInt(last, 10, 64)
	if err != nil || end < first {
		return blob.HTTPRange{}
	}
	return blob.HTTPRange{Offset: first, Count: end - first + 1}
}

// conditions are those on the version of the object.
func (r *request) conditions() *blob.AccessConditions {
	c := &blob.ModifiedAccessConditions{}
	if v := r.Header.Get("If-Match"); v != "" {
		c.IfMatch = to.Ptr(azcore.ETag(v))
	}
	if v := r.Header.Get("If-None-Match"); v != "" {
		c.IfNoneMatch = to.Ptr(azcore.ETag(v))
	}
	return &blob.AccessConditions{ModifiedAccessConditions: c}
}

// serveList answers ListObjectsV2 with a page of a list.
func (s *Azure) serveList(ctx context.Context, w http.ResponseWriter, r *request) error {
	if r.list.Get("delimiter") != "" || r.list.Get("start-after") != "" {
		refuse(w, http.StatusNotImplemented, "NotImplemented", "lists by folder and from a key are not served")
		return nil
	}
	limit, err := strconv.ParseInt(cmp.Or(r.list.Get("max-keys"), "1000"), 10, 32)
	if err != nil || limit < 1 {
		refuse(w, http.StatusBadRequest, "InvalidArgument", "max-keys is not a number of keys")
		return nil
	}
	prefix := r.list.Get("prefix")
	found, next, err := s.page(ctx, r.bucket, prefix, r.list.Get("continuation-token"), int32(limit))
	if err != nil {
		return err
	}
	encode := func(key string) string { return key }
	if r.list.Get("encoding-type") == "url" {
		encode = func(key string) string { return strings.ReplaceAll(url.QueryEscape(key), "+", "%20") }
	}
	out := listResult{
		Name: r.bucket, Prefix: encode(prefix), KeyCount: len(found), MaxKeys: int(limit),
		IsTruncated: next != "", NextContinuationToken: next, EncodingType: r.list.Get("encoding-type"),
	}
	for _, o := range found {
		out.Contents = append(out.Contents, o.listed(encode(o.Key)))
	}
	out.write(w)
	return nil
}

// Codes of errors of Azure: https://learn.microsoft.com/rest/api/storageservices/blob-service-error-codes.
var (
	azureWrongKeys = []bloberror.Code{bloberror.AuthenticationFailed, bloberror.InvalidAuthenticationInfo}
	azureForbidden = []bloberror.Code{
		bloberror.AuthorizationPermissionMismatch, bloberror.AuthorizationResourceTypeMismatch,
		bloberror.AuthorizationServiceMismatch, bloberror.InsufficientAccountPermissions,
	}
	azureNeedsKey = []bloberror.Code{
		bloberror.NoAuthenticationInformation, bloberror.ResourceNotFound,
		"PublicAccessNotPermitted",
	}
)

// Fault explains an error of a request. Its message has no secret.
func (s *Azure) Fault(err error) *fault.Fault {
	var answer *azcore.ResponseError
	if errors.As(err, &answer) {
		return s.names.fault(s.refused(answer))
	}
	return s.names.fault(remote{
		s.endpoint.Host, "abfs_endpoint", " or the name of the account",
		"abfs_allow_http",
	}.fault(err))
}

// refused explains why a store refuses a request.
func (s *Azure) refused(e *azcore.ResponseError) *fault.Fault {
	code := bloberror.Code(e.ErrorCode)
	has := func(codes []bloberror.Code) bool { return slices.Contains(codes, code) }
	switch {
	case code == bloberror.ContainerNotFound:
		return fault.New("from", "correct the container or the account", "the storage account %s has no such container",
			s.account).Retryable()
	case code == bloberror.BlobNotFound:
		return fault.New("from", "", "the storage account %s has no such object any more", s.account).Retryable()
	case has(azureWrongKeys) && skewed(e.RawResponse):
		return fault.New("params", "set the clock of this machine",
			"the storage account %s does not accept requests from a clock that is wrong", s.account).Retryable()
	case has(azureWrongKeys):
		return fault.New("params", "correct "+s.way.params(), "the storage account %s does not accept the %s", s.account,
			s.way.noun).Retryable()
	case s.way.param == skipSignature &&
		(has(azureNeedsKey) || has(azureForbidden) || code == bloberror.AuthorizationFailure):
		return fault.New("params", "set one of "+oneWay+" instead of params."+skipSignature,
			"the storage account %s does not permit to read this without a key", s.account).Retryable()
	case code == bloberror.AuthorizationFailure:
		return fault.New("params",
			"correct "+s.way.params()+", or permit this machine in the network settings of the account",
			"the storage account %s refuses the %s", s.account, s.way.noun).Retryable()
	case has(azureForbidden):
		return fault.New("params",
			"permit reading and listing: the permissions r and l of a SAS, or the role Storage Blob Data Reader",
			"the storage account %s does not permit the %s to read this", s.account, s.way.noun).Retryable()
	}
	return fault.New("from", "", "the storage account %s: %s", s.account,
		cmp.Or(e.ErrorCode, fmt.Sprintf("HTTP %d", e.StatusCode))).Retryable()
}

// skewed reports whether the clocks of this machine and of a server differ too much.
func skewed(r *http.Response) bool {
	if r == nil {
		return false
	}
	there, err := http.ParseTime(r.Header.Get("Date"))
	return err == nil && time.Since(there).Abs() > maxSkew
}
