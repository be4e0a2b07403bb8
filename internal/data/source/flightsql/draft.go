package flightsql

import (
	"net/url"
	"strings"

	"github.com/spiced-sql/spiced/internal/data/fault"
	"github.com/spiced-sql/spiced/internal/data/source"
)

// draft makes a declaration of a table and flightsql:https://user:password@host:port.
func draft(text, table string) (d source.Draft, err error) {
	const prefix, form = "flightsql:", "flightsql:https://host:port, or flightsql:http://host:port without TLS"
	endpoint := text[len(prefix):]
	switch {
	case strings.HasPrefix(endpoint, "//"):
		return d, fault.New("", "write "+form, "the URL does not say whether the server has TLS")
	case !strings.Contains(endpoint, "://"):
		return source.TableDraft(prefix, text, table)
	case table == "":
		return d, fault.New("", "write it after the URL: flightsql:https://host:port orders", "the table is missing")
	}
	d = source.Draft{From: prefix + table, Name: source.NameOfTable(table)}
	return d, setServer(&d, endpoint, form, "flightsql_")
}

// spiceDraft makes a declaration of a dataset and spice.ai:https://host:port, or of
// spice.ai/dataset.
func spiceDraft(text, table string) (d source.Draft, err error) {
	const form = "spice.ai:https://host:port, or spice.ai:http://host:port without TLS"
	end := strings.IndexAny(text, ":/")
	endpoint := text[end+1:]
	switch {
	case !strings.Contains(endpoint, "://") && table == "":
		return source.Draft{From: text, Name: source.NameOf(endpoint)}, nil
	case !strings.Contains(endpoint, "://"):
		return d, fault.New("", "write "+form+", or spice.ai/"+table, "%q is not the URL of a runtime", endpoint)
	case table == "":
		return d, fault.New("", "write it after the URL: spice.ai:https://host:port orders", "the dataset is missing")
	}
	d = source.Draft{From: "spice.ai/" + table, Name: source.NameOfTable(table)}
	return d, setServer(&d, endpoint, form, "spiceai_")
}

// setServer adds the params of a server. A key of spice.ai is the password of the URL.
func setServer(d *source.Draft, endpoint, form, prefix string) error {
	u, err := source.ParseURL(endpoint, form)
	if err != nil {
		return err
	}
	user, password := source.Credentials(u)
	d.Set(prefix+"endpoint", (&url.URL{Scheme: u.Scheme, Host: u.Host}).String(), false)
	if prefix == "spiceai_" {
		d.Set(prefix+"api_key", password, true)
		return nil
	}
	d.Set(prefix+"username", user, false)
	d.Set(prefix+"password", password, true)
	return nil
}
