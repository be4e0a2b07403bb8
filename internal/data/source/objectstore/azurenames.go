package objectstore

import (
	"cmp"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/spicepod"
)

// AzureNames are the names of a connector for the params of [AzureParams], by those.
type AzureNames map[string]string

// AzurePrefix returns the names with a prefix, such as delta_lake_azure_storage, as Spice
// writes them for tables.
func AzurePrefix(prefix string) AzureNames {
	others := map[string]string{
		"abfs_account": "account_name", "abfs_access_key": "account_key",
		"abfs_sas_string": "sas_key",
	}
	n := AzureNames{}
	for _, p := range AzureParams() {
		if name, ok := strings.CutPrefix(p.Name, "abfs_"); ok {
			n[p.Name] = prefix + "_" + cmp.Or(others[p.Name], name)
		}
	}
	return n
}

// Params are the params by these names, without those that every store has.
func (n AzureNames) Params() (params []spicepod.Param) {
	for _, p := range AzureParams() {
		if n[p.Name] != "" {
			p.Name, p.Doc = n[p.Name], n.rename(p.Doc)
			params = append(params, p)
		}
	}
	return params
}

// rename replaces the names of [AzureParams] in a text. A nil AzureNames has these names.
func (n AzureNames) rename(text string) string {
	for _, p := range AzureParams() {
		if n[p.Name] != "" {
			text = strings.ReplaceAll(text, p.Name, n[p.Name])
		}
	}
	return text
}

func (n AzureNames) fault(err error) *fault.Fault {
	f := *fault.Of(err)
	f.Path, f.Message, f.Hint = n.rename(f.Path), n.rename(f.Message), n.rename(f.Hint)
	return &f
}

// Compile is [CompileAzure] with params of these names.
func (n AzureNames) Compile(target string, params spicepod.Params) (s *Azure, bucket, key string, err error) {
	own := spicepod.Params{"client_timeout": params["client_timeout"]}
	if !params.Has("client_timeout") {
		delete(own, "client_timeout")
	}
	for name, theirs := range n {
		if params.Has(theirs) {
			own[name] = params[theirs]
		}
	}
	if s, bucket, key, err = CompileAzure(target, own); err != nil {
		return nil, "", "", n.fault(err)
	}
	s.names = n
	return s, bucket, key, nil
}
