package datasets

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"

	"github.com/spiced-sql/spiced/internal/data/refresh"
	"github.com/spiced-sql/spiced/internal/test/azuretest"
	"github.com/spiced-sql/spiced/internal/test/exttest"
)

// azureParams are the params of a dataset of the server, with others in place of some.
func azureParams(s *azuretest.Server, others ...string) string {
	return paramsOf(map[string]string{"abfs_endpoint": s.URL, "abfs_access_key": "${secrets:azure_key}"}, others)
}

func newAzure(t *testing.T) (*world, *azuretest.Server) {
	t.Helper()
	w := newWorld(t, exttest.Find(t, "httpfs"))
	s := azuretest.Start(t)
	t.Setenv("AZURE_KEY", azuretest.Key)
	t.Setenv("WRONG", "aHVudGVyMg==")
	t.Setenv("HALF", "hunter2!")
	s.Container("lake")
	s.Container("empty")
	s.Public("open")
	s.Put("open", "a.csv", "id\n9\n")
	s.PutFolder("lake", "trips/more")
	w.putFiles(s.Put)
	return w, s
}

func TestAzure(t *testing.T) {
	w, s := newAzure(t)
	const lake = "abfs://lake@lakehouse.dfs.core.windows.net/"
	w.ok(`datasets:
- {name: trips, from: '` + lake + `trips/', ` + azureParams(s) + `}
- {name: folder, from: 'abfss://lake/trips', ` + azureParams(s, "file_format", "csv", "abfs_account", azuretest.Account) + `}
- {name: globbed, from: 'abfs://lake@lakehouse/trips/**/*.csv', ` + azureParams(s) + `}
- {name: everything, from: 'abfs://lake@lakehouse/trips/**', ` + azureParams(s, "file_format", "csv") + `}
- {name: one, from: '` + lake + `trips/a b+c=ü%20.csv', ` + azureParams(s) + `}
- {name: hive, from: '` + lake + `hive/', ` + azureParams(s, "hive_partitioning_enabled", "true", "filename", "true") + `}
- {name: named, from: '` + lake + `hive/*/x.csv', ` + azureParams(s, "filename", "o'f") + `}
- {name: unnamed, from: '` + lake + `hive/*/x.csv', ` + azureParams(s, "filename", "false") + `}
- {name: r, from: '` + lake + `r.parquet', ` + azureParams(s) + `}
- {name: fast, from: '` + lake + `r.parquet', ` + azureParams(s) + `, acceleration: {primary_key: id, refresh_sql: "SELECT * FROM fast WHERE id < 1000"}}
- {name: open, from: 'abfs://open@lakehouse/', ` + azureParams(s, "abfs_access_key", "", "abfs_skip_signature", "true") + `}
`)
	for _, name := range []string{"trips", "folder", "everything"} {
		w.want("SELECT id, km FROM "+name+" ORDER BY id", "1|2.5, 2|3.0, 3|4.0")
	}
	w.want("SELECT count(*) FROM globbed", "3")
	w.want("FROM one ORDER BY id", "1|2.5, 2|3.0")
	w.want("FROM open", "9")
	w.want("SELECT count(*), sum(id) = sum(year) FROM hive WHERE year >= 2022", "9|true")
	w.want("SELECT filename FROM hive WHERE year = 2030", "abfs://lake@lakehouse/hive/year=2030/x.csv")
	w.want(`SELECT id FROM hive WHERE filename = 'abfs://lake@lakehouse/hive/year=2029/x.csv'`, "2029")
	w.want(`SELECT "o'f" FROM named WHERE id = 2030`, "abfs://lake@lakehouse/hive/year=2030/x.csv")
	w.want("SELECT * EXCLUDE (year) FROM unnamed WHERE id = 2030", "2030")
	w.want("SELECT count(*), max(text) FROM r WHERE id BETWEEN 150000 AND 150010", "11|"+strings.Repeat("x", 100)+"150010")
	w.want("SELECT count(*) FROM fast", "1000")

	s.Put("lake", "trips/d.csv", "id,km\n4,5\n")
	w.want("SELECT max(id) FROM trips", "4")
	s.Put("lake", "r.parquet", w.parquet("SELECT i AS id, 'y' AS text FROM range(7) t(i)"))
	w.want("SELECT count(*), max(text) FROM r", "7|y")
	s.Put("lake", "r.parquet", "not Parquet any more")
	w.want("SELECT count(*) FROM fast", "1000")
	if _, err := w.read("FROM r"); err == nil || !strings.Contains(err.Error(), "abfs://lake@lakehouse/r.parquet") {
		t.Errorf("got %v", err)
	}
	if err := w.refresh("fast", refresh.Override{}); err == nil || strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("got %v", err)
	}
	s.Put("lake", "trips/d.csv", "id,km\nx,5,7,8\n")
	if _, err := w.read("FROM trips"); err == nil || strings.Contains(err.Error(), "s3://") ||
		!strings.Contains(err.Error(), "abfs://lake@lakehouse/trips/d.csv") {
		t.Errorf("got %v", err)
	}
	s.Remove("lake", "trips/d.csv")
	w.want("SELECT max(id) FROM trips", "3")
	s.Remove("lake", "r.parquet")
	if _, err := w.read("FROM r"); err == nil || !strings.Contains(err.Error(), "the object store answered HTTP 404 for abfs://lake@lakehouse/r.parquet") {
		t.Errorf("without the object: got %v", err)
	}

	s.Stop()
	if _, err := w.read("FROM one"); err == nil || !strings.Contains(err.Error(), "the object store answered HTTP 503 for abfs://lake@lakehouse/trips/") {
		t.Errorf("without the server: got %v", err)
	}
	if err := w.refresh("fast", refresh.Override{}); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("a refresh without the server: got %v", err)
	}
	w.want("SELECT count(*) FROM fast", "1000")
	if strings.Contains(w.log.String(), azuretest.Key) {
		t.Errorf("the log has the key: %s", w.log)
	}
}

// TestAzureFaults declares datasets that cannot be read, next to one that can.
func TestAzureFaults(t *testing.T) {
	w, s := newAzure(t)
	read := sas.ContainerPermissions{Read: true, List: true}
	t.Setenv("SAS", s.SAS("lake", read, time.Now().Add(time.Hour)))
	t.Setenv("NO_LIST", s.SAS("lake", sas.ContainerPermissions{Read: true}, time.Now().Add(time.Hour)))
	t.Setenv("EXPIRED", s.SAS("lake", read, time.Now().Add(-time.Hour)))
	const good = "abfs://lake@lakehouse/r.parquet"
	for _, c := range []struct{ name, from, params, message, hint string }{
		{
			"wrong key", good, azureParams(s, "abfs_access_key", "${secrets:wrong}"), "the storage account lakehouse refuses the access key",
			"correct params.abfs_access_key",
		},
		{"no key", good, azureParams(s, "abfs_access_key", ""), "the way to authenticate is missing", "params.abfs_access_key, abfs_sas_string"},
		{"half a key", good, azureParams(s, "abfs_access_key", "${secrets:half}"), "the access key is not base64", "copy the whole key"},
		{
			"no signature", good, azureParams(s, "abfs_access_key", "", "abfs_skip_signature", "true"), "does not permit to read this without a key",
			"instead of params.abfs_skip_signature",
		},
		{"two ways", good, azureParams(s, "abfs_bearer_token", "${secrets:wrong}"), "params.abfs_access_key is another way to authenticate", "leave one of them out"},
		{"another account", good, azureParams(s, "abfs_endpoint", strings.TrimSuffix(s.URL, azuretest.Account), "abfs_use_emulator", "true", "abfs_account",
			"others"), `from names the account "lakehouse"`, "the same account"},
		{"container", "abfs://laek@lakehouse/r.parquet", azureParams(s), "the storage account lakehouse has no such container", "correct the container"},
		{"container's name", "abfs://Lake@lakehouse/r.parquet", azureParams(s), `"Lake" is not the name of a container`, "abfs://container@account"},
		{"account", "abfs://lake/r.parquet", azureParams(s), "the name of the storage account is missing", "params.abfs_account"},
		{"account's name", "abfs://lake@lake_house/r.parquet", azureParams(s), `"lake_house" is not the name of a storage account`, "abfs://container@account"},
		{"object", "abfs://lake@lakehouse/q.parquet", azureParams(s), "there is no object at abfs://lake@lakehouse/q.parquet", ""},
		{
			"prefix", "abfs://lake@lakehouse/trip", azureParams(s), "there is no object at abfs://lake@lakehouse/trip",
			"an object there is abfs://lake@lakehouse/trips/",
		},
		{"glob", "abfs://lake@lakehouse/trips/*.parquet", azureParams(s), "no object matches abfs://lake@lakehouse/trips/*.parquet", "an object there is abfs://"},
		{"empty container", "abfs://empty@lakehouse/", azureParams(s), "there is no object at abfs://empty@lakehouse/", ""},
		{"dots", "abfs://lake@lakehouse/x/../r.parquet", azureParams(s), "must not be . or ..", "write the folder itself"},
		{"empty part", "abfs://lake@lakehouse//r.parquet", azureParams(s), "an empty part", ""},
		{"port", good, azureParams(s, "abfs_endpoint", "http://127.0.0.1:1"), "connection refused", "params.abfs_endpoint"},
		{"host", good, azureParams(s, "abfs_endpoint", "https://nowhere.invalid"), "there is no host of that name", "the name of the account"},
		{"http", good, azureParams(s, "abfs_endpoint", "http://blob.example.com"), "sends keys and data in the clear", "abfs_allow_http"},
		{"endpoint", good, azureParams(s, "abfs_endpoint", "blob:9000"), "is not a URL of a store", "https://host"},
		{"path", good, azureParams(s, "abfs_endpoint", s.URL+"/lake"), "the endpoint has a path", "from names the container"},
		{"SAS without a signature", good, azureParams(s, "abfs_access_key", "", "abfs_sas_string", "${secrets:wrong}"), "the SAS has no signature", "sig="},
		{
			"SAS without lists", good, azureParams(s, "abfs_access_key", "", "abfs_sas_string", "${secrets:no_list}"), "does not permit the SAS to read this",
			"permissions r and l",
		},
		{"expired SAS", good, azureParams(s, "abfs_access_key", "", "abfs_sas_string", "?${secrets:expired}"), "refuses the SAS", "correct params.abfs_sas_string"},
		{
			"client secret", good, azureParams(s, "abfs_access_key", "", "abfs_client_secret", "${secrets:wrong}", "abfs_tenant_id", "t"),
			"params.abfs_client_secret needs params.abfs_client_id", "set params.abfs_client_id",
		},
		{"client", good, azureParams(s, "abfs_client_id", "x"), "it is used with params.abfs_client_secret only", "set params.abfs_client_secret"},
		{"param", good, azureParams(s, "abfs_acount", "x"), "params.abfs_acount is not an option", `"abfs_account"`},
		{"emulator", good, azureParams(s, "abfs_use_emulator", "perhaps"), "params.abfs_use_emulator", ""},
		{"writes", good, azureParams(s) + ", access: read_write", "connector abfs does not support writes", "leave access out"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			problems := w.reload("datasets:\n- {name: good, from: 'abfs://lake@lakehouse/trips/', " + azureParams(s) + "}\n- {name: bad, from: '" + c.from + "', " +
				c.params + "}\n")
			if len(problems) != 1 || !strings.Contains(problems[0].Message, c.message) || !strings.Contains(problems[0].Hint, c.hint) {
				t.Errorf("got %v\nwant %s; %s", problems, c.message, c.hint)
			}
			if text := problems.Error() + w.status("bad").Error; strings.Contains(text, "hunter2") || strings.Contains(text, "aHVudGVyMg") ||
				strings.Contains(text, azuretest.Key) || strings.Contains(text, "se=2") {
				t.Errorf("a secret is shown: %s", text)
			}
			w.want("SELECT count(*) FROM good", "3")
		})
	}
	w.t = t
	// A reload changes the credentials of a folder, next to another dataset of it.
	w.ok("datasets:\n- {name: good, from: 'abfs://lake@lakehouse/trips/', " + azureParams(s, "abfs_access_key", "", "abfs_sas_string", "?${secrets:sas}") + "}\n" +
		"- {name: other, from: 'abfs://lake@lakehouse/trips/', " + azureParams(s, "client_timeout", "7s") + "}\n")
	w.want("SELECT count(*) FROM good JOIN other USING (id)", "3")
	if strings.Contains(w.log.String(), azuretest.Key) || strings.Contains(w.log.String(), "se=2") {
		t.Errorf("the log has a secret: %s", w.log)
	}
}

// TestAzureTokens reads with tokens of an authority, which Azurite does not take without
// TLS: a server in front of it checks them, and signs with a SAS.
func TestAzureTokens(t *testing.T) {
	w, s := newAzure(t)
	sign := s.SAS("lake", sas.ContainerPermissions{Read: true, List: true}, time.Now().Add(time.Hour))
	target, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer token-of-ada" {
			rw.Header().Set("x-ms-error-code", "InvalidAuthenticationInfo")
			rw.WriteHeader(http.StatusUnauthorized)
			return
		}
		out, err := http.NewRequestWithContext(r.Context(), r.Method, target.Scheme+"://"+target.Host, nil)
		if err != nil {
			t.Error(err)
			return
		}
		out.URL.Opaque, out.URL.RawQuery = "//"+target.Host+target.Path+r.URL.EscapedPath(), sign
		if r.URL.RawQuery != "" {
			out.URL.RawQuery += "&" + r.URL.RawQuery
		}
		out.Header = r.Header.Clone()
		out.Header.Del("Authorization")
		copyAnswer(t, rw, out)
	}))
	t.Cleanup(front.Close)
	authority := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/broken/oauth2/v2.0/token":
			rw.WriteHeader(http.StatusBadGateway)
		case r.URL.Path != "/club.example.com/oauth2/v2.0/token" || r.FormValue("client_secret") != "hunter2" || r.FormValue("client_id") != "spiced" ||
			r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != "https://storage.azure.com/.default":
			rw.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(rw, `{"error": "invalid_client", "error_description": "hunter2 is wrong"}`)
		default:
			fmt.Fprint(rw, `{"token_type": "Bearer", "expires_in": 3600, "access_token": "token-of-ada"}`)
		}
	}))
	t.Cleanup(authority.Close)
	t.Setenv("CLIENT", "hunter2")
	t.Setenv("TOKEN", "token-of-ada")
	secret := func(others ...string) string {
		return azureParams(s, append([]string{
			"abfs_endpoint", front.URL, "abfs_access_key", "", "abfs_client_secret", "${secrets:client}", "abfs_client_id", "spiced",
			"abfs_tenant_id", "club.example.com", "abfs_authority_host", authority.URL,
		}, others...)...)
	}
	token := func(token string) string {
		return azureParams(s, "abfs_endpoint", front.URL, "abfs_access_key", "", "abfs_bearer_token", token)
	}
	w.ok(`datasets:
- {name: trips, from: 'abfs://lake@lakehouse/trips/', ` + secret() + `}
- {name: r, from: 'abfs://lake@lakehouse/r.parquet', ` + token("${secrets:token}") + `}
`)
	w.want("SELECT id, km FROM trips ORDER BY id", "1|2.5, 2|3.0, 3|4.0")
	w.want("SELECT count(*) FROM r", "300000")
	for _, c := range []struct{ name, params, message, hint string }{
		{"token", token("${secrets:wrong}"), "does not accept the bearer token", "correct params.abfs_bearer_token"},
		{"client", secret("abfs_client_id", "other"), "issues no token: invalid_client", "correct params.abfs_client_id"},
		{"tenant", secret("abfs_tenant_id", "../x"), `"../x" is not the ID of a tenant`, "the ID or the domain"},
		{"broken", secret("abfs_tenant_id", "broken"), "answers HTTP 502, without a token", ""},
		{"authority", secret("abfs_authority_host", "https://nowhere.invalid"), "there is no host of that name", "correct params.abfs_authority_host"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			problems := w.reload("datasets:\n- {name: bad, from: 'abfs://lake@lakehouse/trips/', " + c.params + "}\n")
			if len(problems) != 1 || !strings.Contains(problems[0].Message, c.message) || !strings.Contains(problems[0].Hint, c.hint) {
				t.Errorf("got %v\nwant %s; %s", problems, c.message, c.hint)
			}
			if strings.Contains(problems.Error(), "hunter2") {
				t.Errorf("a secret is shown: %s", problems)
			}
		})
	}
}

// copyAnswer sends a request on, and its response back.
func copyAnswer(t *testing.T, w http.ResponseWriter, r *http.Request) {
	in, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Error(err)
		return
	}
	defer in.Body.Close()
	for name, values := range in.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(in.StatusCode)
	io.Copy(w, in.Body) //nolint:errcheck // the client has gone
}
