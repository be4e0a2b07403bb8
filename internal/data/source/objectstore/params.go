package objectstore

import (
	"crypto/sha256"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/spicepod"
)

const defaultTimeout = 30 * time.Second

// Names are the names of the params of a store with the API of S3; "" where a connector
// has no such param.
type Names struct {
	Endpoint, Region, Auth, Key, Secret, Token, AllowHTTP string

	BareHost    bool   // Endpoint may be a host without https://
	IAM         bool   // Auth may be iam_role
	Default     string // the endpoint; "": that of S3 in the region
	Permissions string // a hint: what a key must be permitted
	Written     bool   // the store is written, too
}

// S3Names are the names with a prefix, such as iceberg_s3, as Spice writes them for tables.
func S3Names(prefix string) Names {
	return Names{
		Endpoint: prefix + "_endpoint", Region: prefix + "_region", Key: prefix + "_access_key_id",
		Secret: prefix + "_secret_access_key",
		Token:  prefix + "_session_token", AllowHTTP: prefix + "_allow_http", BareHost: true, Permissions: S3Permissions,
	}
}

// S3Permissions is a hint.
const S3Permissions = "permit s3:ListBucket and s3:GetObject to the key"

// Params are the params of the names.
func (n Names) Params() []spicepod.Param {
	all := []spicepod.Param{
		{Name: n.Endpoint, Doc: "URL of the store, for example https://minio.example.com. Default: " + n.defaultDoc() + "."},
		{Name: n.Region, Doc: "Region of the bucket. Default: us-east-1."},
		{Name: n.Auth, Doc: n.ways() + n.roleDoc() + ". Default: key with " + n.Key + ", else public."},
		{Name: n.Key, Doc: n.keyDoc()},
		{Name: n.Secret, Secret: true, Doc: "Secret of the access key."},
		{Name: n.Token, Secret: true, Doc: "Session token of temporary keys."},
		{Name: "client_timeout", Type: spicepod.ParamDuration, Doc: "How long the store may take to answer. Default: 30s."},
		{Name: n.AllowHTTP, Type: spicepod.ParamBool, Doc: "Permit http:// in " + n.Endpoint +
			", which is permitted on this machine anyway."},
	}
	var params []spicepod.Param
	for _, p := range all {
		if p.Name != "" {
			params = append(params, p)
		}
	}
	return params
}

func (n Names) defaultDoc() string {
	if n.Default != "" {
		return n.Default
	}
	return "that of S3 in the region"
}

func (n Names) keyDoc() string {
	if n.Auth == "" {
		return "Access key. Default: the keys of the environment or of ~/.aws, else none."
	}
	return "Access key."
}

func (n Names) roleDoc() string {
	if !n.IAM {
		return ""
	}
	return ", which is the keys of the environment, of ~/.aws or of the machine"
}

// orRegion is the end of a hint.
func (n Names) orRegion() string {
	if n.Region == "" {
		return ""
	}
	return " or params." + n.Region
}

// wantKey is the hint for a store that wants a key.
func (n Names) wantKey() string {
	hint := "set params." + n.Key + " and params." + n.Secret
	if n.IAM {
		hint += ", or params." + n.Auth + ": iam_role"
	}
	return hint
}

// use is what is done with the store.
func (n Names) use() string {
	if n.Written {
		return "read and write"
	}
	return "read"
}

// ways are the values of Auth.
func (n Names) ways() string {
	if n.IAM {
		return "public, key or iam_role"
	}
	return "public or key"
}

// Compile returns the store that params declare.
func (n Names) Compile(params spicepod.Params) (*S3, error) {
	values := map[string]string{}
	for _, key := range []string{n.Endpoint, n.Region, n.Auth, n.Key, n.Secret, n.Token} {
		var err error
		if values[key], err = params.String(key); err != nil {
			return nil, err
		}
	}
	timeout, err := params.Duration("client_timeout", defaultTimeout)
	if err != nil {
		return nil, err
	}
	s := &S3{names: n, region: values[n.Region]}
	if s.region == "" {
		s.region = "us-east-1"
	}
	if s.endpoint, err = n.endpoint(params, values[n.Endpoint], s.region); err != nil {
		return nil, err
	}
	if s.keys, err = n.keys(values); err != nil {
		return nil, err
	}
	s.id = fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%s %s %s %q %q %q %s",
		s.endpoint, s.region, values[n.Auth], values[n.Key], values[n.Secret], values[n.Token], timeout)))
	return s, s.open(timeout)
}

func (n Names) endpoint(params spicepod.Params, text, region string) (*url.URL, error) {
	switch {
	case text == "" && n.Default != "":
		text = n.Default
	case text == "":
		text = "https://s3." + region + ".amazonaws.com"
	case n.BareHost && !strings.Contains(text, "://"):
		text = "https://" + text
	}
	u, err := parseEndpoint(params, n.Endpoint, n.AllowHTTP, text)
	if err != nil {
		return nil, err
	}
	if strings.Trim(u.Path, "/") != "" {
		return nil, fault.New("params."+n.Endpoint, "leave the path out; from names the bucket", "the endpoint has a path")
	}
	return u, nil
}

// parseEndpoint parses the URL of a store.
func parseEndpoint(params spicepod.Params, name, allowHTTP, text string) (*url.URL, error) {
	at := "params." + name
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" {
		return nil, fault.New(at, "write https://host, or https://host:port", "the endpoint is not a URL of a store")
	}
	permitted, err := params.Value(allowHTTP, spicepod.ParamBool)
	if params.Has(allowHTTP) && err != nil {
		return nil, err
	}
	if u.Scheme == "http" && !loopback(u.Hostname()) && (!params.Has(allowHTTP) || permitted != true) {
		return nil, fault.New(at, "write https://, or set params."+allowHTTP+": true",
			"http://%s sends keys and data in the clear", u.Host)
	}
	return u, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// keys returns the keys; nil for public buckets.
func (n Names) keys(values map[string]string) (*credentials.Credentials, error) {
	auth, key, secret := values[n.Auth], values[n.Key], values[n.Secret]
	if n.Auth == "" && (key != "" || secret != "") || auth == "" && key != "" {
		auth = "key"
	}
	switch {
	case auth == "key" && (key == "" || secret == ""):
		return nil, fault.New("params", "set params."+n.Key+" and params."+n.Secret,
			"a key has two parts, and one is missing")
	case auth == "key":
		return credentials.NewStaticV4(key, secret, values[n.Token]), nil
	case auth == "iam_role" && n.IAM:
		return credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{},
			&credentials.FileAWSCredentials{}, &credentials.IAM{},
		}), nil
	case n.Auth == "":
		return credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{},
			&credentials.FileAWSCredentials{},
		}), nil
	case auth != "" && auth != "public":
		return nil, fault.New("params."+n.Auth, "write "+n.ways(), "%q is not a way to authenticate", auth)
	case key != "" || secret != "":
		return nil, fault.New("params."+n.Auth, "write "+n.Auth+": key, and both "+n.Key+" and "+n.Secret+
			", or leave them out", "a public bucket is read without a key")
	}
	return nil, nil
}

// ValidBucket checks the characters and the length of a bucket's name:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html.
func ValidBucket(name string) bool {
	return len(name) >= 3 && len(name) <= 63 &&
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-._ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" &&
		!strings.Contains(name, "..") && name[0] != '.' && name[0] != '-'
}
