package objectstore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/kit/httpx"
	"github.com/spiced-sql/spiced/spicepod"
)

// The account of the emulator, which is public:
// https://learn.microsoft.com/azure/storage/common/storage-use-azurite#well-known-storage-account-and-key.
const (
	emulatorAccount  = "devstoreaccount1"
	emulatorKey      = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
	emulatorEndpoint = "http://127.0.0.1:10000"
)

const skipSignature = "abfs_skip_signature"

// azureWay is a way to authenticate.
type azureWay struct {
	param string
	noun  string
	also  []string // params that belong to it
}

var azureWays = []azureWay{
	{"abfs_access_key", "access key", nil},
	{"abfs_sas_string", "SAS", nil},
	{"abfs_bearer_token", "bearer token", nil},
	{"abfs_client_secret", "client secret", []string{"abfs_client_id", "abfs_tenant_id"}},
	{skipSignature, "", nil},
}

// oneWay are the ways, for hints.
const oneWay = "params.abfs_access_key, abfs_sas_string, abfs_bearer_token and abfs_client_secret"

// params are the params of the way, for hints.
func (w azureWay) params() string {
	text := "params." + w.param
	for _, name := range w.also {
		text += ", params." + name
	}
	return text
}

// AzureParams are the params of storage accounts of Azure.
func AzureParams() []spicepod.Param {
	return []spicepod.Param{
		{Name: "abfs_account", Doc: "Name of the storage account. Default: the one in from."},
		{Name: "abfs_access_key", Secret: true, Doc: "Access key of the account."},
		{Name: "abfs_sas_string", Secret: true, Doc: "Shared access signature (SAS), with the permissions to read and list."},
		{Name: "abfs_bearer_token", Secret: true, Doc: "Access token of Microsoft Entra ID."},
		{Name: "abfs_client_id", Doc: "ID of an application in Microsoft Entra ID, for which spiced fetches tokens."},
		{Name: "abfs_client_secret", Secret: true, Doc: "Secret of the application."},
		{Name: "abfs_tenant_id", Doc: "Tenant ID of the service principal."},
		{
			Name: "abfs_authority_host",
			Doc:  "URL of the authority that issues tokens. Default: https://login.microsoftonline.com.",
		},
		{Name: skipSignature, Type: spicepod.ParamBool, Doc: "Read a public container, without a key."},
		{Name: "abfs_endpoint", Doc: "URL of the Blob service. Default: https://<account>.blob.core.windows.net."},
		{
			Name: "abfs_use_emulator", Type: spicepod.ParamBool,
			Doc: "Read from Azurite: its account and key, and http://127.0.0.1:10000 unless abfs_endpoint names another URL.",
		},
		{
			Name: "abfs_allow_http", Type: spicepod.ParamBool,
			Doc: "Permit http:// in abfs_endpoint and abfs_authority_host, which is permitted on this machine anyway.",
		},
		{Name: "client_timeout", Type: spicepod.ParamDuration, Doc: "How long the store may take to answer. Default: 30s."},
	}
}

var (
	azureAccount   = regexp.MustCompile(`^[a-z0-9]{3,24}$`)
	azureContainer = regexp.MustCompile(`^(?:\$root|\$web|[a-z0-9](?:-?[a-z0-9]){2,62})$`)
	azureHost      = regexp.MustCompile(`^([a-z0-9]+)\.(?:dfs|blob)\.([a-z0-9.-]+)$`)
)

const azureForms = "write abfs://container@account.dfs.core.windows.net/folder/, or abfs://container/folder/ with " +
	"params.abfs_account"

// Account is the name of the account.
func (s *Azure) Account() string { return s.account }

// CompileAzure returns the store, bucket and key of abfs://container@account.host/key or
// abfs://container/key. Stores of other params have other buckets.
func CompileAzure(target string, params spicepod.Params) (s *Azure, bucket, key string, err error) {
	_, rest, _ := strings.Cut(target, "://")
	authority, key, _ := strings.Cut(rest, "/")
	name, host, _ := strings.Cut(authority, "@")
	if !azureContainer.MatchString(name) || len(name) > 63 {
		return nil, "", "", fault.New("from", azureForms, "%q is not the name of a container", name)
	}
	values := map[string]string{}
	for _, p := range AzureParams() {
		if p.Type == spicepod.ParamBool {
			on, err := params.Value(p.Name, spicepod.ParamBool)
			if params.Has(p.Name) && err != nil {
				return nil, "", "", err
			}
			if params.Has(p.Name) && on == true {
				values[p.Name] = "true"
			}
		} else if p.Type != spicepod.ParamDuration {
			if values[p.Name], err = params.String(p.Name); err != nil {
				return nil, "", "", err
			}
		}
	}
	timeout, err := params.Duration("client_timeout", defaultTimeout)
	if err != nil {
		return nil, "", "", err
	}
	s = &Azure{}
	if s.account, err = accountOf(host, values); err != nil {
		return nil, "", "", err
	}
	if s.way, err = wayOf(values); err != nil {
		return nil, "", "", err
	}
	if s.endpoint, err = azureEndpoint(host, s.account, values, params); err != nil {
		return nil, "", "", err
	}
	s.id = fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "azure %q %q %q %s", s.endpoint, s.account, values, timeout)))
	return s, name + "@" + s.account + "~" + s.id[:16], key, s.open(values, params, timeout)
}

// accountOf returns the name of the account that is in from or in the params.
func accountOf(host string, values map[string]string) (string, error) {
	account, param := host, values["abfs_account"]
	if m := azureHost.FindStringSubmatch(host); m != nil {
		account = m[1]
	}
	switch {
	case account != "" && param != "" && account != param:
		return "", fault.New("params.abfs_account", "leave it out, or write the same account",
			"from names the account %q", account)
	case account == "" && param == "" && values["abfs_use_emulator"] != "":
		return emulatorAccount, nil
	case account == "" && param == "":
		return "", fault.New("from", azureForms, "the name of the storage account is missing")
	}
	account = cmp.Or(account, param)
	if !azureAccount.MatchString(account) {
		return "", fault.New("from", azureForms, "%q is not the name of a storage account", account)
	}
	return account, nil
}

// wayOf returns the way to authenticate. Params of several are a mistake.
func wayOf(values map[string]string) (way azureWay, err error) {
	for _, w := range azureWays {
		if values[w.param] == "" {
			for _, name := range w.also {
				if values[name] != "" {
					return way, fault.New("params."+name, "set params."+w.param+", or leave it out",
						"it is used with params.%s only", w.param)
				}
			}
			continue
		}
		if way.param != "" {
			return way, fault.New("params."+w.param, "leave one of them out",
				"params.%s is another way to authenticate", way.param)
		}
		way = w
		for _, name := range w.also {
			if values[name] == "" {
				return way, fault.New("params", "set params."+name, "params.%s needs params.%s", w.param, name)
			}
		}
	}
	if way.param == "" && values["abfs_use_emulator"] != "" {
		values["abfs_access_key"] = emulatorKey
		return azureWays[0], nil
	}
	if way.param == "" {
		return way, fault.New("params", "set one of "+oneWay+", or params."+skipSignature+": true for a public container",
			"the way to authenticate is missing")
	}
	return way, nil
}

// azureEndpoint returns the URL of the Blob service.
func azureEndpoint(host, account string, values map[string]string, params spicepod.Params) (*url.URL, error) {
	text := values["abfs_endpoint"]
	emulator := values["abfs_use_emulator"] != ""
	switch m := azureHost.FindStringSubmatch(host); {
	case text == "" && emulator:
		text = emulatorEndpoint
	case text == "" && m != nil:
		text = "https://" + account + ".blob." + m[2]
	case text == "":
		text = "https://" + account + ".blob.core.windows.net"
	}
	u, err := parseEndpoint(params, "abfs_endpoint", "abfs_allow_http", text)
	if err != nil {
		return nil, err
	}
	path := strings.Trim(u.Path, "/")
	if path == "" && emulator {
		path = account
	}
	if path != "" && path != account {
		return nil, fault.New("params.abfs_endpoint", "leave the path out; from names the container",
			"the endpoint has a path")
	}
	u.Path, u.RawPath = "/"+path, ""
	return u, nil
}

// open makes the client.
func (s *Azure) open(values map[string]string, params spicepod.Params, timeout time.Duration) (err error) {
	s.transport = newTransport(timeout)
	options := &service.ClientOptions{ClientOptions: azureOptions(s.transport)}
	at, secret := s.endpoint.String(), values[s.way.param]
	switch s.way.param {
	case "abfs_access_key":
		var key *service.SharedKeyCredential
		if key, err = service.NewSharedKeyCredential(s.account, secret); err != nil {
			return fault.New("params.abfs_access_key", "copy the whole key of the account", "the access key is not base64")
		}
		s.client, err = service.NewClientWithSharedKeyCredential(at, key, options)
	case "abfs_sas_string":
		sas, failed := url.ParseQuery(strings.TrimPrefix(secret, "?"))
		if failed != nil || !sas.Has("sig") {
			return fault.New("params.abfs_sas_string", "copy the whole SAS: sv=…&sig=…", "the SAS has no signature")
		}
		s.client, err = service.NewClientWithNoCredential(at+"?"+sas.Encode(), options)
	case "abfs_bearer_token":
		s.client, err = service.NewClient(at, fixedToken(secret), options)
	case "abfs_client_secret":
		var issuer *tokenIssuer
		if issuer, err = newTokenIssuer(values, params, options.Transport); err == nil {
			s.client, err = service.NewClient(at, issuer, options)
		}
	default:
		s.client, err = service.NewClientWithNoCredential(at, options)
	}
	return err
}

// fixedToken is a token that a dataset has.
type fixedToken string

// GetToken implements [azcore.TokenCredential]. When the token expires is not known.
func (t fixedToken) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: string(t), ExpiresOn: time.Now().Add(time.Hour)}, nil
}

// tokenIssuer fetches tokens for an application:
// https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow.
type tokenIssuer struct {
	url    *url.URL
	form   url.Values
	client policy.Transporter
}

var azureTenant = regexp.MustCompile(`^[A-Za-z0-9.-]+$`)

func newTokenIssuer(values map[string]string, params spicepod.Params, client policy.Transporter) (*tokenIssuer, error) {
	if !azureTenant.MatchString(values["abfs_tenant_id"]) {
		return nil, fault.New("params.abfs_tenant_id", "write the ID or the domain of the tenant",
			"%q is not the ID of a tenant", values["abfs_tenant_id"])
	}
	u, err := parseEndpoint(params, "abfs_authority_host", "abfs_allow_http",
		cmp.Or(values["abfs_authority_host"], "https://login.microsoftonline.com"))
	if err != nil {
		return nil, err
	}
	return &tokenIssuer{u.JoinPath(values["abfs_tenant_id"], "oauth2/v2.0/token"), url.Values{
		"grant_type": {"client_credentials"}, "client_id": {values["abfs_client_id"]},
		"client_secret": {values["abfs_client_secret"]},
		"scope":         {"https://storage.azure.com/.default"},
	}, client}, nil
}

// GetToken implements [azcore.TokenCredential].
func (i *tokenIssuer) GetToken(ctx context.Context,
	_ policy.TokenRequestOptions,
) (token azcore.AccessToken, err error) {
	got, err := httpx.FetchToken(ctx, i.client.Do, i.url.String(), i.form, nil)
	var refused *httpx.TokenError
	switch {
	case err == nil:
		// without a lifetime, it is used once
		return azcore.AccessToken{Token: got.Access, ExpiresOn: time.Now().Add(got.Lifetime)}, nil
	case errors.Is(ctx.Err(), context.Canceled):
		return token, ctx.Err()
	case !errors.As(err, &refused):
		return token, remote{i.url.Host, "abfs_authority_host", "", "abfs_allow_http"}.fault(err)
	case refused.Code != "":
		return token, fault.New("params",
			"correct params.abfs_client_id, params.abfs_client_secret and params.abfs_tenant_id",
			"the authority %s issues no token: %s", i.url.Host, refused.Code).Retryable()
	}
	return token, fault.New("params.abfs_authority_host", "", "the authority %s answers %s", i.url.Host,
		refused).Retryable()
}
