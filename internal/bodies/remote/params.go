package remote

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/bodies/body"
	"github.com/spiced-sql/spiced/spicepod"
)

// Limits of params, which are Spice's where Spice has them.
const (
	maxTimeout     = time.Hour
	maxBatchSize   = 100_000
	maxConcurrency = 64
	maxResponse    = spicepod.Size(1 << 30)
	maxMaxRows     = 1_000_000
	maxRetries     = 10
	maxRanges      = 100
)

// Params are those of functions whose body is a service.
var Params = []spicepod.Param{
	{Name: "timeout", Type: spicepod.ParamDuration, Doc: "Time limit of a request: 5s, 500ms, or seconds. Default: 30s."},
	{
		Name: "batch_size", Type: spicepod.ParamInt,
		Doc: "Rows of a request of a scalar function, at most; a batch has up to 2048. Default: 1024.",
	},
	{Name: "batch_concurrency", Type: spicepod.ParamInt, Doc: "Requests of the function that run at once. Default: 4."},
	{
		Name: "auth_bearer", Secret: true,
		Doc: "Token that is sent as Authorization: Bearer. Write a reference: ${secrets:KEY}.",
	},
	{Name: "max_response_bytes", Type: spicepod.ParamSize, Doc: "Size of a response, decompressed. Default: 10MiB."},
	{Name: "max_rows", Type: spicepod.ParamInt, Doc: "Rows that a table function returns, at most. Default: 100000."},
	{
		Name: "max_retries", Type: spicepod.ParamInt,
		Doc: "How often a request is sent again that the service did not run: answers 429 and 503, and connections that " +
			"fail. Default: 2.",
	},
	{
		Name: "allowed_endpoint_ranges", Type: spicepod.ParamTexts,
		Doc: "Networks of addresses that the function may connect to although they are not public, such as 10.1.0.0/16.",
	},
	{
		Name: "allow_private", Type: spicepod.ParamBool,
		Doc: "Allow the private networks 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 and fc00::/7. Default: false.",
	},
}

// settings are the params of a function.
type settings struct {
	timeout     time.Duration
	batchSize   int
	concurrency int
	bearer      string
	maxResponse int64
	maxRows     int
	retries     int
	ranges      []netip.Prefix
	private     bool
}

func readSettings(e *spicepod.Entry, table bool) settings {
	e.CheckReferences()
	e.Known("a function from a URL", loose(Params))
	set := settings{
		timeout:     e.Duration("timeout", body.DefaultTimeout, maxTimeout),
		batchSize:   number(e, "batch_size", 1024, 1, maxBatchSize),
		concurrency: number(e, "batch_concurrency", 4, 1, maxConcurrency),
		maxRows:     number(e, "max_rows", 100_000, 1, maxMaxRows),
		retries:     number(e, "max_retries", 2, 0, maxRetries),
		maxResponse: int64(e.Size("max_response_bytes", maxResponse)),
	}
	if set.maxResponse == 0 {
		set.maxResponse = 10 << 20
	}
	if e.Params.Has("max_rows") && !table {
		e.FailParam("max_rows", "leave it out",
			"params.max_rows is for table functions; a scalar one returns a value for each row")
	}
	if e.Params.Has("auth_bearer") {
		if _, text := e.Params["auth_bearer"].(spicepod.Text); text {
			if set.bearer = e.Header("auth_bearer"); set.bearer == "" {
				e.FailParam("auth_bearer", "write a token, or leave it out", "params.auth_bearer is empty")
			}
		} else {
			e.FailParam("auth_bearer", "write a reference to a secret, such as ${secrets:GEO_TOKEN}",
				"param 'auth_bearer' must be a plain string value")
		}
	}
	if v, err := e.Params.Value("allow_private", spicepod.ParamBool); e.Params.Has("allow_private") && err == nil {
		set.private = v.(bool)
	}
	set.ranges = readRanges(e)
	return set
}

// loose are the params with text for the types whose readers have errors of Spice.
func loose(params []spicepod.Param) []spicepod.Param {
	list := slices.Clone(params)
	for i := range list {
		if list[i].Type == spicepod.ParamInt {
			list[i].Type = spicepod.ParamText
		}
	}
	return list
}

// number reads a whole number.
func number(e *spicepod.Entry, key string, fallback, least, most int) int {
	n, err := e.Params.Int(key, fallback)
	if e.Params.Has(key) && (err != nil || n < least || n > most) {
		kind := "a positive integer"
		if least == 0 {
			kind = "an integer from 0 and"
		}
		e.FailParam(key, "", "param '%s' is expected to be %s ≤ %d, got %s", key, kind, most, fmt.Sprint(e.Params[key]))
	}
	return n
}

// readRanges reads networks, or addresses.
func readRanges(e *spicepod.Entry) (ranges []netip.Prefix) {
	const key = "allowed_endpoint_ranges"
	if !e.Params.Has(key) {
		return nil
	}
	list, err := e.Params.Value(key, spicepod.ParamTexts)
	if err != nil {
		return nil // reported by Known
	}
	texts := list.([]string)
	if len(texts) > maxRanges {
		e.FailParam(key, "", "params.%s has %d networks; the limit is %d", key, len(texts), maxRanges)
		return nil
	}
	for i, text := range texts {
		text = strings.TrimSpace(text)
		prefix, err := netip.ParsePrefix(text)
		if addr, isAddr := netip.ParseAddr(text); isAddr == nil {
			prefix, err = netip.PrefixFrom(addr.Unmap().WithZone(""), addr.Unmap().BitLen()), nil
		}
		if err != nil {
			e.FailParam(key, "write a network as 10.1.0.0/16 or fd00:1::/32, or an address",
				"params.%s[%d]: %q is not a network", key, i, text)
			continue
		}
		ranges = append(ranges, prefix.Masked())
	}
	return ranges
}

// readTarget reads the URL. Its parts do not appear in errors of calls.
func readTarget(e *spicepod.Entry, from string) *url.URL {
	const hint = "write https://host/path"
	u, err := url.Parse(strings.TrimSpace(from))
	switch {
	case err != nil:
		e.Fail(".from", hint, "failed to parse endpoint URL '%s': %s", from, err.(*url.Error).Err)
	case u.Hostname() == "":
		e.Fail(".from", hint, "failed to parse endpoint URL '%s': it names no host", from)
	case u.User != nil:
		e.Fail(".from", "write the token to params.auth_bearer", "the URL contains a user or a password")
	case u.Fragment != "":
		e.Fail(".from", hint, "the URL has a fragment, which is not sent")
	}
	return u
}
